/// @file
/// Normal rows of full covariance with the conjugate prior, bound to a number of columns.
#pragma once

#include <bhclust/detail/cholesky.hpp>
#include <bhclust/detail/cluster_store.hpp>
#include <bhclust/detail/draws.hpp>
#include <bhclust/detail/eight_eliminations.hpp>
#include <bhclust/detail/lane_functions.hpp>
#include <bhclust/detail/lane_gamma.hpp>
#include <bhclust/detail/lane_store.hpp>
#include <bhclust/detail/moments.hpp>
#include <bhclust/detail/normal_inverse_wishart_kernel.hpp>
#include <bhclust/detail/normal_inverse_wishart_screen.hpp>
#include <bhclust/detail/screened_store.hpp>
#include <bhclust/detail/simd.hpp>
#include <bhclust/detail/small_buffer.hpp>
#include <bhclust/detail/special.hpp>
#include <bhclust/types.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

namespace bhclust::detail {

/// Statistics: n, the mean as pairs (d high parts, d low parts), the scatter about the mean as a
/// lower triangle. Scores are taken in units of the prior: Ψ = L Lᵀ, S ← L⁻¹ S L⁻ᵀ; then
/// determinants are those of I + S, whose digits do not depend on the scale of the data.
class normal_inverse_wishart_model {
  using self = normal_inverse_wishart_model;

 public:
  /// Of tables of groups (groups.hpp).
  using group_store = lane_store<self, normal_inverse_wishart_kernel<self>>;
  template <class Score>
  using store = store_of_screen<
      self, normal_inverse_wishart_screen<self>, Score,
      store_of_lanes<self, normal_inverse_wishart_kernel<self>, Score, cluster_store<self, Score>>>;

  normal_inverse_wishart_model(std::vector<double> mean, double kappa, double nu,
                               std::vector<double> psi_factor)
      : mean_(std::move(mean)),
        kappa_(kappa),
        nu_(nu),
        factor_(std::move(psi_factor)),
        log_det_psi_(log_determinant(factor_.data(), d())) {}

  [[nodiscard]] index_t d() const noexcept { return static_cast<index_t>(mean_.size()); }
  [[nodiscard]] index_t width() const noexcept { return 1 + 2 * d() + triangle(d()); }
  [[nodiscard]] const std::vector<double>& mean() const noexcept { return mean_; }
  [[nodiscard]] double kappa() const noexcept { return kappa_; }
  [[nodiscard]] double nu() const noexcept { return nu_; }

  void observe(const row_view& row, double* t) const noexcept {
    if (t[0] == 0.0) {
      observe_first(row, t);
      return;
    }
    const double n = t[0] + 1.0;
    double* s = scatter(t);
    for (index_t i = 0; i < d(); ++i) {
      const double step = (row.value(i) - t[1 + i]) - low(t)[i];
      for (index_t k = 0; k <= i; ++k) {
        *s++ += step * ((row.value(k) - t[1 + k]) - low(t)[k]) * (t[0] / n);
      }
    }
    for (index_t i = 0; i < d(); ++i) {
      add_to_pair(t[1 + i], low(t)[i], ((row.value(i) - t[1 + i]) - low(t)[i]) / n);
    }
    t[0] = n;
  }

  /// No entry of the scatter is above the mean of its two on the diagonal. O(d²).
  [[nodiscard]] bool possible(const double* t, index_t rows) const noexcept {
    constexpr double rounding = 1.0 + 1e-6;
    constexpr double smallest = 1e-300;
    if (t[0] != static_cast<double>(rows)) return false;
    const double* s = scatter(t);
    for (index_t i = 0; i < d(); ++i) {
      const double own = s[triangle(i) + i];
      if (!moments{t[0], t[1 + i], low(t)[i], own}.possible(rows)) return false;
      for (index_t k = 0; k < i; ++k) {
        const double most = 0.5 * own + 0.5 * s[triangle(k) + k];
        if (!(std::fabs(s[triangle(i) + k]) <= rounding * most + smallest)) return false;
      }
    }
    return true;
  }

  void merge(double* t, const double* s) const {
    if (s[0] == 0.0) return;
    if (t[0] == 0.0) {
      std::copy_n(s, width(), t);
      return;
    }
    const double n = t[0] + s[0];
    const index_t size = triangle(d());
    for (index_t e = 0; e < size; ++e) scatter(t)[e] += scatter(s)[e];
    add_between(t, s, t[0] * s[0] / n);
    shift_mean(t, s, s[0] / n);
    t[0] = n;
  }

  void remove(double* t, const double* s) const {
    if (s[0] == 0.0) return;
    const double left = t[0] - s[0];
    if (left < 0.5) {
      std::fill_n(t, width(), 0.0);
      return;
    }
    const index_t size = triangle(d());
    for (index_t e = 0; e < size; ++e) scatter(t)[e] -= scatter(s)[e];
    add_between(t, s, -(t[0] * s[0] / left));
    if (left < 1.5) std::fill_n(scatter(t), size, 0.0);
    for (index_t i = 0; i < d(); ++i) {
      double& diagonal = scatter(t)[triangle(i) + i];
      diagonal = std::max(0.0, diagonal);
    }
    shift_mean(t, s, -(s[0] / left));
    t[0] = left;
  }

  [[nodiscard]] double log_marginal(const double* t) const {
    if (t[0] == 0.0) return 0.0;
    const index_t size = triangle(d());
    std::vector<double> work(static_cast<std::size_t>(size + d()));
    double* a = work.data();
    double* y = a + size;
    for (index_t i = 0; i < d(); ++i) y[i] = from_prior(t, i);
    solve_lower(factor_.data(), y, d());
    std::copy_n(scatter(t), size, a);
    whiten(factor_.data(), a, d());
    return size_term(t[0]) - 0.5 * (nu_ + t[0]) * white_log_det_growth(t[0], a, y);
  }

  /// Up to eight clusters side by side. Under a prior worth so many rows that the digits of
  /// log(1 + growth) count, and where numbers leave the range, one by one.
  void log_marginals(const double* t, index_t count, double* out) const {
    constexpr double most_rows = 1e4;
    if (nu_ <= most_rows && single_rows(t, count)) {
      log_marginals_of_rows(t, count, out);
    } else if (nu_ <= most_rows) {
      log_marginals_eight(t, count, out);
    } else {
      std::fill_n(out, count, std::numeric_limits<double>::infinity());
    }
    for (index_t i = 0; i < count; ++i) {
      if (!std::isfinite(out[i])) out[i] = log_marginal(t + i * width());
    }
  }

  /// Terms of sizes that most clusters have.
  void prepare(index_t rows) {
    constexpr index_t largest = 1024;
    size_terms_ = size_terms(std::min(rows, largest));
  }

  /// Fields: mean (d), kappa, nu, psi (d × d, the entries taken as independent).
  [[nodiscard]] index_t gradient_size() const noexcept { return d() + 2 + d() * d(); }

  /// With P = Ψ_n⁻¹, y the mean's distance from the prior's and ν_n = ν + n: ∂/∂mean = ν_n w P y,
  /// ∂/∂kappa = d/2 (1/κ - 1/κ_n) - ν_n/2 (n/κ_n)² yᵀ P y, ∂/∂nu by digammas and the growth of the
  /// determinant, ∂/∂psi = ν/2 Ψ⁻¹ - ν_n/2 P. O(d³).
  void add_gradient(const double* t, double weight, double* g) const {
    if (t[0] == 0.0) return;
    const double n = t[0];
    const auto dim = static_cast<double>(d());
    std::vector<double> y(static_cast<std::size_t>(d()));
    for (index_t i = 0; i < d(); ++i) y[static_cast<std::size_t>(i)] = from_prior(t, i);
    std::vector<double> white(scatter(t), scatter(t) + triangle(d())), offset_white = y;
    whiten(factor_.data(), white.data(), d());
    solve_lower(factor_.data(), offset_white.data(), d());
    const std::vector<double> inverse = posterior_inverse(n, white, offset_white);
    std::vector<double> pull(static_cast<std::size_t>(d()));  // P y
    for (index_t i = 0; i < d(); ++i) {
      pull[static_cast<std::size_t>(i)] = dot(inverse.data() + i * d(), y.data(), d());
    }
    const double distance = dot(pull.data(), y.data(), d());
    const double nu_n = nu_ + n;
    const double share = n / (kappa_ + n);
    for (index_t i = 0; i < d(); ++i) {
      g[i] += weight * nu_n * mean_weight(n) * pull[static_cast<std::size_t>(i)];
    }
    g[d()] += weight * 0.5 * (dim * share / kappa_ - nu_n * share * share * distance);
    double degrees = -white_log_det_growth(n, white.data(), offset_white.data());
    for (index_t i = 0; i < d(); ++i) {
      degrees += digamma_ratio(0.5 * (nu_ - static_cast<double>(i)), 0.5 * n);
    }
    g[d() + 1] += weight * 0.5 * degrees;
    const std::vector<double> prior = prior_inverse();
    for (index_t e = 0; e < d() * d(); ++e) {
      const auto at = static_cast<std::size_t>(e);
      g[d() + 2 + e] += weight * 0.5 * (nu_ * prior[at] - nu_n * inverse[at]);
    }
  }

  void predictive_mean(const double* t, double* out) const noexcept {
    const double share = t[0] / (kappa_ + t[0]);
    for (index_t i = 0; i < d(); ++i) {
      out[i] = mean_[static_cast<std::size_t>(i)] + share * from_prior(t, i);
    }
  }

  /// Student's t with ν_n - d + 1 degrees of freedom: a normal over the root of a chi-squared.
  /// O(d³).
  void sample(const double* t, random_source& random, double* row) const {
    const double n = t[0];
    std::vector<double> white(scatter(t), scatter(t) + triangle(d()));
    std::vector<double> y(static_cast<std::size_t>(d()), 0.0), z(y);
    for (index_t i = 0; n > 0.0 && i < d(); ++i) y[static_cast<std::size_t>(i)] = from_prior(t, i);
    whiten(factor_.data(), white.data(), d());
    solve_lower(factor_.data(), y.data(), d());
    const std::vector<double> inner = white_factor(n, std::move(white), y);
    for (auto& coordinate : z) coordinate = draw_normal(random);
    const double chi =
        std::exp(0.5 * draw_log_gamma(random, 0.5 * (nu_ + n - static_cast<double>(d()) + 1.0)));
    const double spread = std::sqrt(0.5 * (1.0 + 1.0 / (kappa_ + n))) / chi;
    multiply_lower(inner.data(), z.data(), d());
    multiply_lower(factor_.data(), z.data(), d());
    predictive_mean(t, row);
    for (index_t i = 0; i < d(); ++i) {
      row[i] = within_reals(row[i] + spread * z[static_cast<std::size_t>(i)]);
    }
  }

  /// Chain rule: of each column given those before it in the order. The marginal of j columns is
  /// the same family with ν - (d - j) degrees of freedom, so that one factorisation gives all.
  void column_terms(const double* t, const index_t* order, double* out) const {
    std::fill_n(out, d(), 0.0);
    const double n = t[0];
    if (n == 0.0) return;
    const auto place = [&](index_t i) { return order == nullptr ? i : order[i]; };
    const std::vector<double> psi = order == nullptr ? factor_ : reordered_factor(order);
    std::vector<double> a(static_cast<std::size_t>(triangle(d())));
    std::vector<double> y(static_cast<std::size_t>(d()));
    for (index_t i = 0; i < d(); ++i) {
      y[static_cast<std::size_t>(i)] = from_prior(t, place(i));
      for (index_t k = 0; k <= i; ++k) {
        const index_t row = std::max(place(i), place(k));
        const index_t column = std::min(place(i), place(k));
        a[static_cast<std::size_t>(triangle(i) + k)] = scatter(t)[triangle(row) + column];
      }
    }
    solve_lower(psi.data(), y.data(), d());
    whiten(psi.data(), a.data(), d());
    growth_by_column growth;
    double log_det = 0.0;
    double before = 0.0;
    for (index_t i = 0; i < d(); ++i) {
      log_det += 2.0 * std::log(psi[static_cast<std::size_t>(triangle(i) + i)]);
      growth.add(a.data(), y.data(), i);
      const double degrees = nu_ - static_cast<double>(d() - (i + 1));
      const double upto = size_term(n, i + 1, degrees, log_det) -
                          0.5 * (degrees + n) * growth.log_det(mean_weight(n));
      out[place(i)] = upto - before;
      before = upto;
    }
  }

  /// What of log_marginal depends on n alone.
  [[nodiscard]] double size_term(double n) const {
    const auto known = static_cast<double>(size_terms_.size());
    if (n < known) return size_terms_[static_cast<std::size_t>(n)];
    return size_term(n, d(), nu_, log_det_psi_);
  }

  /// The same of 0, 1, …, most rows.
  [[nodiscard]] std::vector<double> size_terms(index_t most) const {
    constexpr index_t large = 32;
    const bool in_range = static_cast<double>(most) < 1e290 * kappa_;
    const index_t first = in_range ? std::max(large, d()) : most + 1;
    const auto dim = static_cast<double>(d());
    return table_of_sizes(
        most, first, 64 * d(), [&](double n) { return size_term(n, d(), nu_, log_det_psi_); },
        [&](const lanes& n) {
          return log_multigamma_ratio(0.5 * nu_, n * 0.5, d()) -
                 n * (0.5 * (dim * ln_pi + log_det_psi_)) -
                 log1p(n / lanes::all(kappa_)) * (0.5 * dim);
        });
  }

  /// κn / (κ + n): what the mean's distance from the prior's weighs.
  [[nodiscard]] double mean_weight(double n) const noexcept { return kappa_ / (kappa_ + n) * n; }

  /// log |Ψ_n| - log |Ψ| >= 0 of the scatter `a` about a mean at `y` from the prior's, all in units
  /// of the prior; both are overwritten. The mean's distance enters as a rank-one update, as it may
  /// be far greater than the scatter. O(d³).
  [[nodiscard]] double white_log_det_growth(double n, double* a, double* y) const {
    growth_by_column growth;
    for (index_t i = 0; i < d(); ++i) growth.add(a, y, i);
    return growth.log_det(mean_weight(n));
  }

  /// y ← x - from in units of the prior; y may be x.
  void whiten_offset(const double* x, const double* from, double* y) const noexcept {
    for (index_t i = 0; i < d(); ++i) y[i] = x[i] - from[i];
    solve_lower(factor_.data(), y, d());
  }

  /// At least |y|² for any offset whose coordinates are at most so large, y in units of the prior;
  /// `most` is overwritten.
  [[nodiscard]] double most_white_square(double* most) const noexcept {
    double square = 0.0;
    for (index_t i = 0; i < d(); ++i) {
      const double* row = factor_.data() + triangle(i);
      for (index_t k = 0; k < i; ++k) most[i] += std::fabs(row[k]) * most[k];
      most[i] /= row[i];
      square += most[i] * most[i];
    }
    return square;
  }

  /// Eight offsets, field by field, in units of the prior, in place.
  void whiten_eight_offsets(double* y) const noexcept { solve_lower_eight(factor_.data(), y, d()); }

  /// y ← the cluster's mean - from, in units of the prior.
  void white_mean(const double* t, const double* from, double* y) const noexcept {
    for (index_t i = 0; i < d(); ++i) y[i] = (t[1 + i] - from[i]) + low(t)[i];
    solve_lower(factor_.data(), y, d());
  }

  /// c ← the cluster's covariance in units of the prior, not smoothed.
  void covariance(const double* t, double* c) const {
    const index_t size = triangle(d());
    for (index_t e = 0; e < size; ++e) c[e] = scatter(t)[e] / t[0];
    if (t[0] > 1.0) whiten(factor_.data(), c, d());
  }

  /// E in units of the prior.
  [[nodiscard]] double smoothing() const noexcept { return 0.01 / nu_; }

  /// -n/2 log |C|, C = S/n + E: the covariance of the cluster, smoothed by a hundredth of Ψ/ν,
  /// which is typical of the covariance within a cluster; so divergences are free of units.
  [[nodiscard]] double potential(const double* t) const {
    if (t[0] == 0.0) return 0.0;
    std::vector<double> c(static_cast<std::size_t>(triangle(d())));
    covariance(t, c.data());
    return -0.5 * t[0] * (smoothed_log_det(c.data()) + log_det_psi_);
  }

  /// ½ Σ n_i (log |C| - log |C_i|) over both clusters, split at the pooled covariance W within
  /// them: what their means' distance adds, and what their covariances' difference adds. All terms
  /// are
  /// >= 0, so none cancels. O(d³).
  [[nodiscard]] double divergence(const double* t, const double* s) const {
    if (t[0] == 0.0 || s[0] == 0.0) return 0.0;
    const double n = t[0] + s[0];
    const index_t size = triangle(d());
    std::vector<double> work(static_cast<std::size_t>(4 * size + d()));
    double* c0 = work.data();
    double* c1 = c0 + size;
    double* within = c1 + size;
    double* difference = within + size;
    double* apart = difference + size;
    covariance(t, c0);
    covariance(s, c1);
    for (index_t e = 0; e < size; ++e) {
      within[e] = (t[0] * c0[e] + s[0] * c1[e]) / n;
      difference[e] = c0[e] - c1[e];
    }
    const double log_det = smoothed_log_det(within);
    for (index_t i = 0; i < d(); ++i) apart[i] = offset(t, s, i);
    solve_lower(factor_.data(), apart, d());
    solve_lower(within, apart, d());
    const double between = n * std::log1p(t[0] * s[0] / (n * n) * dot(apart, apart, d()));
    if (t[0] == 1.0 && s[0] == 1.0) return 0.5 * between;
    whiten(within, difference, d());
    double* scratch = within;
    return 0.5 * (between + (t[0] * covariance_gap(difference, s[0] / n, c0, log_det, scratch) +
                             s[0] * covariance_gap(difference, -(t[0] / n), c1, log_det, scratch)));
  }

 private:
  /// log |I + S + w y yᵀ| of ever more leading columns.
  struct growth_by_column {
    double of_scatter = 0.0, distance = 0.0;

    void add(double* a, double* y, index_t i) {
      factor_row_one_plus(a, i, 0.0);
      const double* row = a + triangle(i);
      y[i] -= dot(row, y, i);
      of_scatter += std::log1p(row[i]);
      distance += y[i] * y[i] / (1.0 + row[i]);
    }
    [[nodiscard]] double log_det(double weight) const noexcept {
      return of_scatter + std::log1p(weight * distance);
    }
  };

  [[nodiscard]] bool single_rows(const double* t, index_t count) const noexcept {
    for (index_t i = 0; i < count; ++i) {
      if (t[i * width()] != 1.0) return false;
    }
    return true;
  }

  /// As the next, to the bit, of clusters without a scatter.
  void log_marginals_of_rows(const double* t, index_t count, double* out) const {
    constexpr index_t w = lanes::count;
    small_buffer space(d() * w);
    double* y = space.data();
    double values[w];
    for (index_t l = 0; l < w; ++l) {
      const double* own = t + std::min(l, count - 1) * width();
      for (index_t i = 0; i < d(); ++i) y[i * w + l] = from_prior(own, i);
    }
    solve_lower_eight(factor_.data(), y, d());
    lanes square = lanes::all(0.0);
    for (index_t i = 0; i < d(); ++i) {
      square = square + lanes::load(y + i * w) * lanes::load(y + i * w);
    }
    const lanes weight = lanes::all(kappa_) / (lanes::all(1.0) + kappa_);
    (log(weight * square + 1.0) * (nu_ + 1.0) * 0.5).store(values);
    const double term = size_term(1.0);
    for (index_t i = 0; i < count; ++i) out[i] = term - values[i];
  }

  void log_marginals_eight(const double* t, index_t count, double* out) const {
    constexpr index_t w = lanes::count;
    small_buffer space((triangle(d()) + 3 * d()) * w);
    double* a = space.data();
    double* y = a + triangle(d()) * w;
    double n[w], values[w];
    for (index_t l = 0; l < w; ++l) {
      const double* own = t + std::min(l, count - 1) * width();
      n[l] = own[0];
      for (index_t e = 0; e < triangle(d()); ++e) a[e * w + l] = scatter(own)[e];
      for (index_t i = 0; i < d(); ++i) y[i * w + l] = from_prior(own, i);
    }
    solve_lower_eight(factor_.data(), y, d());
    whiten_eight(factor_.data(), a, d());
    eight_eliminations all{a, y + d() * w, y + 2 * d() * w};
    for (index_t i = 0; i < d(); ++i) {
      all.eliminate(i, lanes::load(a + (triangle(i) + i) * w), lanes::load(y + i * w));
    }
    const lanes rows = lanes::load(n);
    const lanes weight = lanes::all(kappa_) / (rows + kappa_) * rows;
    (all.growth(weight) * (rows + nu_) * 0.5).store(values);
    for (index_t i = 0; i < count; ++i) out[i] = n[i] == 0.0 ? 0.0 : size_term(n[i]) - values[i];
  }

  /// size_term of `columns` columns with a prior of their own.
  [[nodiscard]] double size_term(double n, index_t columns, double degrees, double log_det) const {
    const auto dim = static_cast<double>(columns);
    return log_multigamma_ratio(0.5 * degrees, 0.5 * n, columns) -
           0.5 * n * (dim * ln_pi + log_det) - 0.5 * dim * log1p_ratio(n, kappa_);
  }

  /// The cluster's mean less the prior's.
  [[nodiscard]] double from_prior(const double* t, index_t i) const noexcept {
    return (t[1 + i] - mean_[static_cast<std::size_t>(i)]) + low(t)[i];
  }

  /// The factor of Ψ with its columns in another order, by way of correlations as the first was.
  [[nodiscard]] std::vector<double> reordered_factor(const index_t* order) const {
    constexpr double rounding = 1e-16;
    std::vector<double> sd, psi;
    for (index_t i = 0; i < d(); ++i) {
      const double* row = factor_.data() + triangle(order[i]);
      sd.push_back(std::sqrt(dot(row, row, order[i] + 1)));
      for (index_t k = 0; k <= i; ++k) {
        const double* other = factor_.data() + triangle(order[k]);
        const double entry = dot(row, other, std::min(order[i], order[k]) + 1);
        psi.push_back(entry / sd.back() / sd[static_cast<std::size_t>(k)]);
      }
    }
    cholesky(psi.data(), d(), rounding);
    for (index_t i = 0; i < d(); ++i) {
      for (index_t k = 0; k <= i; ++k) {
        psi[static_cast<std::size_t>(triangle(i) + k)] *= sd[static_cast<std::size_t>(i)];
      }
    }
    return psi;
  }

  /// The factor of I + S + w y yᵀ, S and y in units of the prior.
  [[nodiscard]] std::vector<double> white_factor(double n, std::vector<double> white,
                                                 const std::vector<double>& y) const {
    for (index_t i = 0; i < d(); ++i) {
      for (index_t k = 0; k <= i; ++k) {
        white[static_cast<std::size_t>(triangle(i) + k)] +=
            mean_weight(n) * y[static_cast<std::size_t>(i)] * y[static_cast<std::size_t>(k)] +
            (i == k ? 1.0 : 0.0);
      }
    }
    cholesky(white.data(), d(), 1.0);
    return white;
  }

  /// L⁻ᵀ · inner⁻¹ · L⁻¹, full d × d, row after row; an empty inner inverse is the identity.
  [[nodiscard]] std::vector<double> inverse_from(const std::vector<double>& inner_inverse) const {
    std::vector<double> result(static_cast<std::size_t>(d() * d()));
    std::vector<double> column(static_cast<std::size_t>(d()));
    for (index_t k = 0; k < d(); ++k) {
      if (d() >= long_row) pulse();
      std::fill(column.begin(), column.end(), 0.0);
      column[static_cast<std::size_t>(k)] = 1.0;
      solve_lower(factor_.data(), column.data(), d());
      if (!inner_inverse.empty()) {
        std::vector<double> middle(column.size());
        for (index_t i = 0; i < d(); ++i) {
          middle[static_cast<std::size_t>(i)] =
              dot(inner_inverse.data() + i * d(), column.data(), d());
        }
        column = std::move(middle);
      }
      solve_upper(factor_.data(), column.data(), d());
      for (index_t i = 0; i < d(); ++i) {
        result[static_cast<std::size_t>(i * d() + k)] = column[static_cast<std::size_t>(i)];
      }
    }
    return result;
  }

  /// Ψ⁻¹.
  [[nodiscard]] std::vector<double> prior_inverse() const { return inverse_from({}); }

  /// Ψ_n⁻¹ from the scatter and the mean's distance in units of the prior.
  [[nodiscard]] std::vector<double> posterior_inverse(double n, const std::vector<double>& white,
                                                      const std::vector<double>& y) const {
    const std::vector<double> inner = white_factor(n, white, y);
    std::vector<double> inverse(static_cast<std::size_t>(d() * d()));
    std::vector<double> column(static_cast<std::size_t>(d()));
    for (index_t k = 0; k < d(); ++k) {
      if (d() >= long_row) pulse();
      std::fill(column.begin(), column.end(), 0.0);
      column[static_cast<std::size_t>(k)] = 1.0;
      solve_lower(inner.data(), column.data(), d());
      solve_upper(inner.data(), column.data(), d());
      for (index_t i = 0; i < d(); ++i) {
        inverse[static_cast<std::size_t>(i * d() + k)] = column[static_cast<std::size_t>(i)];
      }
    }
    return inverse_from(inverse);
  }

  [[nodiscard]] double* low(double* t) const noexcept { return t + 1 + d(); }
  [[nodiscard]] const double* low(const double* t) const noexcept { return t + 1 + d(); }
  [[nodiscard]] double* scatter(double* t) const noexcept { return t + 1 + 2 * d(); }
  [[nodiscard]] const double* scatter(const double* t) const noexcept { return t + 1 + 2 * d(); }

  /// Coordinate i of the means' difference.
  [[nodiscard]] double offset(const double* t, const double* s, index_t i) const noexcept {
    return (t[1 + i] - s[1 + i]) + (low(t)[i] - low(s)[i]);
  }

  void observe_first(const row_view& row, double* t) const noexcept {
    std::fill_n(t, width(), 0.0);
    t[0] = 1.0;
    for (index_t i = 0; i < d(); ++i) t[1 + i] = row.value(i);
  }

  void add_between(double* t, const double* s, double weight) const {
    small_buffer apart(d());
    double* e = scatter(t);
    for (index_t i = 0; i < d(); ++i) {
      const double own = apart.data()[i] = offset(t, s, i);
      for (index_t k = 0; k <= i; ++k) *e++ += own * apart.data()[k] * weight;
    }
  }

  /// Moves t's mean towards s's by a share of their distance.
  void shift_mean(double* t, const double* s, double share) const noexcept {
    for (index_t i = 0; i < d(); ++i) {
      add_to_pair(t[1 + i], low(t)[i], -(offset(t, s, i) * share));
    }
  }

  /// Smooths a covariance and replaces it by its Cholesky factor; its log determinant.
  double smoothed_log_det(double* c) const {
    for (index_t i = 0; i < d(); ++i) c[triangle(i) + i] += smoothing();
    cholesky(c, d(), smoothing());
    return log_determinant(c, d());
  }

  /// tr(B) - log |I + B| >= 0 for I + B = W⁻¹ C_i, B = share · `difference`. `c` = C_i, unsmoothed,
  /// is for the case that I + B is too near singular to be factored; it and `scratch` are
  /// overwritten.
  double covariance_gap(const double* difference, double share, double* c, double log_det_within,
                        double* scratch) const {
    constexpr double lowest = -0.75;
    const index_t size = triangle(d());
    double trace = 0.0;
    double gap = 0.0;
    bool near_singular = false;
    for (index_t e = 0; e < size; ++e) scratch[e] = share * difference[e];
    for (index_t i = 0; i < d(); ++i) trace += scratch[triangle(i) + i];
    for (index_t i = 0; i < d(); ++i) {
      const double removed = factor_row_one_plus(scratch, i, lowest);
      const double more = scratch[triangle(i) + i];
      near_singular = near_singular || more == lowest;
      gap += removed + log1p_gap(more);
    }
    if (near_singular) gap = trace - (smoothed_log_det(c) - log_det_within);
    return std::max(0.0, gap);
  }

  std::vector<double> mean_;
  double kappa_, nu_;
  std::vector<double> factor_;  ///< L
  double log_det_psi_;
  std::vector<double> size_terms_{};  ///< of 0, 1, … rows
};

}  // namespace bhclust::detail

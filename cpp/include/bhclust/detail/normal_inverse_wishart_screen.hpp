/// @file
/// Bounds on divergences of full-covariance Gaussian clusters.
#pragma once

#include <bhclust/detail/cholesky.hpp>
#include <bhclust/detail/eight_eliminations.hpp>
#include <bhclust/detail/lane_functions.hpp>
#include <bhclust/detail/robust.hpp>
#include <bhclust/detail/simd.hpp>
#include <bhclust/progress.hpp>
#include <bhclust/types.hpp>

#include <algorithm>
#include <cmath>
#include <vector>

namespace bhclust::detail {

/// An upper bound on the largest eigenvalue of I + A, A >= 0 a lower triangle: the eighth root of
/// the norm of the matrix's eighth power, at most d^(1/16) times too large. O(d³).
[[nodiscard]] inline double largest_eigenvalue_bound(const double* a, index_t d) {
  double trace = 0.0;
  for (index_t i = 0; i < d; ++i) trace += 1.0 + a[triangle(i) + i];
  std::vector<double> power(static_cast<std::size_t>(d * d)), next(power.size());
  for (index_t i = 0; i < d; ++i) {
    for (index_t k = 0; k <= i; ++k) {
      const double entry = (a[triangle(i) + k] + (i == k ? 1.0 : 0.0)) / trace;
      power[static_cast<std::size_t>(i * d + k)] = entry;
      power[static_cast<std::size_t>(k * d + i)] = entry;
    }
  }
  constexpr int squarings = 3;
  for (int times = 0; times < squarings; ++times) {
    for (index_t i = 0; i < d; ++i) {
      if (d >= long_row) pulse();
      for (index_t k = 0; k <= i; ++k) {
        const double entry = dot(power.data() + i * d, power.data() + k * d, d);
        next[static_cast<std::size_t>(i * d + k)] = entry;
        next[static_cast<std::size_t>(k * d + i)] = entry;
      }
    }
    std::swap(power, next);
  }
  const double norm = std::sqrt(dot(power.data(), power.data(), d * d));
  constexpr double rounding = 1e-9;
  return std::sqrt(std::sqrt(std::sqrt(norm))) * trace * (1.0 + rounding);
}

/// In units in which the model's smoothing of covariances adds the identity, with C = I + A for the
/// cluster's covariance A and δ the distance of two means, d* = ½ (n log |W + n_0 n_1/n² δ δᵀ| -
/// n_0 log |C_0| - n_1 log |C_1|), W = (n_0 C_0 + n_1 C_1)/n. The first bound takes |W + w δ δᵀ| =
/// |W| (1 + w δᵀ W⁻¹ δ), λ = (n_0 λ_0 + n_1 λ_1)/n for W's largest eigenvalue, and Minkowski's
/// inequality, |W|^(1/d) >= (n_0 |C_0|^(1/d) + n_1 |C_1|^(1/d))/n; between rows it is d* itself.
/// The tighter one is d* by elimination. Both less what rounding may have added, here and in the
/// model.
///
/// Record: n, n log |C|, |C|^(1/d), n λ, a share of |ȳ|² that rounding can't exceed, the rounding
/// of log determinants, ȳ, A.
template <class Model>
class normal_inverse_wishart_screen {
 public:
  struct query {
    double n = 0.0, potential = 0.0, root = 0.0, eigenvalue = 0.0, rounding = 0.0, margin = 0.0;
    double leading_potential = 0.0;
    std::vector<double> mean, covariance;
  };

  normal_inverse_wishart_screen(const Model& model, const table_view& X)
      : model_(model), middle_(middle_of(X)), unit_(std::sqrt(model.smoothing())) {}

  /// Not of rows so far from the middle that squares lose their digits or overflow.
  [[nodiscard]] static bool takes(const Model& model, const table_view& X) {
    constexpr double farthest_row = 1e12;
    const auto middle = middle_of(X);
    std::vector<double> x(middle.size());
    pacer pace;
    for (index_t i = 0; i < X.rows(); ++i) {
      pace(triangle(model.d()));
      for (index_t j = 0; j < X.columns(); ++j) x[static_cast<std::size_t>(j)] = X.row(i).value(j);
      model.whiten_offset(x.data(), middle.data(), x.data());
      if (!(dot(x.data(), x.data(), model.d()) < farthest_row)) return false;
    }
    return true;
  }

  [[nodiscard]] index_t fields() const noexcept { return first + d() + triangle(d()); }
  [[nodiscard]] index_t scratch() const noexcept {
    return lanes::count * (triangle(d()) + 3 * d());
  }

  void encode(const double* t, double* record) const {
    double* mean = record + first;
    double* a = mean + d();
    model_.white_mean(t, middle_.data(), mean);
    model_.covariance(t, a);
    double square = 0.0;
    for (index_t i = 0; i < d(); ++i) {
      mean[i] /= unit_;
      square += mean[i] * mean[i];
    }
    for (index_t e = 0; e < triangle(d()); ++e) a[e] /= unit_ * unit_;
    const double n = t[0];
    const double log_det = n > 1.0 ? log_det_one_plus(a, d()) : 0.0;
    const double eigenvalue = n > 1.0 ? largest_eigenvalue_bound(a, d()) : 1.0;
    const auto columns = static_cast<double>(d());
    record[0] = n;
    record[1] = n * log_det;
    record[2] = std::exp(log_det / columns);
    record[3] = n * eigenvalue;
    record[4] = square_of_rounding * square;
    record[6] = n > 1.0 ? n * log_det_one_plus(a, leading()) : 0.0;
    record[5] = rounding_of_logs * columns * n * (eigenvalue + log_det + columns);
  }

  void load(query& q, const double* record) const {
    q.n = record[0];
    q.potential = record[1];
    q.root = record[2];
    q.eigenvalue = record[3];
    q.rounding = record[4];
    q.margin = record[5];
    q.leading_potential = record[6];
    q.mean.assign(record + first, record + first + d());
    q.covariance.assign(record + first + d(), record + fields());
  }

  [[nodiscard]] lanes bounds(const query& q, const double* block, double* scratch) const {
    constexpr index_t width = lanes::count;
    lanes square = lanes::all(0.0);
    for (index_t i = 0; i < d(); ++i) {
      const lanes step =
          lanes::load(block + (first + i) * width) - q.mean[static_cast<std::size_t>(i)];
      square = square + step * step;
    }
    const lanes n = lanes::load(block);
    const lanes total = n + q.n;
    const lanes per_total = 1.0 / total;
    const lanes apart = square * nearly - (lanes::load(block + 4 * width) + q.rounding);
    const lanes eigenvalue = lanes::load(block + 3 * width) + q.eigenvalue;
    const lanes of_means = log(apart * (n * q.n) * per_total / eigenvalue + 1.0);
    const lanes root = (lanes::load(block + 2 * width) * n + q.root * q.n) * per_total;
    const lanes within = log(root) * static_cast<double>(d());
    const lanes whole = less_potentials(q, block, (of_means + within) * total,
                                        lanes::load(block + width) + q.potential);
    const lanes apart_leading = lanes::load(block + 6 * width) + q.leading_potential;
    if (d() < most_leading) return larger(whole, marginal(q, d(), apart_leading, block, scratch));
    return larger(whole, marginal(q, most_leading, apart_leading, block, scratch));
  }

  [[nodiscard]] lanes tighter(const query& q, const double* block, double* scratch) const {
    return marginal(q, d(), lanes::load(block + lanes::count) + q.potential, block, scratch);
  }

 private:
  static constexpr index_t first = 7;
  /// A longer margin costs more than it spares.
  static constexpr index_t most_leading = 4;
  static constexpr double nearly = 1.0 - 1e-6;
  /// As for root_screen, whose squares of differences these are.
  static constexpr double square_of_rounding = 1e-24;
  static constexpr double rounding_of_logs = 1e-14;

  [[nodiscard]] index_t d() const noexcept { return model_.d(); }

  /// Of as many leading columns as are bounded exactly.
  [[nodiscard]] index_t leading() const noexcept { return std::min(d(), most_leading); }

  [[nodiscard]] static double log_det_one_plus(const double* a, index_t d) {
    std::vector<double> factor(a, a + triangle(d));
    for (index_t i = 0; i < d; ++i) factor[static_cast<std::size_t>(triangle(i) + i)] += 1.0;
    cholesky(factor.data(), d, 1.0);
    return log_determinant(factor.data(), d);
  }

  /// The cost in the first `columns` columns alone, by elimination; no marginal costs more than the
  /// whole. `apart` holds their n log |C|.
  [[nodiscard, gnu::always_inline]] lanes marginal(const query& q, index_t columns,
                                                   const lanes& apart, const double* block,
                                                   double* scratch) const {
    constexpr index_t width = lanes::count;
    const double* means = block + first * width;
    const double* covariances = means + d() * width;
    double* inverse = scratch + triangle(d()) * width;
    const lanes n = lanes::load(block);
    const lanes total = n + q.n;
    const lanes share = n / total;
    const lanes other = lanes::all(q.n) / total;
    eight_eliminations all{scratch, inverse, inverse + d() * width};
    for (index_t i = 0, e = 0; i < columns; ++i) {
      const auto entry = [&](index_t at) {
        return lanes::load(covariances + at * width) * share +
               other * q.covariance[static_cast<std::size_t>(at)];
      };
      for (index_t k = 0; k < i; ++k, ++e) entry(e).store(scratch + e * width);
      all.eliminate(i, entry(e++),
                    lanes::load(means + i * width) - q.mean[static_cast<std::size_t>(i)]);
    }
    all.distance = all.distance * nearly - (lanes::load(block + 4 * width) + q.rounding);
    return less_potentials(q, block, all.growth(share * other) * total, apart);
  }

  [[nodiscard]] static lanes less_potentials(const query& q, const double* block,
                                             const lanes& pooled, const lanes& apart) noexcept {
    const lanes margin = lanes::load(block + 5 * lanes::count) + q.margin;
    return (pooled - apart) * 0.5 - margin;
  }

  Model model_;
  std::vector<double> middle_;
  double unit_;
};

}  // namespace bhclust::detail

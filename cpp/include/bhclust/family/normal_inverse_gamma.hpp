/// @file
/// Reals in independent columns: x ~ N(μ, v), μ ~ N(mean, v/κ), v ~ InverseGamma(a, b).
#pragma once

#include <bhclust/detail/draws.hpp>
#include <bhclust/detail/lane_store.hpp>
#include <bhclust/detail/log_screen.hpp>
#include <bhclust/detail/moments.hpp>
#include <bhclust/detail/normal_inverse_gamma_batch.hpp>
#include <bhclust/detail/normal_inverse_gamma_holes_kernel.hpp>
#include <bhclust/detail/normal_inverse_gamma_kernel.hpp>
#include <bhclust/detail/robust.hpp>
#include <bhclust/detail/screened_store.hpp>
#include <bhclust/detail/special.hpp>
#include <bhclust/independent.hpp>
#include <bhclust/parameter.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>
#include <vector>

namespace bhclust {

namespace detail {

struct normal_inverse_gamma_column : moments_column {
  double mean, kappa, a, b;

  normal_inverse_gamma_column(double m0, double k0, double a0, double b0)
      : mean(m0), kappa(k0), a(a0), b(b0) {}

  /// b_n - b, b_n the posterior's.
  [[nodiscard]] double growth(const moments& c) const noexcept {
    const double y = c.offset(mean);
    return 0.5 * (c.squares + (kappa / (kappa + c.n)) * c.n * y * y);
  }

  /// a log(b / b_n) and n/2 log(b_n) are kept apart: neither cancels for n << a.
  [[nodiscard]] double log_marginal(const double* t) const noexcept {
    const auto c = moments::load(t);
    if (c.n == 0.0) return 0.0;
    const double more = growth(c);
    return log_gamma_ratio(a, 0.5 * c.n) - a * log1p_ratio(more, b) -
           0.5 * (c.n * (ln_2pi + std::log(b + more)) + log1p_ratio(c.n, kappa));
  }

  static constexpr index_t hyperparameters = 4;

  /// By mean, kappa, a, b. All vanish for an empty column.
  void gradient(const double* t, double* g) const noexcept {
    const auto c = moments::load(t);
    const double y = c.offset(mean);
    const double more = c.n == 0.0 ? 0.0 : growth(c);
    const double share = c.n / (kappa + c.n);
    const double precision = (a + 0.5 * c.n) / (b + more);
    g[0] = precision * (kappa * share * y);
    g[1] = 0.5 * (share / kappa - precision * (share * y) * (share * y));
    g[2] = digamma_ratio(a, 0.5 * c.n) - log1p_ratio(more, b);
    g[3] = (a * (more / b) - 0.5 * c.n) / (b + more);
  }

  /// The centre of Student's t distribution, which is its mean where it has one (a_n > ½).
  void predictive_mean(const double* t, double* out) const noexcept {
    const auto c = moments::load(t);
    *out = mean + c.n / (kappa + c.n) * c.offset(mean);
  }

  [[nodiscard]] double sample(const double* t, random_source& random) const {
    const auto c = moments::load(t);
    const double log_precision =
        draw_log_gamma(random, a + 0.5 * c.n) - std::log(b + (c.n == 0.0 ? 0.0 : growth(c)));
    const double sd = std::exp(-0.5 * log_precision) * std::sqrt(1.0 + 1.0 / (kappa + c.n));
    double centre = 0.0;
    predictive_mean(t, &centre);
    return within_reals(centre + std::fmin(sd, farthest_drawn) * draw_normal(random));
  }

  /// Added to variances in the potential, so that a singleton's is finite: a hundredth of the
  /// variance that the prior expects within a cluster, which makes divergences free of units.
  [[nodiscard]] double smoothing() const noexcept { return 0.01 * (b / a); }

  /// -n/2 log(v + ε), v the cluster's variance.
  [[nodiscard]] double potential(const double* t) const noexcept {
    const auto c = moments::load(t);
    return c.n == 0.0 ? 0.0 : -0.5 * c.n * std::log(c.squares / c.n + smoothing());
  }

  /// ½ Σ n_i log(w / w_i) over both clusters, w the smoothed variances, split at the pooled
  /// variance within the two: what their means' distance adds, and what their variances' difference
  /// adds. All terms are >= 0, so none cancels.
  [[nodiscard]] double divergence(const double* t, const double* s) const noexcept {
    const auto c0 = moments::load(t);
    const auto c1 = moments::load(s);
    if (c0.n == 0.0 || c1.n == 0.0) return 0.0;
    const double n = c0.n + c1.n;
    const double y = c0.offset(c1);
    const double within = (c0.squares + c1.squares) / n + smoothing();
    const double between = (c0.n * c1.n / n) * (y * y);
    const double w0 = c0.squares / c0.n + smoothing();
    const double w1 = c1.squares / c1.n + smoothing();
    const double slope = (w0 - w1) / within;
    return 0.5 * (n * log1p_ratio(between / n, within) +
                  (c0.n * ratio_gap(c1.n / n * slope, w0 / within) +
                   c1.n * ratio_gap(-(c0.n / n * slope), w1 / within)));
  }

 private:
  /// x - log(1 + x), given 1 + x as well, which keeps its digits where x is near -1.
  [[nodiscard]] static double ratio_gap(double x, double one_plus) noexcept {
    return std::fabs(x) < 0.25 ? log1p_gap(x) : x - std::log(one_plus);
  }
};

/// Clusters are scored eight at a time.
class normal_inverse_gamma_model : public independent<normal_inverse_gamma_column> {
  using self = normal_inverse_gamma_model;

 public:
  using independent::independent;

  [[nodiscard]] auto of_many(index_t rows) const {
    std::vector<normal_inverse_gamma_column> all;
    for (index_t j = 0; j < columns(); ++j) all.push_back(column(j));
    return normal_inverse_gamma_batch<normal_inverse_gamma_column>(std::move(all), rows);
  }

  /// Of tables of groups (groups.hpp).
  using group_store = lane_store<self, normal_inverse_gamma_kernel<self>>;
  template <class Score>
  using plain_store = independent_store<normal_inverse_gamma_column, Score>;
  template <class Score>
  using store =
      store_of_screen<self, log_screen<self, smoothed_variances<self>>, Score,
                      store_of_lanes<self, normal_inverse_gamma_kernel<self>, Score,
                                     store_of_lanes<self, normal_inverse_gamma_holes_kernel<self>,
                                                    Score, plain_store<Score>>>>;
};

}  // namespace detail

/// Normal columns of unknown mean and variance with the conjugate prior on each column.
struct NormalInverseGamma {
  parameter mean = 0.0;
  parameter kappa = 1.0;
  parameter a = 1.0;
  parameter b = 1.0;

  static constexpr const char* doc =
      "Real numbers in independent columns: Normal with a Normal-inverse-gamma prior on each "
      "column's mean and variance: mean ~ Normal(mean, variance / kappa), variance ~ "
      "InverseGamma(a, b). Missing cells are NaN.";

  [[nodiscard]] static const char* name() { return "NormalInverseGamma"; }
  [[nodiscard]] static domain takes() { return {cell::real, true, false}; }
  [[nodiscard]] static std::array<parameter_field<NormalInverseGamma>, 4> parameters() {
    using F = NormalInverseGamma;
    return {
        {{"mean", &F::mean, range::real, shape::per_column, "prior mean of the clusters' means"},
         {"kappa", &F::kappa, range::positive, shape::per_column,
          "how many rows the prior mean is worth"},
         {"a", &F::a, range::positive, shape::per_column,
          "prior shape of the variances: half the number of rows the prior is worth"},
         {"b", &F::b, range::positive, shape::per_column,
          "prior scale of the variances: b / a is a typical variance within a cluster"}}};
  }

  /// A start on the scale of each column, whatever a few wild values do; its three constants gave
  /// the most evidence over a dozen real and made-up tables. Constant and unobserved columns are
  /// fine.
  [[nodiscard]] static NormalInverseGamma from_data(const table_view& X) {
    check_table(X, takes(), name());
    constexpr double share_within = 0.1;
    NormalInverseGamma family;
    family.kappa = 0.3;
    family.a = 1.0;
    std::vector<double> means, scales;
    for (const auto& column : detail::spreads_of(X)) {
      means.push_back(column.median);
      scales.push_back(family.a[0] * detail::variance_within(column, share_within));
    }
    family.mean = std::move(means);
    family.b = std::move(scales);
    return family;
  }

  [[nodiscard]] auto bind(index_t columns) const {
    std::vector<detail::normal_inverse_gamma_column> all;
    for (index_t j = 0; j < columns; ++j) all.emplace_back(mean[j], kappa[j], a[j], b[j]);
    return detail::normal_inverse_gamma_model(std::move(all));
  }
};

}  // namespace bhclust

/// @file
/// Reals in independent columns with known variance: x ~ N(μ, σ²), μ ~ N(mean, ρ²).
#pragma once

#include <bhclust/detail/draws.hpp>
#include <bhclust/detail/lane_store.hpp>
#include <bhclust/detail/moments.hpp>
#include <bhclust/detail/normal_known_variance_holes_kernel.hpp>
#include <bhclust/detail/normal_known_variance_kernel.hpp>
#include <bhclust/detail/robust.hpp>
#include <bhclust/detail/special.hpp>
#include <bhclust/detail/ward_holes_kernel.hpp>
#include <bhclust/detail/ward_kernel.hpp>
#include <bhclust/independent.hpp>
#include <bhclust/parameter.hpp>

#include <array>
#include <cmath>
#include <type_traits>
#include <utility>
#include <vector>

namespace bhclust {

namespace detail {

struct normal_known_variance_column : moments_column {
  double variance, mean, prior_variance, log_2pi_variance;

  normal_known_variance_column(double sigma2, double m0, double rho2)
      : variance(sigma2),
        mean(m0),
        prior_variance(rho2),
        log_2pi_variance(ln_2pi + std::log(sigma2)) {}

  [[nodiscard]] double log_marginal(const double* t) const noexcept {
    const auto c = moments::load(t);
    const double y = c.offset(mean);
    return -0.5 * (c.n * log_2pi_variance + log1p_ratio(c.n * prior_variance, variance) +
                   c.squares / variance + c.n * (y * y / (variance + c.n * prior_variance)));
  }

  static constexpr index_t hyperparameters = 3;

  /// By variance, mean, prior_variance; with w = σ² + nρ², the variance of n times the mean's
  /// error.
  void gradient(const double* t, double* g) const noexcept {
    const auto c = moments::load(t);
    const double y = c.offset(mean);
    const double w = variance + c.n * prior_variance;
    const double z = y / w;
    g[0] = -0.5 * (c.n / variance - c.n * (prior_variance / variance) / w -
                   (c.squares / variance) / variance - c.n * (z * z));
    g[1] = c.n * z;
    g[2] = -0.5 * (c.n / w - (c.n * z) * (c.n * z));
  }

  void predictive_mean(const double* t, double* out) const noexcept {
    const auto c = moments::load(t);
    *out = mean + shrinkage(c.n) * c.offset(mean);
  }

  [[nodiscard]] double sample(const double* t, random_source& random) const {
    const double n = t[0];
    // ρ² σ² / (σ² + nρ²), what is left of the mean's variance
    const double left = n == 0.0 ? prior_variance : shrinkage(n) * (variance / n);
    double centre = 0.0;
    predictive_mean(t, &centre);
    return within_reals(centre + std::sqrt(variance + left) * draw_normal(random));
  }

  /// n x̄² / (2σ²), the mean counted from the prior's, which changes no divergence.
  [[nodiscard]] double potential(const double* t) const noexcept {
    const auto c = moments::load(t);
    const double y = c.offset(mean);
    return 0.5 * c.n * (y * y / variance);
  }

  /// Ward's cost n0 n1 / (n0 + n1) (x̄0 - x̄1)² / (2σ²).
  [[nodiscard]] double divergence(const double* t, const double* s) const noexcept {
    const auto a = moments::load(t);
    const auto b = moments::load(s);
    if (a.n == 0.0 || b.n == 0.0) return 0.0;
    const double y = a.offset(b);
    return (a.n * b.n / (a.n + b.n)) * (y * y) / (2.0 * variance);
  }

 private:
  /// nρ² / (σ² + nρ²), also where nρ² overflows.
  [[nodiscard]] double shrinkage(double n) const noexcept {
    return n == 0.0 ? 0.0 : 1.0 / (1.0 + variance / prior_variance / n);
  }
};

/// Clusters are scored eight at a time.
class normal_known_variance_model : public independent<normal_known_variance_column> {
  using self = normal_known_variance_model;

 public:
  using independent::independent;

  [[nodiscard]] std::vector<double> ward_units() const { return units_of_noise(*this); }
  [[nodiscard]] double ward_mean(const double* t, double* mean) const {
    return rows_and_means(*this, t, mean);
  }

  /// Of tables of groups (groups.hpp).
  using group_store = lane_store<self, normal_known_variance_kernel<self>>;
  template <class Score>
  using plain_store = independent_store<normal_known_variance_column, Score>;
  template <class Score>
  using store = std::conditional_t<
      Score::kind == score_kind::evidence,
      lane_store_or<
          self, normal_known_variance_kernel<self>,
          lane_store_or<self, normal_known_variance_holes_kernel<self>, plain_store<Score>>>,
      lane_store_or<self, ward_kernel<self>,
                    lane_store_or<self, ward_holes_kernel<self>, plain_store<Score>>>>;
};

}  // namespace detail

/// Normal columns of known variance with a normal prior on each column's mean.
struct NormalKnownVariance {
  parameter variance = 1.0;
  parameter mean = 0.0;
  parameter prior_variance = 1.0;

  static constexpr const char* doc =
      "Real numbers in independent columns: Normal with the given variance within clusters and a "
      "Normal(mean, prior_variance) prior on each column's cluster mean. Missing cells are NaN. "
      "RBHC with this family is Ward's method on columns divided by the standard deviation.";

  [[nodiscard]] static const char* name() { return "NormalKnownVariance"; }
  [[nodiscard]] static domain takes() { return {cell::real, true, false}; }
  [[nodiscard]] static std::array<parameter_field<NormalKnownVariance>, 3> parameters() {
    using F = NormalKnownVariance;
    return {
        {{"variance", &F::variance, range::positive, shape::per_column,
          "variance of a column within a cluster"},
         {"mean", &F::mean, range::real, shape::per_column, "prior mean of the clusters' means"},
         {"prior_variance", &F::prior_variance, range::positive, shape::per_column,
          "prior variance of the clusters' means"}}};
  }

  /// A start on the scale of each column: within clusters a share of the variance, robust; between
  /// them the mean square, which also covers wild values. The share was chosen by evidence on a
  /// dozen real and made-up tables. Constant and unobserved columns are fine.
  [[nodiscard]] static NormalKnownVariance from_data(const table_view& X) {
    check_table(X, takes(), name());
    constexpr double share_within = 0.2;
    std::vector<double> variances, means, prior_variances;
    for (const auto& column : detail::spreads_of(X)) {
      variances.push_back(detail::variance_within(column, share_within));
      means.push_back(column.median);
      prior_variances.push_back(column.moment);
    }
    return {std::move(variances), std::move(means), std::move(prior_variances)};
  }

  [[nodiscard]] auto bind(index_t columns) const {
    std::vector<detail::normal_known_variance_column> all;
    for (index_t j = 0; j < columns; ++j) {
      all.emplace_back(variance[j], mean[j], prior_variance[j]);
    }
    return detail::normal_known_variance_model(std::move(all));
  }
};

}  // namespace bhclust

/// @file
/// Reals in independent columns with known variance: x ~ N(μ, σ²), μ ~ N(mean, ρ²).
#pragma once

#include <bhclust/detail/moments.hpp>
#include <bhclust/detail/special.hpp>
#include <bhclust/independent.hpp>
#include <bhclust/parameter.hpp>

#include <array>
#include <cmath>
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

  [[nodiscard]] auto bind(index_t columns) const {
    std::vector<detail::normal_known_variance_column> all;
    for (index_t j = 0; j < columns; ++j) {
      all.emplace_back(variance[j], mean[j], prior_variance[j]);
    }
    return independent<detail::normal_known_variance_column>(std::move(all));
  }
};

}  // namespace bhclust

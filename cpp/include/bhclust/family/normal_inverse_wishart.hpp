/// @file
/// Reals with full covariance: x ~ N(μ, Σ), μ ~ N(mean, Σ/κ), Σ ~ InverseWishart(ν, Ψ).
#pragma once

#include <bhclust/detail/cholesky.hpp>
#include <bhclust/detail/normal_inverse_wishart_model.hpp>
#include <bhclust/detail/robust.hpp>
#include <bhclust/family.hpp>
#include <bhclust/parameter.hpp>
#include <bhclust/progress.hpp>

#include <array>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

namespace bhclust {

/// Normal rows of unknown mean and full covariance with the conjugate prior.
struct NormalInverseWishart {
  parameter mean = 0.0;
  parameter kappa = 1.0;
  parameter nu = 3.0;
  parameter psi = 1.0;

  static constexpr const char* doc =
      "Real rows with correlated columns: Normal with a Normal-inverse-Wishart prior: mean ~ "
      "Normal(mean, covariance / kappa), covariance ~ InverseWishart(nu, psi). psi is a scalar "
      "(times "
      "the identity), a diagonal, or a full matrix; nu must exceed the number of columns less one. "
      "Takes no missing cells.";

  [[nodiscard]] static const char* name() { return "NormalInverseWishart"; }
  [[nodiscard]] static domain takes() { return {cell::real, false, false}; }
  [[nodiscard]] static std::array<parameter_field<NormalInverseWishart>, 4> parameters() {
    using F = NormalInverseWishart;
    return {
        {{"mean", &F::mean, range::real, shape::per_column, "prior mean of the clusters' means"},
         {"kappa", &F::kappa, range::positive, shape::scalar,
          "how many rows the prior mean is worth"},
         {"nu", &F::nu, range::positive, shape::scalar,
          "degrees of freedom: how many rows the prior covariance is worth; above columns - 1"},
         {"psi", &F::psi, range::positive, shape::matrix,
          "prior scale matrix: psi / nu is a typical covariance within a cluster"}}};
  }

  /// A start on the scale of each column, uncorrelated, whatever a few wild values do; its three
  /// constants gave the most evidence over a dozen real and made-up tables. Constant columns and
  /// more columns than rows are fine.
  [[nodiscard]] static NormalInverseWishart from_data(const table_view& X) {
    check_table(X, takes(), name());
    constexpr double share_within = 0.2;
    constexpr double excess = 3.0;  // of ν above d - 1: each column alone has a shape of 1.5
    NormalInverseWishart family;
    family.kappa = 0.3;
    family.nu = static_cast<double>(X.columns()) - 1.0 + excess;
    std::vector<double> means, scales;
    for (const auto& column : detail::spreads_of(X)) {
      means.push_back(column.median);
      scales.push_back(excess * detail::variance_within(column, share_within));
    }
    family.mean = std::move(means);
    family.psi = std::move(scales);
    return family;
  }

  [[nodiscard]] auto bind(index_t columns) const {
    require(nu[0] > static_cast<double>(columns) - 1.0, [&] {
      return "nu is " + detail::number(nu[0]) + "; for " + std::to_string(columns) +
             " columns it must be above " + std::to_string(columns - 1) + " (" +
             std::to_string(columns + 2) + " is a usual choice)";
    });
    std::vector<double> m;
    for (index_t j = 0; j < columns; ++j) m.push_back(mean[j]);
    return detail::normal_inverse_wishart_model(std::move(m), kappa[0], nu[0], psi_factor(columns));
  }

 private:
  [[nodiscard]] double psi_entry(index_t i, index_t k, index_t d) const noexcept {
    if (psi.rank() == 2) return psi[i * d + k];
    return i == k ? psi[i] : 0.0;
  }

  /// psi's Cholesky factor, by way of its correlations, which makes the checks independent of
  /// units.
  [[nodiscard]] std::vector<double> psi_factor(index_t d) const {
    constexpr double singular = 1e-14;
    std::vector<double> sd, lower;
    for (index_t i = 0; i < d; ++i) sd.push_back(std::sqrt(psi_diagonal(i, d)));
    detail::pacer pace;
    for (index_t i = 0; i < d; ++i) {
      for (index_t k = 0; k <= i; ++k) lower.push_back(psi_correlation(i, k, d, sd));
      pace(16 * (i + 1));
    }
    const index_t bad = detail::cholesky(lower.data(), d, singular);
    require(bad == d, [&] {
      const auto size = std::to_string(bad + 1);
      return "psi is not positive definite: its leading " + size + " x " + size +
             " block is singular or indefinite; add to its diagonal";
    });
    for (index_t i = 0; i < d; ++i) {
      for (index_t k = 0; k <= i; ++k) {
        lower[static_cast<std::size_t>(detail::triangle(i) + k)] *= sd[static_cast<std::size_t>(i)];
      }
    }
    return lower;
  }

  [[nodiscard]] double psi_diagonal(index_t i, index_t d) const {
    const double x = psi_entry(i, i, d);
    require(x > 0.0, [&] {
      return "psi[" + std::to_string(i) + "][" + std::to_string(i) + "] is " + detail::number(x) +
             "; psi must be positive definite, with a diagonal above 0";
    });
    return x;
  }

  [[nodiscard]] double psi_correlation(index_t i, index_t k, index_t d,
                                       const std::vector<double>& sd) const {
    constexpr double rounding = 1e-8;
    if (i == k) return 1.0;
    const auto unit = [&](double x) {
      return x / sd[static_cast<std::size_t>(i)] / sd[static_cast<std::size_t>(k)];
    };
    const double below = psi_entry(i, k, d);
    const double above = psi_entry(k, i, d);
    require(std::fabs(unit(below) - unit(above)) <= rounding, [&] {
      const auto place = [](index_t row, index_t column) {
        return "psi[" + std::to_string(row) + "][" + std::to_string(column) + "]";
      };
      return place(i, k) + " is " + detail::number(below) + " but " + place(k, i) + " is " +
             detail::number(above) + "; psi must be symmetric: use (psi + psi.T) / 2";
    });
    return 0.5 * (unit(below) + unit(above));
  }
};

}  // namespace bhclust

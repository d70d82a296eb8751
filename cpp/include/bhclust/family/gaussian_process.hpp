/// @file
/// Time series: a cluster is one random curve, its rows are the curve and noise.
#pragma once

#include <bhclust/detail/gaussian_process_model.hpp>
#include <bhclust/detail/robust.hpp>
#include <bhclust/detail/time_kernel.hpp>
#include <bhclust/family.hpp>
#include <bhclust/parameter.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>
#include <vector>

namespace bhclust {

/// Series over given times: x_t = f(t) + noise, f a Gaussian process, one for each cluster.
struct GaussianProcess {
  parameter times = 1.0;
  parameter kernel = squared_exponential;
  parameter length_scale = 1.0;
  parameter amplitude = 1.0;
  parameter noise = 1.0;
  parameter mean = 0.0;

  /// How many fields, the first ones, describe the experiment: from_data is given them.
  static constexpr std::size_t given = 2;

  static constexpr const char* doc =
      "Time series, one a row: the rows of a cluster are one smooth curve plus independent Normal "
      "noise, the curve a Gaussian process: Normal(mean, amplitude * kernel). Times may be "
      "unequally spaced, and columns at the same time are repeated measurements of it. Missing "
      "cells are NaN. amplitude and noise are variances; with one column this is "
      "NormalKnownVariance. Noise with heavier tails would not be conjugate and is not offered: "
      "screen rows for single wild values, or make those missing. RBHC with this family is Ward's "
      "method. Curves of clusters with bands: `bhclust.curves`.\n\n"
      "With r the distance of two times divided by length_scale, 'squared-exponential' is "
      "exp(-r^2 / 2), 'matern32' (1 + sqrt(3) r) exp(-sqrt(3) r), 'matern52' (1 + sqrt(5) r + 5 "
      "r^2 / 3) exp(-sqrt(5) r). 'cubic-spline' is white noise integrated twice, from the middle "
      "of the times both ways, with a Normal level and slope there: 1 + u v + min^2 (3 max - min) "
      "/ 6 with u and v the times counted from the middle in units of length_scale, min and max of "
      "their magnitudes; the last term is there where u and v have the same sign.";

  [[nodiscard]] static const char* name() { return "GaussianProcess"; }
  [[nodiscard]] static domain takes() { return {cell::real, true, false}; }
  [[nodiscard]] static std::array<parameter_field<GaussianProcess>, 6> parameters() {
    using F = GaussianProcess;
    return {{{"times", &F::times, range::real, shape::per_column,
              "time of each column; a scalar is the distance of equally spaced times"},
             {"kernel",
              &F::kernel,
              range::choice,
              shape::scalar,
              "covariance of a curve at two times",
              {"squared-exponential", "matern32", "matern52", "cubic-spline"}},
             {"length_scale", &F::length_scale, range::positive, shape::scalar,
              "distance of times over which a curve changes"},
             {"amplitude", &F::amplitude, range::positive, shape::scalar,
              "prior variance of the clusters' curves"},
             {"noise", &F::noise, range::positive, shape::scalar,
              "variance of a cell about its cluster's curve"},
             {"mean", &F::mean, range::real, shape::per_column, "prior mean of the curves"}}};
  }

  [[nodiscard]] static GaussianProcess from_data(const table_view& X) { return from_data(X, {}); }

  /// A start on the scale of the data for the times and the kernel of `design`. The prior mean is
  /// level, at the median of all cells, since curves about a rough one would not be smooth, and the
  /// curves' variance the mean square about it; the noise is a share of the variance about each
  /// column's median, robust; the length scale a quarter of the time that passes. Constant and
  /// unobserved columns, more columns than rows and a single row are fine.
  [[nodiscard]] static GaussianProcess from_data(const table_view& X,
                                                 const GaussianProcess& design) {
    check_table(X, takes(), name());
    constexpr double share_within = 0.2;
    GaussianProcess family;
    family.times = design.times;
    family.kernel = design.kernel;
    check_parameters(family, X.columns());
    const auto all = spread_of_cells(X);
    auto within = spread_within_columns(X, all);
    within.resolution = all.resolution;
    family.mean = all.median;
    family.amplitude = all.moment;
    family.noise = detail::variance_within(within, share_within);
    const auto at = family.times_of(X.columns());
    const auto [first, last] = std::minmax_element(at.begin(), at.end());
    const double length = 0.25 * *last - 0.25 * *first;
    family.length_scale = length > 0.0 ? length : 1.0;
    return family;
  }

  [[nodiscard]] auto bind(index_t columns) const {
    const auto all = times_of(columns);
    detail::time_covariance prior(kernel_over(all), amplitude[0], all);
    std::vector<detail::normal_known_variance_column> models;
    for (index_t j = 0; j < columns; ++j) {
      const auto variance = static_cast<double>(prior.k[static_cast<std::size_t>(j * columns + j)]);
      models.emplace_back(noise[0], mean[j], variance);
    }
    return detail::gaussian_process_model(std::move(models), std::move(prior), length_scale[0],
                                          amplitude[0]);
  }

  /// The time of each column.
  [[nodiscard]] std::vector<double> times_of(index_t columns) const {
    std::vector<double> all;
    for (index_t j = 0; j < columns; ++j) {
      all.push_back(times.rank() == 0 ? static_cast<double>(j) * times[0] : times[j]);
    }
    return all;
  }

  /// The kernel, of amplitude 1, for columns at these times.
  [[nodiscard]] detail::unit_kernel kernel_over(const std::vector<double>& all) const {
    return detail::unit_kernel::over(static_cast<time_kernel>(kernel[0]), length_scale[0], all);
  }

 private:
  [[nodiscard]] static detail::column_spread spread_of_cells(const table_view& X) {
    std::vector<double> cells;
    for (index_t j = 0; j < X.columns(); ++j) {
      const auto column = detail::observed_values(X, j);
      cells.insert(cells.end(), column.begin(), column.end());
    }
    return detail::spread_of(std::move(cells));
  }

  /// Of all cells about their columns' medians; `otherwise` where these are equal, as of one row.
  [[nodiscard]] static detail::column_spread spread_within_columns(
      const table_view& X, const detail::column_spread& otherwise) {
    std::vector<double> offsets;
    double farthest = 0.0;
    for (index_t j = 0; j < X.columns(); ++j) {
      auto column = detail::observed_values(X, j);
      const double median = detail::spread_of(column).median;
      for (const double x : column) {
        offsets.push_back(x - median);
        farthest = std::max(farthest, std::fabs(x - median));
      }
    }
    return farthest > 0.0 ? detail::spread_of(std::move(offsets)) : otherwise;
  }
};

}  // namespace bhclust

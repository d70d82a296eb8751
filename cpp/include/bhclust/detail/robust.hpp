/// @file
/// Where the values of a column lie and how far they spread, whatever a few wild ones do.
#pragma once

#include <bhclust/detail/sorting.hpp>
#include <bhclust/progress.hpp>
#include <bhclust/types.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace bhclust::detail {

/// The observed values of column j of a dense table.
[[nodiscard]] inline std::vector<double> observed_values(const table_view& X, index_t j) {
  std::vector<double> values;
  values.reserve(static_cast<std::size_t>(X.rows()));
  for (index_t i = 0; i < X.rows(); ++i) {
    const double x = X.row(i).value(j);
    if (!is_missing(x)) values.push_back(x);
  }
  return values;
}

/// All rows, or `most` of a larger table, by steps of the golden section, which no order of the
/// rows goes along with.
[[nodiscard]] inline std::vector<index_t> some_rows(index_t rows, index_t most) {
  constexpr double golden = 0.6180339887498949;
  std::vector<index_t> chosen(static_cast<std::size_t>(std::min(rows, most)));
  double place = 0.0;
  for (std::size_t i = 0; i < chosen.size(); ++i) {
    const auto there = static_cast<index_t>(place * static_cast<double>(rows));
    chosen[i] = rows <= most ? static_cast<index_t>(i) : std::min(there, rows - 1);
    place += place < 1.0 - golden ? golden : golden - 1.0;
  }
  return chosen;
}

/// A value from the column's middle, in each column: of up to 1,024 rows, or of all where those
/// have none; 0 where none is observed. O(columns), or O(cells).
[[nodiscard]] inline std::vector<double> middle_of(const table_view& X) {
  constexpr index_t most = 1024;
  std::vector<double> middle;
  const auto chosen = some_rows(X.rows(), most);
  pacer pace;
  for (index_t j = 0; j < X.columns(); ++j) {
    pace(32 * most);
    std::vector<double> values;
    for (const index_t i : chosen) {
      const double x = X.row(i).value(j);
      if (!is_missing(x)) values.push_back(x);
    }
    if (values.empty()) {
      pace(32 * X.rows());
      values = observed_values(X, j);
    }
    if (values.empty()) {
      middle.push_back(0.0);
      continue;
    }
    const auto half = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::nth_element(values.begin(), half, values.end());
    middle.push_back(*half);
  }
  return middle;
}

/// How far cells of each column are at most from each other and from one value more; no number
/// where one is missing. O(cells).
[[nodiscard]] inline std::vector<double> reaches_of(const table_view& X,
                                                    const std::vector<double>& more) {
  std::vector<double> low = more;
  std::vector<double> high = more;
  double sum = 0.0;  // no number if a cell is none
  pacer pace;
  for (index_t i = 0; i < X.rows(); ++i) {
    pace(X.columns());
    const row_view row = X.row(i);
    for (std::size_t j = 0; j < more.size(); ++j) {
      const double x = row.value(static_cast<index_t>(j));
      low[j] = std::min(low[j], x);
      high[j] = std::max(high[j], x);
      sum += x - x;
    }
  }
  for (std::size_t j = 0; j < more.size(); ++j) high[j] = (high[j] - low[j]) + sum;
  return high;
}

/// What the Gaussian families' defaults are made of. All finite, variances above 0.
struct column_spread {
  double median = 0.0;
  double variance = 1.0;    ///< robust: a few wild values do not move it
  double moment = 1.0;      ///< mean square about the median: covers the wild values too
  double resolution = 0.0;  ///< variance of a value within the step it was recorded with
};

/// The q-quantile of sorted values, between neighbours by linear interpolation.
[[nodiscard]] inline double quantile(const std::vector<double>& sorted, double q) noexcept {
  const double place = q * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(place);
  const double share = place - static_cast<double>(below);
  if (share == 0.0) return sorted[below];
  return sorted[below] + share * (sorted[below + 1] - sorted[below]);
}

/// The smallest distance of two sorted values that is more than rounding.
[[nodiscard]] inline double recorded_step(const std::vector<double>& sorted) noexcept {
  const double largest = std::max(std::fabs(sorted.front()), std::fabs(sorted.back()));
  const double rounding = largest * std::numeric_limits<double>::epsilon();
  double step = std::numeric_limits<double>::infinity();
  for (std::size_t i = 1; i < sorted.size(); ++i) {
    const double gap = sorted[i] - sorted[i - 1];
    if (gap > rounding) step = std::min(step, gap);
  }
  return std::isfinite(step) ? step : rounding;
}

/// Squares of what may be too small or too large to be squared.
[[nodiscard]] inline double safe_square(double x) noexcept {
  return std::clamp(x * x, 1e-280, 1e300);
}

/// The spread by the quartiles; where these are equal (a spike) by the mean square; of a constant
/// by its size, as there is nothing else that knows its unit; 1 for zeros and for no values at all.
[[nodiscard]] inline column_spread spread_of(std::vector<double> values) {
  constexpr double quartiles_of_normal = 1.3489795003921634;
  column_spread found;
  if (values.empty()) return found;
  sort_values(values);
  found.median = quantile(values, 0.5);
  const double reach = std::max(found.median - values.front(), values.back() - found.median);
  const double size = std::fabs(found.median) > 0.0 ? std::fabs(found.median) : 1.0;
  double moment = 0.0;
  if (reach > 0.0) {
    for (const double x : values) {
      const double share = (x - found.median) / reach;
      moment += share * share / static_cast<double>(values.size());
    }
  }
  const double sd = reach > 0.0 ? reach * std::sqrt(moment) : size;
  const double quartiles = quantile(values, 0.75) - quantile(values, 0.25);
  found.moment = safe_square(sd);
  found.variance = quartiles > 0.0 ? safe_square(quartiles / quartiles_of_normal) : found.moment;
  found.resolution = safe_square(recorded_step(values)) / 12.0;
  return found;
}

/// A spread for each column of a dense table. O(cells).
[[nodiscard]] inline std::vector<column_spread> spreads_of(const table_view& X) {
  std::vector<column_spread> spreads;
  for (index_t j = 0; j < X.columns(); ++j) spreads.push_back(spread_of(observed_values(X, j)));
  return spreads;
}

/// A share of a column's variance for within clusters, but not below what the recording of the
/// values allows to tell.
[[nodiscard]] inline double variance_within(const column_spread& s, double share) noexcept {
  return std::max(share * s.variance, s.resolution);
}

}  // namespace bhclust::detail

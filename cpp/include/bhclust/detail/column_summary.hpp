/// @file
/// What the families' defaults look at: how each column is filled and spread.
#pragma once

#include <bhclust/progress.hpp>
#include <bhclust/types.hpp>

#include <vector>

namespace bhclust::detail {

/// Of the observed cells of a column; all 0 when there are none.
struct column_summary {
  double n = 0.0;
  double mean = 0.0;
  double variance = 0.0;  ///< about the mean, divided by n

  /// The mean with one more cell of the given value: defined for columns without cells, and
  /// strictly inside the range of a family's means when the value is.
  [[nodiscard]] double mean_with(double value) const noexcept {
    return (n * mean + value) / (n + 1.0);
  }

  /// An estimate from n cells as if five more had given `expected`: what a few cells say of a
  /// spread is not to be trusted.
  [[nodiscard]] double shrunk(double estimate, double expected) const noexcept {
    constexpr double weight = 5.0;
    return (n * estimate + weight * expected) / (n + weight);
  }
};

/// Adds up f(value, its column's entry) over the observed stored cells.
template <class F>
void for_each_observed(const table_view& X, std::vector<column_summary>& columns, F&& f) {
  pacer pace;
  for (index_t i = 0; i < X.rows(); ++i) {
    const row_view row = X.row(i);
    pace(4 * row.stored());
    for (index_t k = 0; k < row.stored(); ++k) {
      if (!is_missing(row.value(k)))
        f(row.value(k), columns[static_cast<std::size_t>(row.column(k))]);
    }
  }
}

/// One summary a column; cells that a sparse table does not store are zeros. O(cells).
[[nodiscard]] inline std::vector<column_summary> summarise_columns(const table_view& X) {
  std::vector<column_summary> columns(static_cast<std::size_t>(X.columns()));
  for_each_observed(X, columns, [](double x, column_summary& c) {
    c.n += 1.0;
    c.mean += x;
  });
  for (auto& c : columns) {
    const double stored = c.n;
    if (X.sparse()) c.n = static_cast<double>(X.rows());
    if (c.n > 0.0) c.mean /= c.n;
    c.variance = (c.n - stored) * c.mean * c.mean;
  }
  for_each_observed(X, columns,
                    [](double x, column_summary& c) { c.variance += (x - c.mean) * (x - c.mean); });
  for (auto& c : columns) {
    if (c.n > 0.0) c.variance /= c.n;
  }
  return columns;
}

}  // namespace bhclust::detail

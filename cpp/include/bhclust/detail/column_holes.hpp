/// @file
/// Records of real columns with missing cells, for kernels that score eight clusters at a time.
#pragma once

#include <bhclust/detail/scaled_columns.hpp>
#include <bhclust/detail/simd.hpp>
#include <bhclust/types.hpp>

#include <algorithm>
#include <vector>

namespace bhclust::detail {

/// x where a cell is seen, 0 where it is missing (NaN), lane by lane.
[[nodiscard, gnu::always_inline]] inline lanes where_seen(const lanes& cell,
                                                          const lanes& x) noexcept {
  return chunkwise(
      [&](std::size_t i) { return cell.part[i] == cell.part[i] ? x.part[i] : chunk{}; });
}

/// Row: d cells in units, NaN where missing, and a term of its own. Cluster: such a term, then n
/// and the mean (0 of none) of each column, and what else there is of a column.
struct column_holes {
  index_t d;

  void encode(const scaled_columns& columns, const row_view& row, double* y) const noexcept {
    for (index_t j = 0; j < d; ++j) y[j] = columns(j, row.value(j));
  }

  /// The same with own(cluster) as the row's term: of the record of `fields` numbers that it makes
  /// as a cluster, in which all beside counts and means is 0.
  template <class Own>
  void encode(const scaled_columns& columns, const row_view& row, index_t fields, const Own& own,
              double* y) const {
    std::vector<double> cluster(static_cast<std::size_t>(fields), 0.0);
    encode(columns, row, y);
    y[d] = 0.0;
    lift(y, cluster.data());
    y[d] = own(cluster.data());
  }
  [[nodiscard]] index_t row_fields() const noexcept { return d + 1; }

  /// The counts and means of a row.
  void lift(const double* row, double* cluster) const noexcept {
    cluster[0] = row[d];
    for (index_t j = 0; j < d; ++j) {
      n(cluster)[j] = is_missing(row[j]) ? 0.0 : 1.0;
      mean(cluster)[j] = is_missing(row[j]) ? 0.0 : row[j];
    }
  }

  /// Of b in the union.
  [[nodiscard]] double share(const double* a, const double* b, index_t j) const noexcept {
    return n(b)[j] > 0.0 ? n(b)[j] / (n(a)[j] + n(b)[j]) : 0.0;
  }

  /// The counts and means of a union.
  void merge(const double* a, const double* b, double* made) const noexcept {
    for (index_t j = 0; j < d; ++j) {
      mean(made)[j] = mean(a)[j] + share(a, b, j) * (mean(b)[j] - mean(a)[j]);
      n(made)[j] = n(a)[j] + n(b)[j];
    }
  }

  [[nodiscard]] double* n(double* cluster) const noexcept { return cluster + 1; }
  [[nodiscard]] const double* n(const double* cluster) const noexcept { return cluster + 1; }
  [[nodiscard]] double* mean(double* cluster) const noexcept { return cluster + 1 + d; }
  [[nodiscard]] const double* mean(const double* cluster) const noexcept { return cluster + 1 + d; }
};

}  // namespace bhclust::detail

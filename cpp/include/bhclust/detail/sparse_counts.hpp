/// @file
/// Clusters of sparse rows of counts: the columns that they have counts in.
#pragma once

#include <bhclust/types.hpp>

#include <algorithm>
#include <cstdint>
#include <vector>

namespace bhclust::detail {

/// Sums over rows: of counts, and of ln Γ(count + 1).
struct count_sums {
  double count = 0.0;
  double log_factorials = 0.0;

  [[nodiscard]] friend count_sums operator+(const count_sums& a, const count_sums& b) noexcept {
    return {a.count + b.count, a.log_factorials + b.log_factorials};
  }
};

/// A cluster's sums in one column.
struct count_cell {
  std::uint32_t column;
  count_sums sums;
};

/// The statistics of a cluster: the columns with counts, ascending, and the rows' totals.
struct sparse_counts {
  std::vector<count_cell> cells;
  count_sums total;
};

/// Calls f(column, sums of a, sums of b) for each column that either has counts in, ascending.
/// O(cells).
template <class F>
void for_each_column(const std::vector<count_cell>& a, const std::vector<count_cell>& b, F&& f) {
  auto p = a.begin();
  auto q = b.begin();
  while (p != a.end() && q != b.end()) {
    if (p->column == q->column) {
      f(p->column, p->sums, q->sums);
      ++p, ++q;
    } else if (p->column < q->column) {
      f(p->column, p->sums, count_sums{});
      ++p;
    } else {
      f(q->column, count_sums{}, q->sums);
      ++q;
    }
  }
  for (; p != a.end(); ++p) f(p->column, p->sums, count_sums{});
  for (; q != b.end(); ++q) f(q->column, count_sums{}, q->sums);
}

/// The log marginal likelihood of sums in a column of the model.
template <class Model>
[[nodiscard]] double log_marginal_of(const Model& model, index_t column, const count_sums& sums) {
  const double t[2] = {sums.count, sums.log_factorials};
  return model.column(column).log_marginal(t);
}

[[nodiscard]] inline sparse_counts united(const sparse_counts& a, const sparse_counts& b) {
  sparse_counts made;
  made.cells.reserve(std::max(a.cells.size(), b.cells.size()));
  for_each_column(a.cells, b.cells,
                  [&](std::uint32_t j, const count_sums& of_a, const count_sums& of_b) {
                    made.cells.push_back({j, of_a + of_b});
                  });
  made.total = a.total + b.total;
  return made;
}

}  // namespace bhclust::detail

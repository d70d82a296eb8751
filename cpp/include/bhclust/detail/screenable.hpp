/// @file
/// Which tables searches by bounds take.
#pragma once

#include <bhclust/progress.hpp>
#include <bhclust/types.hpp>

namespace bhclust::detail {

/// Whether every stored cell will do, and the table is not so sparse that the statistics of its
/// rows, `width` doubles each, are much larger than what it stores. O(stored cells).
template <class WillDo>
[[nodiscard]] bool screenable(const table_view& X, index_t width, const WillDo& will_do) {
  constexpr index_t most_times_larger = 32;
  constexpr index_t small = 4000000;
  index_t stored = 0;
  pacer pace;
  for (index_t i = 0; i < X.rows(); ++i) {
    const row_view row = X.row(i);
    stored += row.stored();
    pace(row.stored());
    for (index_t k = 0; k < row.stored(); ++k) {
      if (!will_do(row.value(k))) return false;
    }
  }
  return X.rows() * width <= small + most_times_larger * stored;
}

}  // namespace bhclust::detail

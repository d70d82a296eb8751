/// @file
/// The cheapest of a table's rows by the terms of their levels.
#pragma once

#include <bhclust/detail/coded_table.hpp>
#include <bhclust/detail/distinct_rows.hpp>
#include <bhclust/detail/nibble_sums.hpp>
#include <bhclust/detail/row_bounds.hpp>
#include <bhclust/progress.hpp>
#include <bhclust/types.hpp>

#include <algorithm>
#include <cstdint>

namespace bhclust::detail {

/// Sums the terms of rows: of those that bounds leave open where there are bounds, of all rows
/// otherwise. Refers to what it was made from.
class bounded_row_search {
 public:
  bounded_row_search(const distinct_rows& rows, const row_bounds& bounds, const gain_table& gains,
                     const bound_table& penalties)
      : rows_(rows), bounds_(bounds), gains_(gains), penalties_(penalties) {}

  void operator()(const slot_search& search) const {
    const auto [first, last] = rows_.rows_in(search.begin, search.end);
    if (bounds_.usable()) {
      search_bounded(search, first, last);
    } else {
      search_all(search, first, last);
    }
  }

 private:
  void search_all(const slot_search& search, index_t first, index_t last) const {
    constexpr index_t step = 256;
    double gains[step];
    pacer pace;
    for (; first < last; first += step) {
      const index_t stop = std::min(last, first + step);
      rows_.table().sum(gains_, first, stop, gains);
      pace((stop - first) * work_a_row());
      for (index_t row = first; row < stop; ++row) rows_.take(search, row, gains[row - first]);
    }
  }

  [[nodiscard]] index_t work_a_row() const {
    constexpr index_t a_millisecond = 1000000;
    return a_millisecond / rows_.table().rows_a_pulse() + 1;
  }

  /// Sums of one row after another; terms are made ready for look-up once there are many.
  class row_sums {
   public:
    row_sums(const coded_table& rows, const gain_table& gains) : rows_(rows), gains_(&gains) {}

    [[nodiscard]] double operator()(index_t row) {
      constexpr int many = 32;
      if (!rows_.ready(*gains_) && ++asked_ == many) {
        ready_ = *gains_;
        rows_.end_fill(ready_);
        gains_ = &ready_;
      }
      double sum = 0.0;
      rows_.sum(*gains_, row, row + 1, &sum);
      return sum;
    }

   private:
    const coded_table& rows_;
    const gain_table* gains_;
    gain_table ready_;
    int asked_ = 0;
  };

  /// Penalties of about a thousand rows first. The row of the least is a good one to start from.
  void search_bounded(const slot_search& search, index_t begin, index_t end) const {
    constexpr index_t blocks = 32;
    constexpr index_t step = blocks * nibbles::rows;
    row_sums sums(rows_.table(), gains_);
    std::uint16_t penalty[step];
    pacer pace;
    for (index_t first = begin - begin % nibbles::rows; first < end; first += step) {
      const index_t stop = std::min(end, first + step);
      pace(step / 16 * static_cast<index_t>(penalties_.penalties.size()) / nibbles::entries);
      for (index_t s = first; s < stop; s += nibbles::rows) {
        bounds_.block(penalties_, s / nibbles::rows, penalty + (s - first));
      }
      const index_t count = stop - first;
      if (begin > first) std::fill_n(penalty, begin - first, row_bounds::never);
      std::fill_n(penalty + count, (nibbles::rows - count % nibbles::rows) % nibbles::rows,
                  row_bounds::never);
      take_rows(search, sums, first, count, penalty);
    }
  }

  void take_rows(const slot_search& search, row_sums& sums, index_t first, index_t count,
                 const std::uint16_t* penalty) const {
    const index_t blocks = (count + nibbles::rows - 1) / nibbles::rows;
    std::uint16_t least = row_bounds::never;
    for (index_t i = 0; i < blocks * nibbles::rows; ++i) least = std::min(least, penalty[i]);
    if (least > limit(search)) return;
    const index_t nearest = first + (std::find(penalty, penalty + count, least) - penalty);
    rows_.take(search, nearest, sums(nearest));
    std::uint16_t most = limit(search);
    for (index_t b = 0; b < blocks; ++b, penalty += nibbles::rows, first += nibbles::rows) {
      std::uint32_t open = at_most(penalty, most);
      for (index_t i = 0; open != 0; ++i, open >>= 1U) {
        if ((open & 1U) == 0 || penalty[i] > most) continue;
        rows_.take(search, first + i, sums(first + i));
        most = limit(search);
      }
    }
  }

  [[nodiscard]] std::uint16_t limit(const slot_search& search) const {
    return row_bounds::limit(penalties_, search.offset.row() - search.best.cost);
  }

  const distinct_rows& rows_;
  const row_bounds& bounds_;
  const gain_table& gains_;
  const bound_table& penalties_;
};

}  // namespace bhclust::detail

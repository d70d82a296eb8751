/// @file
/// Rows in boxes, so that a search passes over all rows of a box that cannot hold the best.
#pragma once

#include <bhclust/detail/cluster_store.hpp>
#include <bhclust/detail/lane_table.hpp>
#include <bhclust/detail/simd.hpp>
#include <bhclust/progress.hpp>
#include <bhclust/types.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

namespace bhclust::detail {

/// The least |x| of x between `from` and `to`.
[[nodiscard, gnu::always_inline]] inline lanes least_size(const lanes& from,
                                                          const lanes& to) noexcept {
  return at_least(larger(from, to * -1.0), 0.0);
}

/// Rows of d coordinates and a term of their own, in the order of a k-d tree: every 32 have a box,
/// every eight boxes a box of a higher level, up to the last eight. A box's record: the least of
/// each coordinate, the most of each, the least and the most of the term.
///
/// A kernel that searches in boxes has, beside what lane_store asks for,
///     static constexpr index_t most_coordinates        // beyond which boxes are not tried
///     void aim(query&, const double* reach) const      // makes ready for bounds; reach: the
///                                                      // largest size of each coordinate, the term
///     lanes bounds(const query&, const double* block, double* scratch) const
///                                     // at least the gains of all rows in each of eight boxes, as
///                                     // rows() computes them
class row_boxes {
 public:
  row_boxes(const lane_table& rows, index_t coordinates) : d_(coordinates), rows_(d_ + 1) {
    plant(rows);
  }

  /// The largest size of each coordinate, and of the term.
  [[nodiscard]] const double* reach() const noexcept { return reach_.data(); }

  void retire(index_t slot) noexcept {
    const index_t place = std::exchange(place_[at(slot)], -1);
    if (place < 0) return;
    slot_[at(place)] = -1;
    index_t box = place / rows_a_box;
    for (auto& level : levels_) {
      if (--level.live[at(box)] == 0) level.first[at(box)] = never;
      box /= lanes::count;
    }
  }

  /// Keeps the named rows (ascending slots); `rows` are these. The order is made anew when less than
  /// half of the rows are left since it was.
  void keep(const index_t* kept, index_t n, const lane_table& rows) {
    if (n * 2 < planted_) {
      plant(rows);
      return;
    }
    std::vector<index_t> renamed(place_.size(), -1);
    for (index_t s = 0; s < n; ++s) renamed[at(kept[s])] = s;
    std::vector<index_t> order;
    for (const index_t slot : slot_) {
      if (slot >= 0 && renamed[at(slot)] >= 0) order.push_back(renamed[at(slot)]);
    }
    arrange(order, rows, n);
  }

  /// Takes the best of the rows in slots [begin, end) if it is better than what is known: a row
  /// costs offset - gain. `q` is aimed. Returns how many rows were scored.
  template <class Kernel>
  index_t search(const Kernel& kernel, const typename Kernel::query& q, index_t begin, index_t end,
                 double offset, cheapest& best, double* scratch) const {
    if (levels_.empty()) return 0;
    index_t scored = 0;
    std::array<entry, lanes::count * most_levels> open{};
    index_t n = 0;
    const auto look_into = [&](index_t level, index_t block) {
      const auto& boxes = levels_[at(level)];
      const index_t first = block * lanes::count;
      const index_t count = std::min(lanes::count, boxes.table.size() - first);
      std::array<double, lanes::count> cost{};
      (lanes::all(offset) - kernel.bounds(q, boxes.table.block(block), scratch)).store(cost.data());
      const index_t from = n;
      for (index_t i = 0; i < count; ++i) {
        const entry found{cost[at(i)], level, first + i};
        if (boxes.first[at(found.box)] >= end || found.cost > best.cost) continue;
        index_t to = n++;
        for (; to > from && open[at(to - 1)].cost < found.cost; --to) open[at(to)] = open[at(to - 1)];
        open[at(to)] = found;
      }
    };
    look_into(static_cast<index_t>(levels_.size()) - 1, 0);
    while (n > 0) {
      const entry next = open[at(--n)];
      if (next.cost > best.cost) continue;
      if (next.level > 0) {
        look_into(next.level - 1, next.box);
      } else {
        scored += scan(kernel, q, next.box, begin, end, offset, best, scratch);
      }
    }
    return scored;
  }

 private:
  static constexpr index_t rows_a_box = 32;
  static constexpr index_t most_levels = 24;
  static constexpr index_t never = std::numeric_limits<index_t>::max();

  struct entry {
    double cost;
    index_t level, box;
  };

  /// Boxes, how many of their rows live, and the first slot of these.
  struct boxes_of_level {
    lane_table table;
    std::vector<index_t> live, first;
  };

  [[nodiscard]] static std::size_t at(index_t i) noexcept { return static_cast<std::size_t>(i); }

  template <class Kernel>
  index_t scan(const Kernel& kernel, const typename Kernel::query& q, index_t box, index_t begin,
               index_t end, double offset, cheapest& best, double* scratch) const {
    const index_t first = box * rows_a_box;
    const index_t last = std::min(first + rows_a_box, rows_.size());
    for (index_t place = first; place < last; place += lanes::count) {
      std::array<double, lanes::count> cost{};
      (lanes::all(offset) - kernel.rows(q, rows_.block(place / lanes::count), scratch))
          .store(cost.data());
      bool any = false;
      for (const double c : cost) any |= c <= best.cost;
      if (!any) continue;
      for (index_t i = 0; i < std::min(lanes::count, last - place); ++i) {
        const index_t slot = slot_[at(place + i)];
        if (slot >= begin && slot < end) best.take(cost[at(i)], slot);
      }
    }
    return last - first;
  }

  void plant(const lane_table& rows) {
    std::vector<index_t> order(at(rows.size()));
    for (index_t s = 0; s < rows.size(); ++s) order[at(s)] = s;
    sort_into_boxes(order, rows);
    arrange(order, rows, rows.size());
    planted_ = rows.size();
  }

  /// Splits where the rows spread the most. Halves are powers of two of boxes, so that the eight
  /// children of a box are neighbours.
  void sort_into_boxes(std::vector<index_t>& order, const lane_table& rows) const {
    std::vector<std::pair<index_t, index_t>> parts{{0, rows.size()}};
    std::vector<std::pair<double, index_t>> keys;
    pacer pace;
    while (!parts.empty()) {
      const auto [begin, end] = parts.back();
      parts.pop_back();
      if (end - begin <= rows_a_box) continue;
      pace((end - begin) * (d_ + 16));
      index_t half = rows_a_box;
      while (2 * half < end - begin) half *= 2;
      const index_t j = widest(order.data() + begin, end - begin, rows);
      keys.clear();
      for (index_t i = begin; i < end; ++i) {
        keys.emplace_back(value(rows, order[at(i)], j), order[at(i)]);
      }
      std::nth_element(keys.begin(), keys.begin() + half, keys.end());
      for (index_t i = begin; i < end; ++i) order[at(i)] = keys[at(i - begin)].second;
      parts.emplace_back(begin, begin + half);
      parts.emplace_back(begin + half, end);
    }
  }

  [[nodiscard]] static double value(const lane_table& rows, index_t i, index_t j) noexcept {
    return rows.block(i / lanes::count)[j * lanes::count + i % lanes::count];
  }

  [[nodiscard]] index_t widest(const index_t* of, index_t n, const lane_table& rows) const {
    index_t found = 0;
    double most = -1.0;
    for (index_t j = 0; j < d_; ++j) {
      double low = value(rows, of[0], j);
      double high = low;
      for (index_t i = 1; i < n; ++i) {
        const double x = value(rows, of[i], j);
        low = std::min(low, x);
        high = std::max(high, x);
      }
      if (high - low > most) {
        most = high - low;
        found = j;
      }
    }
    return found;
  }

  /// Puts rows into the order, and boxes about them.
  void arrange(const std::vector<index_t>& order, const lane_table& rows, index_t slots) {
    std::vector<double> record(at(d_ + 1));
    rows_ = lane_table(d_ + 1);
    rows_.reserve(static_cast<index_t>(order.size()));
    place_.assign(at(slots), -1);
    slot_ = order;
    for (index_t place = 0; place < static_cast<index_t>(order.size()); ++place) {
      rows.copy(order[at(place)], record.data());
      rows_.append(record.data());
      place_[at(order[at(place)])] = place;
    }
    levels_.clear();
    if (order.empty()) return;
    add_leaves();
    while (levels_.back().table.size() > lanes::count) add_level();
    measure_reach();
  }

  void add_leaves() {
    std::vector<double> row(at(d_ + 1));
    boxes_of_level leaves{lane_table(box_fields()), {}, {}};
    for (index_t begin = 0; begin < rows_.size(); begin += rows_a_box) {
      const index_t end = std::min(begin + rows_a_box, rows_.size());
      std::vector<double> box = nothing();
      index_t first = never;
      for (index_t place = begin; place < end; ++place) {
        rows_.copy(place, row.data());
        for (index_t j = 0; j <= d_; ++j) widen(box, j, row[at(j)], row[at(j)]);
        first = std::min(first, slot_[at(place)]);
      }
      leaves.table.append(box.data());
      leaves.live.push_back(end - begin);
      leaves.first.push_back(first);
    }
    levels_.push_back(std::move(leaves));
  }

  void add_level() {
    std::vector<double> child(at(box_fields()));
    boxes_of_level above{lane_table(box_fields()), {}, {}};
    const auto& below = levels_.back();
    for (index_t begin = 0; begin < below.table.size(); begin += lanes::count) {
      std::vector<double> box = nothing();
      index_t first = never;
      index_t live = 0;
      for (index_t i = begin; i < std::min(begin + lanes::count, below.table.size()); ++i) {
        below.table.copy(i, child.data());
        for (index_t j = 0; j <= d_; ++j) widen(box, j, child[at(low(j))], child[at(high(j))]);
        first = std::min(first, below.first[at(i)]);
        live += below.live[at(i)];
      }
      above.table.append(box.data());
      above.live.push_back(live);
      above.first.push_back(first);
    }
    levels_.push_back(std::move(above));
  }

  [[nodiscard]] index_t box_fields() const noexcept { return 2 * d_ + 2; }
  [[nodiscard]] index_t low(index_t j) const noexcept { return j < d_ ? j : 2 * d_; }
  [[nodiscard]] index_t high(index_t j) const noexcept { return j < d_ ? d_ + j : 2 * d_ + 1; }

  [[nodiscard]] std::vector<double> nothing() const {
    std::vector<double> box(at(box_fields()));
    for (index_t j = 0; j <= d_; ++j) {
      box[at(low(j))] = std::numeric_limits<double>::infinity();
      box[at(high(j))] = -std::numeric_limits<double>::infinity();
    }
    return box;
  }

  void widen(std::vector<double>& box, index_t j, double least, double most) const noexcept {
    box[at(low(j))] = std::min(box[at(low(j))], least);
    box[at(high(j))] = std::max(box[at(high(j))], most);
  }

  void measure_reach() {
    std::vector<double> box(at(box_fields()));
    reach_.assign(at(d_ + 1), 0.0);
    const auto& top = levels_.back().table;
    for (index_t i = 0; i < top.size(); ++i) {
      top.copy(i, box.data());
      for (index_t j = 0; j <= d_; ++j) {
        const double size = std::max(std::fabs(box[at(low(j))]), std::fabs(box[at(high(j))]));
        reach_[at(j)] = std::max(reach_[at(j)], size);
      }
    }
  }

  index_t d_;
  index_t planted_ = 0;
  lane_table rows_;
  std::vector<index_t> slot_;   ///< of each place in the order; -1: retired
  std::vector<index_t> place_;  ///< of each slot; -1: retired
  std::vector<boxes_of_level> levels_;
  std::vector<double> reach_;
};

}  // namespace bhclust::detail

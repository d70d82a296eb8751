/// @file
/// Rows in boxes, so that a search passes over all rows of a box that cannot hold the best.
#pragma once

#include <bhclust/detail/cluster_store.hpp>
#include <bhclust/detail/lane_table.hpp>
#include <bhclust/detail/rows_of_blocks.hpp>
#include <bhclust/detail/simd.hpp>
#include <bhclust/detail/small_buffer.hpp>
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

/// A box about rows, eight of which make a block of a kernel's bounds. Each row y in it has its own
/// term, as rows() adds it to a gain, of at most `most`, and of at most lift + slope · (y -
/// middle).
struct box_fields {
  index_t d;

  [[nodiscard]] index_t low(index_t j) const noexcept { return j; }
  [[nodiscard]] index_t high(index_t j) const noexcept { return d + j; }
  [[nodiscard]] index_t slope(index_t j) const noexcept { return 2 * d + j; }
  [[nodiscard]] index_t lift() const noexcept { return 3 * d; }
  [[nodiscard]] index_t most() const noexcept { return 3 * d + 1; }
  [[nodiscard]] index_t count() const noexcept { return 3 * d + 2; }
};

/// Rows of d coordinates and a term of their own, in the order of a k-d tree: every 32 have a box,
/// every eight boxes a box of a higher level, up to the last eight.
///
/// A kernel that searches in boxes has, beside what lane_store asks for,
///     static constexpr index_t most_coordinates        // beyond which boxes are not tried
///     double own(const double* row) const              // the row's own term in gains
///     void slope(const double* y, double* g) const     // of that at y; any will do, if not large
///     void aim(query&, const double* reach) const      // makes ready for bounds; reach: the
///                                                      // largest size of each coordinate, the
///                                                      // term
///     lanes bounds(const query&, const double* block, double* scratch) const
///                                     // at least the gains of all rows in each of eight boxes, as
///                                     // rows() computes them
class row_boxes {
 public:
  template <class Kernel>
  row_boxes(const Kernel& kernel, const lane_table& rows)
      : d_(rows.fields() - 1), rows_(rows.fields()) {
    plant(kernel, rows);
  }

  /// The largest size of each coordinate, and of the term.
  [[nodiscard]] const double* reach() const noexcept { return reach_.data(); }

  template <class Kernel>
  void retire(const Kernel& kernel, index_t slot) {
    const index_t place = std::exchange(place_[at(slot)], -1);
    if (place < 0) return;
    slot_[at(place)] = -1;
    gone_[at(place)] = infinite;
    index_t box = place / rows_a_box;
    for (auto& level : levels_) {
      if (--level.live[at(box)] == 0) level.first[at(box)] = never;
      box /= lanes::count;
    }
    draw_in(kernel, place);
  }

  /// Keeps the named rows (ascending slots); `rows` are these. The order is made anew when less
  /// than half of the rows are left since it was.
  template <class Kernel>
  void keep(const Kernel& kernel, const index_t* kept, index_t n, const lane_table& rows) {
    if (n * 2 < planted_) {
      plant(kernel, rows);
      return;
    }
    std::vector<index_t> renamed(place_.size(), -1);
    for (index_t s = 0; s < n; ++s) renamed[at(kept[s])] = s;
    std::vector<index_t> order;
    for (const index_t slot : slot_) {
      if (slot >= 0 && renamed[at(slot)] >= 0) order.push_back(renamed[at(slot)]);
    }
    arrange(kernel, order, rows, n);
  }

  /// Takes the best of the rows in slots [begin, end) if it is better than what is known: a row
  /// costs offset - gain. `q` is aimed. Returns how many rows were scored.
  template <class Kernel>
  index_t search(const Kernel& kernel, const typename Kernel::query& q, index_t begin, index_t end,
                 double offset, cheapest& best, double* scratch) const {
    if (levels_.empty()) return 0;
    index_t scored = 0;
    entry open[lanes::count * most_levels];
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
        for (; to > from && open[to - 1].cost < found.cost; --to) open[to] = open[to - 1];
        open[to] = found;
      }
    };
    look_into(static_cast<index_t>(levels_.size()) - 1, 0);
    while (n > 0) {
      const entry next = open[--n];
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
  static constexpr double infinite = std::numeric_limits<double>::infinity();
  static constexpr double rounding = 1e-14;

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
  [[nodiscard]] static index_t blocks_for(index_t rows) noexcept {
    return (rows + lanes::count - 1) / lanes::count;
  }

  template <class Kernel>
  index_t scan(const Kernel& kernel, const typename Kernel::query& q, index_t box, index_t begin,
               index_t end, double offset, cheapest& best, double* scratch) const {
    const index_t first = box * rows_a_box;
    const index_t last = std::min(first + rows_a_box, rows_.size());
    double gain[rows_a_box];
    rows_of_blocks(kernel, q, rows_.block(first / lanes::count), blocks_for(last - first), scratch,
                   gain);
    for (index_t place = first; place < last; place += lanes::count) {
      const lanes eight = lanes::all(offset) - lanes::load(gain + (place - first));
      if (bits_at_most(eight, lanes::all(best.cost)) == 0) continue;
      double cost[lanes::count];
      eight.store(cost);
      for (index_t i = 0; i < std::min(lanes::count, last - place); ++i) {
        const index_t slot = slot_[at(place + i)];
        if (slot >= begin && slot < end) best.take(cost[i], slot);
      }
    }
    return last - first;
  }

  template <class Kernel>
  void plant(const Kernel& kernel, const lane_table& rows) {
    std::vector<index_t> order(at(rows.size()));
    for (index_t s = 0; s < rows.size(); ++s) order[at(s)] = s;
    sort_into_boxes(order, rows);
    arrange(kernel, order, rows, rows.size());
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
  template <class Kernel>
  void arrange(const Kernel& kernel, const std::vector<index_t>& order, const lane_table& rows,
               index_t slots) {
    std::vector<double> record(at(d_ + 1));
    rows_ = lane_table(d_ + 1);
    rows_.reserve(static_cast<index_t>(order.size()));
    place_.assign(at(slots), -1);
    slot_ = order;
    const auto count = static_cast<index_t>(order.size());
    own_.assign(at(blocks_for(count) * lanes::count), 0.0);
    gone_.assign(own_.size(), infinite);
    for (index_t place = 0; place < count; ++place) {
      rows.copy(order[at(place)], record.data());
      rows_.append(record.data());
      place_[at(order[at(place)])] = place;
      own_[at(place)] = kernel.own(record.data());
      gone_[at(place)] = 0.0;
    }
    levels_.clear();
    index_t width = rows_a_box;
    do {
      levels_.push_back(boxes_of(kernel, width));
      width *= lanes::count;
    } while (levels_.back().table.size() > lanes::count);
    measure_reach();
  }

  /// Boxes of `width` rows each.
  template <class Kernel>
  [[nodiscard]] boxes_of_level boxes_of(const Kernel& kernel, index_t width) const {
    boxes_of_level level{lane_table(fields().count()), {}, {}};
    std::vector<double> box(at(fields().count()));
    pacer pace;
    for (index_t begin = 0; begin < rows_.size(); begin += width) {
      const index_t end = std::min(begin + width, rows_.size());
      pace((end - begin) * 4 * d_);
      box_about(kernel, begin, end, box.data());
      level.table.append(box.data());
      level.live.push_back(end - begin);
      level.first.push_back(*std::min_element(slot_.begin() + begin, slot_.begin() + end));
    }
    return level;
  }

  template <class Kernel>
  void box_about(const Kernel& kernel, index_t begin, index_t end, double* box) const {
    constexpr index_t w = lanes::count;
    const box_fields field = fields();
    const index_t first = begin / w;
    const index_t last = blocks_for(end);
    small_buffer buffer(d_);
    double* middle = buffer.data();
    for (index_t j = 0; j < d_; ++j) {
      lanes low = lanes::all(infinite);
      lanes high = lanes::all(infinite);  // with the sign turned, as what follows
      for (index_t b = first; b < last; ++b) {
        const lanes x = lanes::load(rows_.block(b) + j * w);
        const lanes gone = lanes::load(gone_.data() + b * w);
        low = smaller(low, gone + x);
        high = smaller(high, gone - x);
      }
      box[field.low(j)] = smallest(low);
      box[field.high(j)] = -smallest(high);
      middle[j] = (box[field.high(j)] + box[field.low(j)]) * 0.5;
    }
    kernel.slope(middle, box + field.slope(0));
    cover(begin, end, middle, box);
  }

  /// The terms of a box with these edges' middle and slopes.
  void cover(index_t begin, index_t end, const double* middle, double* box) const {
    constexpr index_t w = lanes::count;
    const box_fields field = fields();
    const double* slope = box + field.slope(0);
    lanes lift = lanes::all(infinite);
    lanes most = lift;
    lanes size = lift;
    for (index_t b = begin / w; b < blocks_for(end); ++b) {
      const lanes own = lanes::load(own_.data() + b * w);
      const lanes gone = lanes::load(gone_.data() + b * w);
      lanes rise = lanes::all(0.0);
      lanes terms = size_of(own);
      for (index_t j = 0; j < d_; ++j) {
        const lanes step = (lanes::load(rows_.block(b) + j * w) - middle[j]) * slope[j];
        rise = rise + step;
        terms = terms + size_of(step);
      }
      lift = smaller(lift, gone + (rise - own));
      most = smaller(most, gone - own);
      size = smaller(size, gone - terms);
    }
    box[field.lift()] = rounding * -smallest(size) - smallest(lift);
    box[field.most()] = -smallest(most);
  }

  void measure_reach() {
    reach_.assign(at(d_ + 1), 0.0);
    for (index_t place = 0; place < rows_.size(); ++place) {
      for (index_t j = 0; j < d_; ++j) {
        reach_[at(j)] = std::max(reach_[at(j)], std::fabs(value(rows_, place, j)));
      }
      reach_.back() = std::max(reach_.back(), std::fabs(own_[at(place)]));
    }
  }

  /// Smaller boxes about what is left, where the row in `place` was at the edge of its own.
  template <class Kernel>
  void draw_in(const Kernel& kernel, index_t place) {
    const box_fields field = fields();
    auto& leaves = levels_.front();
    index_t box = place / rows_a_box;
    if (leaves.live[at(box)] == 0) return;
    bool at_edge = false;
    for (index_t j = 0; j < d_; ++j) {
      const double x = value(rows_, place, j);
      at_edge |= x == value(leaves.table, box, field.low(j));
      at_edge |= x == value(leaves.table, box, field.high(j));
    }
    if (!at_edge) return;
    const index_t begin = box * rows_a_box;
    small_buffer drawn(field.count());
    box_about(kernel, begin, std::min(begin + rows_a_box, rows_.size()), drawn.data());
    leaves.table.put(box, drawn.data());
    for (std::size_t level = 1; level < levels_.size(); ++level) {
      box /= lanes::count;
      if (!draw_in_about_children(level, box)) return;
    }
  }

  /// Whether anything has changed.
  bool draw_in_about_children(std::size_t level, index_t box) {
    const box_fields field = fields();
    const auto& children = levels_[level - 1];
    auto& table = levels_[level].table;
    small_buffer record(field.count());
    double* of = record.data();
    table.copy(box, of);
    const double* eight = children.table.block(box);
    const lanes gone = gone_children(children, box);
    bool changed = false;
    double shift = 0.0;
    double size = std::fabs(of[field.lift()]);
    for (index_t j = 0; j < d_; ++j) {
      const double low = smallest(gone + lanes::load(eight + field.low(j) * lanes::count));
      const double high = -smallest(gone - lanes::load(eight + field.high(j) * lanes::count));
      double& old_low = of[field.low(j)];
      double& old_high = of[field.high(j)];
      if (low == old_low && high == old_high) continue;
      const double step = of[field.slope(j)] * ((high + low) * 0.5 - (old_high + old_low) * 0.5);
      changed = true;
      shift += step;
      size += std::fabs(step);
      old_low = low;
      old_high = high;
    }
    if (!changed) return false;
    of[field.lift()] += shift + rounding * size;
    table.put(box, of);
    return true;
  }

  /// As gone_, of the boxes that are children of one.
  [[nodiscard]] static lanes gone_children(const boxes_of_level& children, index_t box) {
    double gone[lanes::count];
    for (index_t i = 0; i < lanes::count; ++i) {
      const index_t child = box * lanes::count + i;
      const bool lives = child < children.table.size() && children.live[at(child)] > 0;
      gone[i] = lives ? 0.0 : infinite;
    }
    return lanes::load(gone);
  }

  [[nodiscard]] box_fields fields() const noexcept { return {d_}; }

  index_t d_;
  index_t planted_ = 0;
  lane_table rows_;
  std::vector<double> own_;     ///< of each place in the order, as the next; filled up to blocks
  std::vector<double> gone_;    ///< 0, +inf if retired or none: drops out of the least of sums
  std::vector<index_t> slot_;   ///< -1: retired
  std::vector<index_t> place_;  ///< of each slot; -1: retired
  std::vector<boxes_of_level> levels_;
  std::vector<double> reach_;
};

}  // namespace bhclust::detail

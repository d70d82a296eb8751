/// @file
/// A store of divergences that searches by bounds.
#pragma once

#include <bhclust/detail/boxed_records.hpp>
#include <bhclust/detail/cluster_store.hpp>
#include <bhclust/detail/lane_table.hpp>
#include <bhclust/detail/score.hpp>
#include <bhclust/detail/screened_search.hpp>
#include <bhclust/detail/simd.hpp>
#include <bhclust/detail/store_or.hpp>
#include <bhclust/progress.hpp>
#include <bhclust/types.hpp>

#include <algorithm>
#include <limits>
#include <type_traits>
#include <utility>
#include <vector>

namespace bhclust::detail {

/// The plain store, and beside it a lane table for a screen's records:
///     Screen(const Model&, const table_view&)
///     static bool takes(const Model&, const table_view&)
///     index_t fields() const, scratch() const          // in doubles
///     void encode(const double* statistics, double* record) const
///     struct query
///     void load(query&, const double* record) const
///     lanes bounds(const query&, const double* block, double* scratch) const
///                                     // at most the divergences as the model computes them
///     lanes tighter(const query&, const double* block, double* scratch) const
///                                     // [none]: likewise
///     static constexpr index_t point  // [none]: records from this field on are points; with it
///     static const double* point_of(const query&)
///     lanes near(const query&, const double* block, const float* points, double limit) const
///                                     // [none]: as bounds, with points in single precision; what
///                                     // is above the limit need be no better
///     lanes far(const query&, const lanes& square, const lanes& weight, const lanes& rounding)
///         const                       // the bound of a weight at a distance: the less the weight,
///                                     // the less the bound
/// Answers are the plain store's to the last bit.
template <class Model, class Screen>
class screened_store {
  using plain = cluster_store<Model, relaxed_score>;

 public:
  struct query {
    typename plain::query exact;
    typename Screen::query screen;
    index_t own = -1;
  };

  screened_store(const Model& model, const table_view& X)
      : exact_(model, X),
        screen_(model, X),
        records_(make_records(screen_.fields())),
        offsets_(X.rows()) {
    pacer pace;
    for (index_t s = 0; s < slots(); ++s) {
      pace(work_a_record());
      append(s);
    }
    if constexpr (has<point_t, Screen>) {
      std::vector<index_t> all;
      for (index_t s = 0; s < slots(); ++s) all.push_back(s);
      records_.keep(all);
    }
  }

  [[nodiscard]] static bool takes(const Model& model, const table_view& X) {
    return Screen::takes(model, X);
  }
  [[nodiscard]] static bool searches() noexcept { return true; }
  [[nodiscard]] index_t slots() const noexcept { return exact_.slots(); }

  void load(query& q, index_t slot) const {
    exact_.load(q.exact, slot);
    std::vector<double> record(static_cast<std::size_t>(records_.fields()));
    table().copy(place(slot), record.data());
    screen_.load(q.screen, record.data());
    q.own = slot;
  }

  void row(const query& q, index_t begin, index_t end, double* out) const {
    exact_.row(q.exact, begin, end, out);
  }

  void search(const query& q, index_t begin, index_t end, const cost_offsets& offset,
              cheapest& best) const {
    std::vector<double> scratch(room());
    const auto raise = [&](cheapest* of, index_t n) { tighten(q, offset, of, n, scratch.data()); };
    const auto take = [&](index_t s) {
      best.take(offset(s) - exact_.gain(q.exact, s, scratch.data()), s);
    };
    screened_search search(best, raise, take);
    if (in_order()) {
      sweep(q, begin, end, offset, search, scratch.data());
    } else if constexpr (has<point_t, Screen>) {
      search_panels(q, begin, end, offset, search);
    }
    std::move(search).finish();
  }

  void retire(index_t slot) { offsets_.retire(slot); }

  [[nodiscard]] static bool bounds_costs() noexcept { return true; }

  void bounds(const query& q, index_t begin, index_t end, double* out) const {
    std::vector<double> scratch(room());
    if (in_order()) {
      bounds_of_places(q, begin, end, out, scratch.data(), infinite);
      return;
    }
    if constexpr (has<point_t, Screen>) {
      double some[boxed_records::panel];
      for (index_t p = 0; p < records_.panels(); ++p) {
        const index_t n = panel_bounds(q, p, some, infinite);
        for (index_t i = 0; i < n; ++i) {
          const index_t s = records_.slot(p * boxed_records::panel + i);
          if (begin <= s && s < end) out[s - begin] = some[i];
        }
      }
    }
  }

  index_t merge(index_t a, index_t b) {
    const index_t made = exact_.merge(a, b);
    append(made);
    offsets_.append();
    return made;
  }

  void keep(const std::vector<index_t>& kept) {
    exact_.keep(kept);
    offsets_.keep(kept);
    if constexpr (has<point_t, Screen>) {
      records_.keep(kept);
    } else {
      records_.keep(kept.data(), static_cast<index_t>(kept.size()));
    }
  }

 private:
  static constexpr double infinite = std::numeric_limits<double>::infinity();

  template <class S>
  using tighter_t = decltype(&S::tighter);
  template <class S>
  using near_t = decltype(&S::near);
  template <class S>
  using point_t = decltype(S::point);
  using record_table = std::conditional_t<has<point_t, Screen>, boxed_records, lane_table>;

  [[nodiscard]] static record_table make_records(index_t fields) {
    if constexpr (has<point_t, Screen>) {
      return {fields, Screen::point, has<near_t, Screen>};
    } else {
      return lane_table(fields);
    }
  }
  [[nodiscard]] const lane_table& table() const noexcept {
    if constexpr (has<point_t, Screen>) {
      return records_.records();
    } else {
      return records_;
    }
  }
  [[nodiscard]] bool in_order() const noexcept {
    if constexpr (has<point_t, Screen>) {
      return records_.in_order();
    } else {
      return true;
    }
  }
  [[nodiscard]] index_t place(index_t slot) const noexcept {
    if constexpr (has<point_t, Screen>) {
      return records_.place(slot);
    } else {
      return slot;
    }
  }

  [[nodiscard]] index_t work_a_record() const noexcept {
    return 8 * records_.fields() * records_.fields();
  }

  void append(index_t slot) {
    std::vector<double> record(static_cast<std::size_t>(records_.fields()));
    screen_.encode(exact_.statistics(slot), record.data());
    records_.append(record.data());
  }

  [[nodiscard]] std::size_t room() const noexcept {
    const index_t tightening = screen_.scratch() + lanes::count * records_.fields();
    return static_cast<std::size_t>(std::max(tightening, exact_.width()));
  }

  template <class Search>
  void sweep(const query& q, index_t begin, index_t end, const cost_offsets& offset, Search& search,
             double* scratch) const {
    constexpr index_t step = 256;
    double some[step];
    for (; begin < end; begin = std::min(end, begin - begin % step + step)) {
      const index_t stop = std::min(end, begin - begin % step + step);
      bounds_of_places(q, begin, stop, some, scratch, search.limit() - offset.row());
      offsets_.add(q.own, begin, stop, offset, some);
      search.offer(some, stop - begin, [begin](index_t i) { return begin + i; });
    }
  }

  /// Costs are never below 0, nor need bounds be.
  void bounds_of_places(const query& q, index_t begin, index_t end, double* out, double* scratch,
                        double limit) const {
    constexpr index_t width = lanes::count;
    const index_t first = begin / width * width;
    const auto part = [&](index_t b, index_t from, index_t to) {
      double eight[width];
      bounds_of_block(q, b, scratch, limit).store(eight);
      return std::copy(eight + from, eight + to, out);
    };
    if (first < begin) {
      const index_t stop = std::min(end, first + width);
      out = part(first / width, begin - first, stop - first);
      begin = stop;
    }
    pacer pace;
    for (; begin + width <= end; begin += width, out += width) {
      pace(work_a_record());
      bounds_of_block(q, begin / width, scratch, limit).store(out);
    }
    if (begin < end) part(begin / width, 0, end - begin);
  }

  [[nodiscard]] lanes bounds_of_block(const query& q, index_t b, double* scratch,
                                      double limit) const {
    if constexpr (has<near_t, Screen>) {
      if (records_.sketched()) {
        const float* points = records_.sketches().block(b);
        return at_least(screen_.near(q.screen, table().block(b), points, limit), 0.0);
      }
    }
    return at_least(screen_.bounds(q.screen, table().block(b), scratch), 0.0);
  }

  index_t panel_bounds(const query& q, index_t p, double* out, double limit) const {
    const index_t begin = p * boxed_records::panel;
    const index_t end = std::min(records_.size(), begin + boxed_records::panel);
    bounds_of_places(q, begin, end, out, nullptr, limit);
    return end - begin;
  }

  /// Panels by the bounds of their boxes, the nearest first, where one offset is all there is.
  template <class Search>
  void search_panels(const query& q, index_t begin, index_t end, const cost_offsets& offset,
                     Search& search) const {
    std::vector<cheapest> order;
    if (!offset.same()) {
      for (index_t p = 0; p < records_.panels(); ++p) {
        offer_panel(q, p, begin, end, offset, search);
      }
      return;
    }
    const auto far = panel_distances(q, offset.row());
    const auto nearest = std::min_element(far.begin(), far.begin() + records_.panels());
    const auto start = static_cast<index_t>(nearest - far.begin());
    offer_panel(q, start, begin, end, offset, search);
    for (index_t p = 0; p < records_.panels(); ++p) {
      const double least = far[static_cast<std::size_t>(p)];
      if (p != start && search.may_hold(least, records_.first_slot(p))) order.push_back({least, p});
    }
    std::sort(order.begin(), order.end(),
              [](const auto& a, const auto& b) { return b.gives_way_to(a.cost, a.slot); });
    for (const auto& [least, p] : order) {
      if (search.may_hold(least, records_.first_slot(p))) {
        offer_panel(q, p, begin, end, offset, search);
      }
    }
  }

  /// Bounds on the costs with all that is in each panel.
  [[nodiscard]] std::vector<double> panel_distances(const query& q, double offset) const {
    const index_t blocks = (records_.panels() + lanes::count - 1) / lanes::count;
    std::vector<double> far(static_cast<std::size_t>(blocks * lanes::count));
    for (index_t b = 0; b < blocks; ++b) {
      (box_bounds(q, records_.boxes().block(b)) + offset).store(far.data() + b * lanes::count);
    }
    return far;
  }

  template <class Search>
  void offer_panel(const query& q, index_t p, index_t begin, index_t end,
                   const cost_offsets& offset, Search& search) const {
    double some[boxed_records::panel];
    index_t slots_of[boxed_records::panel];
    const index_t n = panel_bounds(q, p, some, search.limit() - offset.row());
    index_t kept = 0;
    for (index_t i = 0; i < n; ++i) {
      const index_t s = records_.slot(p * boxed_records::panel + i);
      if (s < begin || s >= end) continue;
      some[kept] = some[i] + offsets_.of(q.own, s, offset);
      slots_of[kept++] = s;
    }
    search.offer(some, kept, [&](index_t i) { return slots_of[i]; });
  }

  /// Bounds on the costs with all that is in each of eight boxes.
  [[nodiscard]] lanes box_bounds(const query& q, const double* boxes) const noexcept {
    constexpr index_t width = lanes::count;
    const double* at = Screen::point_of(q.screen);
    lanes square = lanes::all(0.0);
    for (index_t j = 0; j < records_.fields() - Screen::point; ++j) {
      const lanes below = lanes::load(boxes + (2 + 2 * j) * width) - at[j];
      const lanes above = lanes::all(at[j]) - lanes::load(boxes + (3 + 2 * j) * width);
      const lanes outside = at_least(larger(below, above), 0.0);
      square = square + outside * outside;
    }
    return at_least(screen_.far(q.screen, square, lanes::load(boxes), lanes::load(boxes + width)),
                    0.0);
  }

  void tighten(const query& q, const cost_offsets& offset, cheapest* of, index_t n,
               double* scratch) const {
    if constexpr (has<tighter_t, Screen>) {
      constexpr index_t too_few = 2;
      if (n < too_few) return;
      double* block = scratch + screen_.scratch();
      for (index_t l = 0; l < lanes::count; ++l) {
        table().copy_lane(place(of[std::min(l, n - 1)].slot), block + l);
      }
      double raised[lanes::count];
      screen_.tighter(q.screen, block, scratch).store(raised);
      for (index_t i = 0; i < n; ++i) {
        of[i].cost = std::max(of[i].cost, raised[i] + offset(of[i].slot));
      }
    }
  }

  plain exact_;
  Screen screen_;
  record_table records_;
  slot_offsets offsets_;
};

/// A search by a screen for divergences, the plain store for other scores.
template <class Model, class Screen, class Score, class Plain>
using store_of_screen = std::conditional_t<Score::kind == score_kind::relaxed,
                                           store_or<screened_store<Model, Screen>, Plain>, Plain>;

}  // namespace bhclust::detail

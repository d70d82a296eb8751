/// @file
/// A store of divergences that searches by bounds.
#pragma once

#include <bhclust/detail/boxed_records.hpp>
#include <bhclust/detail/cluster_store.hpp>
#include <bhclust/detail/lane_store.hpp>
#include <bhclust/detail/score.hpp>
#include <bhclust/detail/screened_search.hpp>
#include <bhclust/detail/simd.hpp>
#include <bhclust/progress.hpp>
#include <bhclust/types.hpp>

#include <algorithm>
#include <type_traits>
#include <utility>
#include <variant>
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
///     lanes far(const query&, const lanes& square, const lanes& weight, const lanes& rounding)
///     const static constexpr index_t point                  // [none]: the records from this field
///     on are
///                                     // points; the bound of a weight at a distance, the less the
///                                     // less the weight
///     lanes tighter(const query&, const double* block, double* scratch) const  // [none], likewise
/// Answers are the plain store's to the last bit.
template <class Model, class Screen>
class screened_store {
  using plain = cluster_store<Model, relaxed_score>;

 public:
  struct query {
    typename plain::query exact;
    typename Screen::query screen;
    search_space space;
    std::vector<slot_cost> panels;
    std::vector<double> scratch;
  };

  screened_store(const Model& model, const table_view& X)
      : exact_(model, X), screen_(model, X), records_(make_records(screen_.fields())) {
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
    const index_t room = screen_.scratch() + lanes::count * records_.fields();
    q.scratch.resize(static_cast<std::size_t>(room + exact_.width()));
  }

  void row(const query& q, index_t begin, index_t end, double* out) const {
    exact_.row(q.exact, begin, end, out);
  }

  void bounds(const query& q, index_t end, double* out) const {
    std::vector<double> scratch(q.scratch.size());
    bounds(q, end, out, scratch.data());
  }

  [[nodiscard]] slot_cost nearest(query& q, index_t end, const double* penalty) const {
    double* scratch = q.scratch.data();
    const auto raise = [&](slot_cost* of, index_t n) { tighten(q, of, n, scratch); };
    const auto cost = [&](index_t s) { return -exact_.gain(q.exact, s, scratch); };
    screened_search search(q.space, penalty, raise, cost);
    if (in_order()) {
      q.space.bounds.resize(static_cast<std::size_t>(end));
      bounds_of_places(q, 0, end, q.space.bounds.data(), scratch);
      search.offer(q.space.bounds.data(), end, [](index_t i) { return i; });
    } else if constexpr (has<point_t, Screen>) {
      search_panels(q, end, search);
    }
    return std::move(search).finish();
  }

  index_t merge(index_t a, index_t b) {
    const index_t made = exact_.merge(a, b);
    append(made);
    return made;
  }

  void keep(const std::vector<index_t>& kept) {
    exact_.keep(kept);
    if constexpr (has<point_t, Screen>) {
      records_.keep(kept);
    } else {
      records_.keep(kept.data(), static_cast<index_t>(kept.size()));
    }
  }

 private:
  template <class S>
  using tighter_t = decltype(&S::tighter);
  template <class S>
  using point_t = decltype(S::point);
  using record_table = std::conditional_t<has<point_t, Screen>, boxed_records, lane_table>;

  [[nodiscard]] static record_table make_records(index_t fields) {
    if constexpr (has<point_t, Screen>) {
      return {fields, Screen::point};
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

  /// out[s] for the slots [0, end).
  void bounds(const query& q, index_t end, double* out, double* scratch) const {
    if (in_order()) {
      bounds_of_places(q, 0, end, out, scratch);
      return;
    }
    if constexpr (has<point_t, Screen>) {
      double some[boxed_records::panel];
      for (index_t p = 0; p < records_.panels(); ++p) {
        const index_t n = panel_bounds(q, p, some);
        for (index_t i = 0; i < n; ++i) {
          const index_t s = records_.slot(p * boxed_records::panel + i);
          if (s < end) out[s] = some[i];
        }
      }
    }
  }

  /// Costs are never below 0, nor need bounds be.
  void bounds_of_places(const query& q, index_t begin, index_t end, double* out,
                        double* scratch) const {
    pacer pace;
    for (; begin < end; begin += lanes::count, out += lanes::count) {
      pace(work_a_record());
      const lanes found =
          at_least(screen_.bounds(q.screen, table().block(begin / lanes::count), scratch), 0.0);
      if (end - begin >= lanes::count) {
        found.store(out);
      } else {
        double last[lanes::count];
        found.store(last);
        std::copy_n(last, end - begin, out);
      }
    }
  }

  index_t panel_bounds(const query& q, index_t p, double* out) const {
    const index_t begin = p * boxed_records::panel;
    const index_t end = std::min(records_.size(), begin + boxed_records::panel);
    bounds_of_places(q, begin, end, out, nullptr);
    return end - begin;
  }

  /// Panels by the bounds of their boxes, the nearest first.
  template <class Search>
  void search_panels(query& q, index_t end, Search& search) const {
    auto& far = q.space.bounds;
    far.resize(
        static_cast<std::size_t>((records_.panels() + lanes::count) / lanes::count * lanes::count));
    for (index_t p = 0; p < records_.panels(); p += lanes::count) {
      box_bounds(q, records_.boxes().block(p / lanes::count)).store(far.data() + p);
    }
    const auto nearest = std::min_element(far.begin(), far.begin() + records_.panels());
    if (nearest == far.begin() + records_.panels()) return;
    const auto start = static_cast<index_t>(nearest - far.begin());
    offer_panel(q, start, end, search);
    auto& order = q.panels;
    order.clear();
    for (index_t p = 0; p < records_.panels(); ++p) {
      const slot_cost here{far[static_cast<std::size_t>(p)], records_.first_slot(p)};
      if (p != start && search.may_hold(here.cost, here.slot)) order.push_back({here.cost, p});
    }
    std::sort(order.begin(), order.end(), [](const slot_cost& a, const slot_cost& b) {
      return a.cost < b.cost || (a.cost == b.cost && a.slot < b.slot);
    });
    for (const auto& [bound, p] : order) {
      if (search.may_hold(bound, records_.first_slot(p))) offer_panel(q, p, end, search);
    }
  }

  template <class Search>
  void offer_panel(const query& q, index_t p, index_t end, Search& search) const {
    double some[boxed_records::panel];
    index_t slots_of[boxed_records::panel];
    const index_t n = panel_bounds(q, p, some);
    index_t kept = 0;
    for (index_t i = 0; i < n; ++i) {
      const index_t s = records_.slot(p * boxed_records::panel + i);
      if (s >= end) continue;
      some[kept] = some[i];
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

  void tighten(const query& q, slot_cost* of, index_t n, double* scratch) const {
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
        if (raised[i] > of[i].cost) of[i].cost = raised[i];
      }
    }
  }

  plain exact_;
  Screen screen_;
  record_table records_;
};

/// A store that searches for the tables it takes, another for the rest.
template <class Searching, class Plain>
class searching_store_or {
 public:
  struct query {
    typename Searching::query fast;
    typename Plain::query plain;
  };

  template <class Model>
  searching_store_or(const Model& model, const table_view& X) : store_(choose(model, X)) {}

  [[nodiscard]] bool searches() const noexcept { return store_.index() == 0; }
  [[nodiscard]] index_t slots() const noexcept {
    return std::visit([](const auto& s) { return s.slots(); }, store_);
  }
  void load(query& q, index_t slot) const {
    visit(q, [&](const auto& store, auto& own) { store.load(own, slot); });
  }
  void row(const query& q, index_t begin, index_t end, double* out) const {
    visit(q, [&](const auto& store, const auto& own) { store.row(own, begin, end, out); });
  }
  void bounds(const query& q, index_t end, double* out) const {
    std::get<0>(store_).bounds(q.fast, end, out);
  }
  [[nodiscard]] slot_cost nearest(query& q, index_t end, const double* penalty) const {
    return std::get<0>(store_).nearest(q.fast, end, penalty);
  }
  index_t merge(index_t a, index_t b) {
    return std::visit([&](auto& s) { return s.merge(a, b); }, store_);
  }
  void keep(const std::vector<index_t>& kept) {
    std::visit([&](auto& s) { s.keep(kept); }, store_);
  }

 private:
  using either = std::variant<Searching, Plain>;

  template <class Model>
  [[nodiscard]] static either choose(const Model& model, const table_view& X) {
    if (Searching::takes(model, X)) return either(std::in_place_index<0>, model, X);
    return either(std::in_place_index<1>, model, X);
  }

  template <class Query, class F>
  void visit(Query& q, const F& f) const {
    if (const auto* store = std::get_if<0>(&store_)) {
      f(*store, q.fast);
    } else {
      f(*std::get_if<1>(&store_), q.plain);
    }
  }

  either store_;
};

/// A search by a screen for divergences, the plain store for other scores.
template <class Model, class Screen, class Score, class Plain>
using store_of_screen =
    std::conditional_t<Score::kind == score_kind::relaxed,
                       searching_store_or<screened_store<Model, Screen>, Plain>, Plain>;

}  // namespace bhclust::detail

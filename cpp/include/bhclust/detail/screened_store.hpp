/// @file
/// A store of divergences that searches by bounds.
#pragma once

#include <bhclust/detail/cluster_store.hpp>
#include <bhclust/detail/lane_store.hpp>
#include <bhclust/detail/score.hpp>
#include <bhclust/detail/screened_search.hpp>
#include <bhclust/detail/simd.hpp>
#include <bhclust/progress.hpp>
#include <bhclust/types.hpp>

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
    std::vector<double> scratch;
  };

  screened_store(const Model& model, const table_view& X)
      : exact_(model, X), screen_(model, X), records_(screen_.fields()) {
    records_.reserve(X.rows());
    pacer pace;
    for (index_t s = 0; s < slots(); ++s) {
      pace(work_a_record());
      append(s);
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
    records_.copy(slot, record.data());
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
    return screened_search(
               q.space, end, penalty, [&](double* out) { bounds(q, end, out, scratch); },
               [&](slot_cost* of, index_t n) { tighten(q, of, n, scratch); },
               [&](index_t s) { return -exact_.gain(q.exact, s, scratch); })
        .run();
  }

  index_t merge(index_t a, index_t b) {
    const index_t made = exact_.merge(a, b);
    append(made);
    return made;
  }

  void keep(const std::vector<index_t>& kept) {
    exact_.keep(kept);
    records_.keep(kept.data(), static_cast<index_t>(kept.size()));
  }

 private:
  template <class S>
  using tighter_t = decltype(&S::tighter);

  [[nodiscard]] index_t work_a_record() const noexcept {
    return 8 * records_.fields() * records_.fields();
  }

  void append(index_t slot) {
    std::vector<double> record(static_cast<std::size_t>(records_.fields()));
    screen_.encode(exact_.statistics(slot), record.data());
    records_.append(record.data());
  }

  void bounds(const query& q, index_t end, double* out, double* scratch) const {
    pacer pace;
    for (index_t begin = 0; begin < end; begin += lanes::count) {
      pace(work_a_record());
      const lanes found = screen_.bounds(q.screen, records_.block(begin / lanes::count), scratch);
      if (end - begin >= lanes::count) {
        found.store(out + begin);
      } else {
        double last[lanes::count];
        found.store(last);
        std::copy_n(last, end - begin, out + begin);
      }
    }
  }

  void tighten(const query& q, slot_cost* of, index_t n, double* scratch) const {
    if constexpr (has<tighter_t, Screen>) {
      constexpr index_t too_few = 2;
      if (n < too_few) return;
      double* block = scratch + screen_.scratch();
      for (index_t l = 0; l < lanes::count; ++l) {
        records_.copy_lane(of[std::min(l, n - 1)].slot, block + l);
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
  lane_table records_;
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

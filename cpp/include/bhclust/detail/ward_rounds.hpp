/// @file
/// Ward's method, exactly, by rounds of reciprocal nearest neighbours; the same for costs that
/// exceed Ward's.
#pragma once

#include <bhclust/detail/kd_order.hpp>
#include <bhclust/detail/kd_panels.hpp>
#include <bhclust/detail/nearest_lists.hpp>
#include <bhclust/detail/panel_search.hpp>
#include <bhclust/detail/parallel.hpp>
#include <bhclust/detail/tree_by_height.hpp>
#include <bhclust/detail/ward_clusters.hpp>
#include <bhclust/detail/ward_points.hpp>
#include <bhclust/progress.hpp>
#include <bhclust/tree.hpp>
#include <bhclust/types.hpp>

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>
#include <vector>

namespace bhclust::detail {

/// How a run of Ward's method goes; none of it changes a tree without ties.
struct ward_plan {
  index_t list_length;  ///< neighbours kept of each cluster, at most short_list::longest
  double chain_share;  ///< once a round merges a smaller share of the clusters, the rest is a chain
  double flat_share;   ///< once searches look into a larger share of the panels, they look into all

  [[nodiscard]] static ward_plan automatic(index_t columns) noexcept {
    const index_t length = columns <= 3 ? 2 : columns <= 16 ? 4 : 6;
    return {length, 0.01, 0.6};
  }
};

/// Ward's cost is reducible, so that all pairs of clusters that are each other's nearest may be
/// merged at once; ties go by (cost, smaller id, larger id), so that there is always such a pair.
/// Where a round merges few pairs, single pairs are merged along a nearest-neighbour chain, by the
/// same searches.
///
/// Of other costs (root_clusters.hpp) merges are of reciprocal nearest neighbours as far as those
/// behave reducibly: where a new cluster is nearer to another than what that had found, it takes
/// its place.
template <class Points>
class ward_rounds {
  using clusters = decltype(std::declval<Points&>().take_clusters());
  using panels = kd_panels<clusters>;
  using search = panel_search<clusters>;

 public:
  ward_rounds(Points points, index_t rows, double lambda, const ward_plan& plan, thread_team& team,
              progress_meter& progress)
      : plan_(plan),
        team_(team),
        progress_(progress),
        merges_(points.take_merges()),
        clusters_(points.take_clusters()),
        index_(clusters_),
        places_(2 * rows - 1),
        lists_(clusters_.slots(), clusters::is_ward ? plan.list_length : index_t{2},
               lambda / points.cost_unit(), clusters_.columns()),
        nearest_(at(clusters_.slots())),
        lambda_(lambda / points.cost_unit()),
        rows_(rows),
        spaces_(at(team.size()), search(index_)) {
    merges_.reserve(at(rows));
  }

  /// Clusters of rows that differ.
  [[nodiscard]] index_t distinct() const noexcept { return clusters_.slots(); }

  /// The share of the panels that searches of the first round look into, by a few of them.
  [[nodiscard]] double share_looked_at() {
    const auto few = try_searches();
    return static_cast<double>(few.looked) / static_cast<double>(few.searches * index_.panels());
  }

  /// The merges with their costs, in no particular order but children before parents.
  [[nodiscard]] std::vector<ward_merge> run() && {
    progress_.advance(static_cast<index_t>(merges_.size()));
    if (ordered_ == 0) split_again();
    constexpr index_t worth_asking = 2048;
    if (clusters_.slots() >= worth_asking) {
      index_.use_bytes(true, false, team_, progress_);
      choose_searches(try_searches());
    }
    while (clusters_.live() > 1) {
      const index_t before = clusters_.live();
      find_nearest();
      if constexpr (!clusters::is_ward) improve_back();
      const index_t merged = merge_reciprocal();
      tidy();
      if (static_cast<double>(merged) < plan_.chain_share * static_cast<double>(before)) break;
    }
    follow_chain();
    return std::move(merges_);
  }

 private:
  static constexpr double infinite = std::numeric_limits<double>::infinity();

  /// The nearest neighbour of a slot: its slot for the length of a round, its node for good.
  struct link {
    ward_id node = -1;  ///< -1: not known, or none below λ
    ward_id slot = -1;
    double cost = infinite;
  };
  /// Slots of a reciprocal pair, that of the older node first.
  struct pair {
    ward_id older;
    ward_id a, b;
  };

  /// What searches took.
  struct effort {
    index_t searches = 0;
    index_t looked = 0;   ///< panels that they looked into
    index_t passed = 0;   ///< clusters that bytes let pass
    index_t offered = 0;  ///< panels of the leaves that they came to, as far as they were asked
    index_t taken = 0;    ///< those of them that their boxes did not exclude

    effort& operator+=(const effort& other) noexcept {
      searches += other.searches;
      looked += other.looked;
      passed += other.passed;
      offered += other.offered;
      taken += other.taken;
      return *this;
    }
  };

  [[nodiscard]] static std::size_t at(index_t i) noexcept { return static_cast<std::size_t>(i); }

  /// A few searches, spread over the table, of which nothing is kept.
  [[nodiscard]] effort try_searches() {
    if (ordered_ == 0) split_again();
    constexpr index_t few = 32;
    std::vector<effort> spent(at(few));
    share(few, 1, [&](int thread, index_t i, index_t) {
      auto& space = spaces_[at(thread)];
      space.clear();
      space.add(clusters_.slots() / few * i, lists_.empty_list());
      spent[at(i)] = run(space);
    });
    return sum(spent);
  }

  [[nodiscard]] static effort sum(const std::vector<effort>& spent) {
    const auto add = [](effort all, const effort& of) { return all += of; };
    return std::accumulate(spent.begin(), spent.end(), effort{}, add);
  }

  effort run(search& space, bool turn = false) {
    const index_t looked = space.run(depth_, turn);
    return {space.size(), looked, space.passed(), space.offered(), space.taken()};
  }

  /// Work in chunks of `some`, shared when there is enough of it.
  template <class Work>
  void share(index_t count, index_t some, const Work& work) {
    team_.run(
        (count + some - 1) / some,
        [&](int thread, index_t c) { work(thread, c * some, std::min(count, (c + 1) * some)); },
        [&] { progress_.tick(); });
  }

  void find_nearest() {
    std::vector<effort> spent(at(team_.size()));
    share(index_.panels(), 4, [&](int thread, index_t begin, index_t end) {
      auto& space = spaces_[at(thread)];
      space.clear();
      bool turn = false;
      for (index_t p = begin; p < end; ++p) {
        collect(p, space);
        if (space.size() == 0 || (p + 1 < end && !space.full())) continue;
        spent[at(thread)] += run(space, std::exchange(turn, !turn));
        pulse();
        for (index_t i = 0; i < space.size(); ++i) settle(space.slot(i), space.found(i));
        space.clear();
      }
    });
    const effort all = sum(spent);
    looked_ = all.looked;
    choose_searches(all);
  }

  /// How to search from now on, given what it took so far.
  void choose_searches(const effort& spent) {
    constexpr double of_use = 1.0 / 16.0;
    constexpr double most = 0.45;
    const auto is_more = [](index_t part, double share, index_t whole) {
      return static_cast<double>(part) > share * static_cast<double>(whole);
    };
    if (spent.searches == 0) return;
    const bool flat = depth_ == search_depth::none;
    if (index_.with_bytes() && is_more(spent.passed, of_use, spent.looked * panels::width)) {
      index_.use_bytes(false, flat, team_, progress_);
    }
    if (flat) return;
    if (is_more(spent.looked, plan_.flat_share, spent.searches * index_.panels())) {
      depth_ = search_depth::none;
      index_.use_bytes(true, true, team_, progress_);
      return;
    }
    // boxes of panels are of use where bytes are not
    const bool whole = index_.with_bytes() && is_more(spent.taken, most, spent.offered);
    depth_ = whole ? search_depth::leaves : search_depth::panels;
  }

  /// The slots of a panel whose neighbour is not proved by their lists.
  void collect(index_t panel, search& space) {
    const index_t end = std::min(clusters_.slots(), (panel + 1) * panels::width);
    for (index_t s = panel * panels::width; s < end; ++s) {
      if (!clusters_.occupied(s)) continue;
      link& to = nearest_[at(s)];
      if (to.node >= 0) {
        to.slot = places_.slot(to.node);
        if (to.slot >= 0) continue;
      }
      const auto list = lists_.current(s, clusters_, places_);
      if (list.size() > 0 && list[0].cost < lists_.bound(s)) {
        lists_.put(s, list, lists_.bound(s));
        point(s, list[0]);
      } else {
        space.add(s, list);
      }
    }
  }

  void settle(index_t slot, const short_list& found) {
    lists_.put(slot, found);
    if (found.size() > 0) {
      point(slot, found[0]);
    } else {
      nearest_[at(slot)] = {};
    }
  }

  void point(index_t slot, const ward_neighbour& to) {
    nearest_[at(slot)] = {to.node, places_.slot(to.node), to.cost};
  }

  /// Whoever is nearer to its neighbour than what that has found takes its place there, so that the
  /// cheapest of all links is one of a pair.
  void improve_back() {
    const auto links = nearest_;
    for (index_t s = 0; s < clusters_.slots(); ++s) {
      const link& to = links[at(s)];
      if (!clusters_.occupied(s) || to.node < 0) continue;
      link& back = nearest_[at(to.slot)];
      const ward_neighbour own{to.cost, clusters_.node(s)};
      if (!(back.node < 0 || own < ward_neighbour{back.cost, back.node})) continue;
      back = {own.node, static_cast<ward_id>(s), own.cost};
      auto list = lists_.current(to.slot, clusters_, places_);
      list.offer(own);
      lists_.put(to.slot, list, lists_.bound(to.slot));
    }
  }

  index_t merge_reciprocal() {
    const auto pairs = reciprocal_pairs();
    const auto first = static_cast<ward_id>(rows_ + static_cast<index_t>(merges_.size()));
    const auto count = static_cast<index_t>(pairs.size());
    std::vector<std::pair<double, double>> sizes(pairs.size());
    for (index_t k = 0; k < count; ++k) {
      const auto& [older, a, b] = pairs[at(k)];
      const auto made = static_cast<ward_id>(first + k);
      const ward_id newer = clusters_.node(b);
      merges_.push_back({older, newer, clusters_.cost(a, b)});
      places_.merge(older, made);
      places_.merge(newer, made);
      places_.put(made, a);
      sizes[at(k)] = {clusters_.size(a), clusters_.size(b)};
    }
    share(count, 256, [&](int, index_t begin, index_t end) {
      for (index_t k = begin; k < end; ++k) {
        clusters_.join(pairs[at(k)].a, pairs[at(k)].b, static_cast<ward_id>(first + k));
        nearest_[at(pairs[at(k)].a)] = {};
      }
    });
    clusters_.lower_live(count);
    share(count, 256, [&](int, index_t begin, index_t end) {
      for (index_t k = begin; k < end; ++k) {
        const double cost = merges_[at(first - rows_ + k)].cost;
        if constexpr (clusters::is_ward) {
          lists_.join(pairs[at(k)].a, pairs[at(k)].b, sizes[at(k)].first, sizes[at(k)].second, cost,
                      clusters_, places_);
        } else {
          lists_.forget(pairs[at(k)].a);
        }
      }
    });
    progress_.advance(count);
    return count;
  }

  /// In order of their older nodes, so that new ids, by which later ties go, depend on nothing but
  /// the rows. Clusters without a neighbour below λ will never have one and are left out from here
  /// on.
  [[nodiscard]] std::vector<pair> reciprocal_pairs() {
    std::vector<pair> pairs;
    for (index_t s = 0; s < clusters_.slots(); ++s) {
      if (!clusters_.occupied(s)) continue;
      const link to = nearest_[at(s)];
      if (to.node < 0) {
        finish(s);
      } else if (to.slot > s && nearest_[at(to.slot)].node == clusters_.node(s)) {
        const auto here = static_cast<ward_id>(s);
        const ward_id own = clusters_.node(s);
        pairs.push_back(own < to.node ? pair{own, here, to.slot} : pair{to.node, to.slot, here});
      }
    }
    std::sort(pairs.begin(), pairs.end(),
              [](const pair& x, const pair& y) { return x.older < y.older; });
    return pairs;
  }

  void finish(index_t slot) {
    places_.remove(clusters_.node(slot));
    clusters_.vacate(slot);
    progress_.advance(1);
  }

  /// Slots without a cluster go when they are 15% of all. The order is made anew when 40% are left
  /// of what it was made for, and wherever searches take long: what was made for more slots has
  /// panels across its borders, and searches look into a quarter more of them, or, where they look
  /// into all, let more pass.
  void tidy() {
    if (clusters_.live() <= 1) return;  // nothing is sought any more
    const index_t worth_an_order = depth_ == search_depth::none ? 64 : 4;  // panels a slot
    const auto live = static_cast<double>(clusters_.live());
    const bool drop = live < 0.85 * static_cast<double>(clusters_.slots());
    const bool costly = looked_ > worth_an_order * clusters_.slots();
    if (live < 0.4 * static_cast<double>(ordered_) || (drop && costly)) {
      drop_vacant();
      split_again();
      return;
    }
    if (drop) {
      drop_vacant();
      place_all();
    }
    index_.rebuild(team_, progress_);
  }

  void drop_vacant() {
    std::vector<index_t> kept;
    kept.reserve(at(clusters_.live()));
    for (index_t s = 0; s < clusters_.slots(); ++s) {
      if (clusters_.occupied(s)) kept.push_back(s);
    }
    clusters_.keep(kept);
    lists_.keep(kept);
    keep_entries(nearest_, kept);
  }

  void split_again() {
    const auto order = kd_order<clusters>(clusters_, panels::width).make(team_, progress_);
    clusters_.reorder(order);
    lists_.reorder(order);
    ward_clusters::reorder_entries(nearest_, order, 1);
    ordered_ = clusters_.slots();
    place_all();
    index_.rebuild(team_, progress_);
  }

  void place_all() {
    for (index_t s = 0; s < clusters_.slots(); ++s) places_.put(clusters_.node(s), s);
  }

  /// Follow nearest neighbours until two clusters are each other's, merge them, go on from what is
  /// left of the chain. Costs along the chain fall strictly, so that it ends whatever rounding
  /// does.
  void follow_chain() {
    std::vector<ward_neighbour> chain;
    index_t first = 0;
    while (clusters_.live() > 1) {
      if (chain.empty()) {
        while (!clusters_.occupied(first)) ++first;
        chain.push_back({lambda_, clusters_.node(first)});
      }
      const ward_neighbour next = nearest_below(chain.back());
      if (next.node < 0) {
        if (close(chain)) first = 0;
      } else {
        go_to(next, chain);
      }
      pulse();
    }
  }

  /// The nearest of the clusters that are nearer than what led to the tip.
  [[nodiscard]] ward_neighbour nearest_below(const ward_neighbour& tip) {
    auto& space = spaces_[0];
    space.clear();
    space.add(places_.slot(tip.node), short_list(1, tip.cost));
    space.run(depth_);
    return space.found(0).size() > 0 ? space.found(0)[0] : ward_neighbour{};
  }

  /// Where rounding puts a cluster of the chain nearest, the tip goes behind it.
  static void go_to(const ward_neighbour& next, std::vector<ward_neighbour>& chain) {
    const auto known = std::find_if(chain.begin(), chain.end(),
                                    [&](const ward_neighbour& l) { return l.node == next.node; });
    if (known == chain.end()) {
      chain.push_back(next);
      return;
    }
    const ward_id tip = chain.back().node;
    chain.erase(known + 1, chain.end());
    chain.push_back({next.cost, tip});
  }

  /// Merges the last two of the chain; a lone cluster has no neighbour below λ and is finished.
  /// Returns whether slots were renumbered.
  bool close(std::vector<ward_neighbour>& chain) {
    const ward_neighbour last = chain.back();
    chain.pop_back();
    const index_t slot = places_.slot(last.node);
    if (chain.empty()) {
      finish(slot);
      index_.refresh(slot);
      return false;
    }
    const ward_id before = chain.back().node;
    chain.pop_back();
    const auto made = static_cast<ward_id>(rows_ + static_cast<index_t>(merges_.size()));
    const auto [older, newer] = std::minmax({before, last.node});
    const index_t a = places_.slot(older);
    const index_t b = places_.slot(newer);
    merges_.push_back({older, newer, last.cost});
    places_.merge(older, made);
    places_.merge(newer, made);
    places_.put(made, a);
    clusters_.join(a, b, made);
    clusters_.lower_live(1);
    progress_.advance(1);
    if (static_cast<double>(clusters_.live()) < 0.6 * static_cast<double>(clusters_.slots())) {
      drop_vacant();
      split_again();
      return true;
    }
    index_.refresh(a);
    index_.refresh(b);
    return false;
  }

  ward_plan plan_;
  thread_team& team_;
  progress_meter& progress_;
  std::vector<ward_merge> merges_;
  clusters clusters_;
  panels index_;
  ward_places places_;
  nearest_lists lists_;
  std::vector<link> nearest_;
  double lambda_;
  index_t rows_;
  index_t ordered_ = 0;
  index_t looked_ = 0;  ///< panels that the last round's searches looked into
  search_depth depth_ = search_depth::panels;
  std::vector<search> spaces_;
};

template <class Points>
[[nodiscard]] tree tree_by_rounds(Points points, index_t rows, double lambda, const ward_plan& plan,
                                  int n_threads, progress_meter& progress) {
  thread_team team(n_threads);
  const double cost_unit = points.cost_unit();
  auto merges = ward_rounds<Points>(std::move(points), rows, lambda, plan, team, progress).run();
  tree grown = tree_by_height(rows, std::move(merges), cost_unit);
  progress.finish();
  return grown;
}

/// Ward's method on a table without missing cells, each column in its own unit (√2 σ).
[[nodiscard]] inline tree ward_tree(const table_view& X, const std::vector<double>& unit,
                                    double lambda, const ward_plan& plan, int n_threads,
                                    progress_meter& progress) {
  return tree_by_rounds(ward_points(X, unit), X.rows(), lambda, plan, n_threads, progress);
}

}  // namespace bhclust::detail

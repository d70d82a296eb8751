/// @file
/// Randomised Bayesian hierarchical clustering (Heller & Ghahramani 2005, technical report):
/// greedy BHC of a random subset says how all rows are split, then how each part is.
#pragma once

#include <bhclust/algorithm/greedy.hpp>
#include <bhclust/concentration.hpp>
#include <bhclust/detail/cluster_store.hpp>
#include <bhclust/detail/gathered_rows.hpp>
#include <bhclust/detail/graft.hpp>
#include <bhclust/detail/parallel.hpp>
#include <bhclust/detail/random.hpp>
#include <bhclust/family.hpp>
#include <bhclust/progress.hpp>
#include <bhclust/tree.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

namespace bhclust {

/// How `randomized_bhc` splits its rows.
struct randomized_options {
  double alpha = 1.0;      ///< DP concentration, > 0
  index_t subset = 100;    ///< rows that greedy BHC takes at once, >= 2
  std::uint64_t seed = 0;  ///< of the choice of subsets
  int n_threads = 0;       ///< 0: all cores; the tree does not depend on it
  progress_function progress{};
};

namespace detail {

/// Grows a tree over some rows of a table, part by part.
///
/// A part of more than `most` rows draws a subset of so many. The subset's greedy tree is opened at
/// the root, and further at its largest node while that holds more than three quarters of the
/// subset: otherwise a chain would cost a pass over all rows for every one that it splits off. Each
/// other row finds the cluster c of the tree's most probable partition with the largest
/// |c| p(x | c) (of a group of w rows Γ(|c| + w) / Γ(|c|) p(x | c)), of equal ones the oldest, and
/// goes to the opened node that c is in; clusters are the subset's, so that rows do not depend on
/// each other. Where more than 15/16 of the rows end in one node the data do not say how to split
/// them (duplicates, one cluster), and its rows are dealt out at random to two halves. No part thus
/// keeps more than 15/16 of its rows.
template <class Model>
class randomized_growth {
 public:
  randomized_growth(const Model& model, const table_view& X, double alpha, index_t most,
                    std::uint64_t seed)
      : model_(model), X_(X), alpha_(alpha), most_(most), seed_(seed) {}

  /// Over the named rows, which are its leaves in this order; without costs. The parts of a
  /// generation share the team's threads.
  [[nodiscard]] tree run(const std::vector<index_t>& rows, thread_team& team,
                         progress_meter& progress) {
    const auto leaves = static_cast<index_t>(rows.size());
    names_ = rows;
    parts_.clear();
    parts_.push_back({});
    parts_[0].rows.resize(rows.size());
    std::iota(parts_[0].rows.begin(), parts_[0].rows.end(), index_t{0});
    for (std::size_t begin = 0; begin < parts_.size();) {
      const std::size_t end = parts_.size();
      grow_generation(begin, end, team, progress);
      for (std::size_t p = begin; p < end; ++p) take_children(p);
      begin = end;
    }
    return put_together(leaves);
  }

 private:
  static constexpr index_t chunk = 2048;

  /// A tree over rows, or one over parts that come later.
  struct part {
    std::vector<index_t> rows;
    tree top{};
    std::vector<std::vector<index_t>> sets{};
    std::size_t first_child = 0;
    bool split = false;
  };

  /// What of a subset's tree is opened: the nodes rows are sorted into, and those above them.
  struct opening {
    std::vector<index_t> closed, open;
  };

  /// A cluster of a subset's tree, and the closed node it is in.
  struct target {
    index_t node;
    std::size_t set;
  };

  [[nodiscard]] static std::size_t at(index_t i) noexcept { return static_cast<std::size_t>(i); }

  void grow_generation(std::size_t begin, std::size_t end, thread_team& team,
                       progress_meter& progress) {
    team.run(
        static_cast<index_t>(end - begin),
        [&](int thread, index_t i) {
          progress_meter own(ticks_of(thread, progress), 1);
          const std::size_t p = begin + at(i);
          grow(parts_[p], seed_ + 0x9E3779B97F4A7C15U * (p + 1), own);
        },
        [&] { progress.tick(); });
  }

  void grow(part& p, std::uint64_t seed, progress_meter& progress) const {
    gathered_rows gathered(X_);
    if (static_cast<index_t>(p.rows.size()) <= most_) {
      p.top = greedy(gathered, p.rows, progress);
      return;
    }
    p.split = true;
    random_source random(seed);
    random.choose(p.rows, most_);
    std::sort(p.rows.begin(), p.rows.begin() + most_);
    const tree t = greedy(gathered, {p.rows.begin(), p.rows.begin() + most_}, progress);
    const opening opened = open(t);
    p.sets = sorted_into(p.rows, t, opened.closed, gathered);
    halve_or_not(p, t, opened, random);
    std::vector<index_t>().swap(p.rows);
    for (auto& set : p.sets) std::sort(set.begin(), set.end());
  }

  [[nodiscard]] tree greedy(gathered_rows& gathered, const std::vector<index_t>& rows,
                            progress_meter& progress) const {
    gather(gathered, rows.data(), static_cast<index_t>(rows.size()));
    return agglomerate(make_store<evidence_score>(model_, gathered.view()),
                       log_d_rule(gathered.view(), alpha_), 1, progress);
  }

  void gather(gathered_rows& gathered, const index_t* rows, index_t count) const {
    gathered.clear();
    for (index_t i = 0; i < count; ++i) gathered.add(names_[at(rows[i])]);
  }

  [[nodiscard]] opening open(const tree& t) const {
    const index_t root = t.nodes() - 1;
    opening found{{root}, {}};
    while (true) {
      const auto largest =
          std::max_element(found.closed.begin(), found.closed.end(),
                           [&](index_t a, index_t b) { return t.size(a) < t.size(b); });
      if (*largest != root && 4 * t.size(*largest) <= 3 * t.leaves()) break;
      const index_t node = *largest;
      found.open.push_back(node);
      *largest = t.left(node);
      found.closed.push_back(t.right(node));
    }
    std::sort(found.closed.begin(), found.closed.end());
    std::sort(found.open.begin(), found.open.end());
    return found;
  }

  /// The nodes that are one cluster in the most probable partition of their rows. With
  /// S = log(p̃_T / p̃_H): log(p̃_H(l) p̃_H(r) / p̃_H(k)) = log d_k - S_l - S_r.
  [[nodiscard]] static std::vector<bool> whole_nodes(const tree& t) {
    std::vector<bool> whole(at(t.nodes()), true);
    std::vector<double> best(at(t.nodes()), 0.0);    // of a partition, over p̃_H
    std::vector<double> excess(at(t.nodes()), 0.0);  // S
    for (index_t k = t.leaves(); k < t.nodes(); ++k) {
      const auto l = at(t.left(k));
      const auto r = at(t.right(k));
      const double apart = t.cost(k) + (best[l] - excess[l]) + (best[r] - excess[r]);
      whole[at(k)] = apart <= 0.0;
      best[at(k)] = std::max(apart, 0.0);
      excess[at(k)] = softplus(t.cost(k));
    }
    return whole;
  }

  /// The clusters in each closed node, in the order of their nodes; `sets` gets the subset's rows.
  [[nodiscard]] static std::vector<target> targets(const std::vector<index_t>& rows, const tree& t,
                                                   const std::vector<index_t>& closed,
                                                   std::vector<std::vector<index_t>>& sets) {
    const auto whole = whole_nodes(t);
    std::vector<target> found;
    std::vector<std::pair<index_t, bool>> pending;  // node, whether it is in a cluster
    for (std::size_t c = 0; c < closed.size(); ++c) {
      pending.assign(1, {closed[c], false});
      while (!pending.empty()) {
        const auto [k, inside] = pending.back();
        pending.pop_back();
        const bool cluster = !inside && whole[at(k)];
        if (cluster) found.push_back({k, c});
        if (t.is_leaf(k)) {
          sets[c].push_back(rows[at(k)]);
        } else {
          pending.emplace_back(t.left(k), inside || cluster);
          pending.emplace_back(t.right(k), inside || cluster);
        }
      }
    }
    std::sort(found.begin(), found.end(),
              [](const target& a, const target& b) { return a.node < b.node; });
    return found;
  }

  /// The first rows are the subset at the leaves of t.
  [[nodiscard]] std::vector<std::vector<index_t>> sorted_into(const std::vector<index_t>& rows,
                                                              const tree& t,
                                                              const std::vector<index_t>& closed,
                                                              gathered_rows& gathered) const {
    std::vector<std::vector<index_t>> sets(closed.size());
    const auto clusters = targets(rows, t, closed, sets);
    const auto n = static_cast<index_t>(rows.size());
    std::vector<std::size_t> where;
    for (index_t begin = t.leaves(); begin < n; begin += chunk) {
      const index_t count = std::min(chunk, n - begin);
      gather(gathered, rows.data(), t.leaves());
      for (index_t i = 0; i < count; ++i) gathered.add(names_[at(rows[at(begin + i)])]);
      sort_chunk(gathered.view(), t, clusters, where);
      for (std::size_t i = 0; i < at(count); ++i) sets[where[i]].push_back(rows[at(begin) + i]);
      pulse();
    }
    return sets;
  }

  /// `X` holds the subset and, after it, the rows to be sorted.
  void sort_chunk(const table_view& X, const tree& t, const std::vector<target>& clusters,
                  std::vector<std::size_t>& where) const {
    const index_t first = t.leaves();
    const index_t count = X.rows() - first;
    auto store = make_store<evidence_score>(model_, X);
    for (index_t k = t.leaves(); k <= clusters.back().node; ++k) {
      store.merge(slot_of(t, t.left(k), count), slot_of(t, t.right(k), count));
    }
    where.assign(at(count), clusters.front().set);
    const auto size_of = rows_of_nodes(t, X);
    std::vector<double> gains(at(count));
    std::vector<double> best(at(count), -std::numeric_limits<double>::infinity());
    typename decltype(store)::query query;
    for (const auto& cluster : clusters) {
      store.load(query, slot_of(t, cluster.node, count));
      store.row(query, first, first + count, gains.data());
      const index_t size = X.weighted() ? size_of[at(cluster.node)] : t.size(cluster.node);
      const double of_one = std::log(static_cast<double>(size));
      for (std::size_t i = 0; i < at(count); ++i) {
        const index_t w = X.weight(first + static_cast<index_t>(i));
        const double value = gains[i] + (w == 1 ? of_one : log_joining(size, w));
        if (!(value > best[i])) continue;
        best[i] = value;
        where[i] = cluster.set;
      }
    }
  }

  /// A chunk's rows come between the subset's and the merges.
  [[nodiscard]] static index_t slot_of(const tree& t, index_t node, index_t count) noexcept {
    return t.is_leaf(node) ? node : node + count;
  }

  /// Makes the tree over the sets, after halving one that holds nearly everything.
  void halve_or_not(part& p, const tree& t, const opening& opened, random_source& random) const {
    const auto all = static_cast<index_t>(p.rows.size());
    const auto count = static_cast<index_t>(opened.closed.size());
    index_t halved = -1;
    for (index_t c = 0; c < count; ++c) {
      if (16 * static_cast<index_t>(p.sets[at(c)].size()) > 15 * all) halved = c;
    }
    if (halved >= 0) p.sets.push_back(taken_half(p.sets[at(halved)], random));
    tree_builder top(static_cast<index_t>(p.sets.size()));
    std::vector<index_t> name(at(t.nodes()), -1);
    for (index_t c = 0; c < count; ++c) name[at(opened.closed[at(c)])] = c;
    if (halved >= 0) name[at(opened.closed[at(halved)])] = top.join(halved, count);
    for (const index_t k : opened.open) {
      name[at(k)] = top.join(name[at(t.left(k))], name[at(t.right(k))]);
    }
    p.top = std::move(top).finish();
  }

  [[nodiscard]] static std::vector<index_t> taken_half(std::vector<index_t>& set,
                                                       random_source& random) {
    const auto half = static_cast<index_t>(set.size() / 2);
    std::sort(set.begin(), set.end());
    random.choose(set, half);
    std::vector<index_t> taken(set.begin(), set.begin() + half);
    set.erase(set.begin(), set.begin() + half);
    return taken;
  }

  void take_children(std::size_t p) {
    parts_[p].first_child = parts_.size();
    auto sets = std::move(parts_[p].sets);
    for (auto& set : sets) {
      parts_.push_back({});
      parts_.back().rows = std::move(set);
    }
  }

  [[nodiscard]] tree put_together(index_t leaves) const {
    tree_builder grown(leaves);
    std::vector<index_t> node(parts_.size());
    for (std::size_t p = parts_.size(); p-- > 0;) {
      std::vector<index_t> below = parts_[p].rows;
      if (parts_[p].split) {
        const auto first = node.begin() + static_cast<std::ptrdiff_t>(parts_[p].first_child);
        below.assign(first, first + parts_[p].top.leaves());
      }
      node[p] = graft(grown, parts_[p].top, std::move(below));
    }
    return std::move(grown).finish();
  }

  const Model& model_;
  table_view X_;
  double alpha_;
  index_t most_;
  std::uint64_t seed_;
  std::vector<index_t> names_;  ///< the rows of X
  std::vector<part> parts_;     ///< those of a part after it
};

inline void check_subset(index_t subset) {
  require(subset >= 2, [&] {
    return "subset is " + std::to_string(subset) + "; greedy BHC must be given at least 2 rows";
  });
}

}  // namespace detail

/// Randomised BHC. tree::cost() holds log d of each merge. O(n log n) for a fixed subset, O(n)
/// memory beyond X and the statistics of a few thousand rows a thread; greedy_bhc's own tree where
/// the subset is no smaller than X; the same tree for any number of threads.
template <class Family>
[[nodiscard]] tree randomized_bhc(const table_view& X, const Family& family,
                                  const randomized_options& options = {}) {
  check_alpha(options.alpha);
  detail::check_subset(options.subset);
  if (options.subset >= X.rows()) {
    return greedy_bhc(X, family, {options.alpha, options.n_threads, options.progress});
  }
  const auto model = bind(family, X);
  detail::thread_team team(options.n_threads);
  detail::progress_meter progress(options.progress, 2 * X.rows() - 1);
  std::vector<index_t> all(static_cast<std::size_t>(X.rows()));
  std::iota(all.begin(), all.end(), index_t{0});
  detail::randomized_growth<model_of<Family>> growth(model, X, options.alpha, options.subset,
                                                     options.seed);
  tree grown = growth.run(std::move(all), team, progress);
  tree t = detail::with_log_d(std::move(grown), X, model, options.alpha, team, progress);
  progress.finish();
  return t;
}

}  // namespace bhclust

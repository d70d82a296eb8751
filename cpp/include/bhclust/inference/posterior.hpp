/// @file
/// What a tree says about its partitions: the BHC recursion on any binary tree or forest.
#pragma once

#include <bhclust/analysis/cut.hpp>
#include <bhclust/concentration.hpp>
#include <bhclust/detail/lane_functions.hpp>
#include <bhclust/detail/log_space.hpp>
#include <bhclust/detail/marginal_batch.hpp>
#include <bhclust/detail/memory.hpp>
#include <bhclust/detail/node_statistics.hpp>
#include <bhclust/detail/parallel.hpp>
#include <bhclust/detail/simd.hpp>
#include <bhclust/detail/special.hpp>
#include <bhclust/family.hpp>
#include <bhclust/progress.hpp>
#include <bhclust/tree.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

namespace bhclust {

/// The posterior over the partitions that a tree allows; columns have one entry a node. In a forest
/// no cluster spans two roots.
struct tree_posterior {
  double alpha = 1.0;
  std::vector<double> log_marginal;  ///< log p(X_k | H_k), nats
  std::vector<double> log_tree;      ///< log p̃_T(k) (Lee & Choi 2015, eq. 9), nats
  /// log of p(k is one cluster) against p(k is split), given the rows below k: -log d; +inf at
  /// leaves
  std::vector<double> log_odds;
  /// Probability that exactly the leaves of k form a cluster; sums to the expected number of
  /// clusters.
  std::vector<double> omega;
  /// Probability that the leaves of k are not all in one cluster, in [0, 1]; never larger than at
  /// the parent; 0 at leaves.
  std::vector<double> height;
  /// Lower bound of the DP mixture's log evidence (Heller & Ghahramani 2005, corollary 1), nats.
  double log_evidence_bound = 0.0;
  /// Rows below each node, where leaves stand for several; empty where each is one row.
  std::vector<index_t> rows{};

  /// p(k is one cluster | rows below k), in [0, 1].
  [[nodiscard]] double r(index_t node) const {
    return detail::sigmoid(log_odds[static_cast<std::size_t>(node)]);
  }
  /// Rows below a node of the tree.
  [[nodiscard]] index_t n_rows(const tree& t, index_t node) const noexcept {
    return rows.empty() ? t.size(node) : rows[static_cast<std::size_t>(node)];
  }
  /// All rows.
  [[nodiscard]] index_t n_rows(const tree& t) const noexcept {
    return rows.empty() ? t.leaves()
                        : std::accumulate(rows.begin(), rows.begin() + t.leaves(), index_t{0});
  }
};

/// What `posterior` needs besides a tree, its rows and a family.
struct posterior_options {
  double alpha = 1.0;  ///< DP concentration, > 0
  progress_function progress{};
  int n_threads = 0;  ///< 0: all cores; results do not depend on it
};

namespace detail {

/// About how many additions a node costs in the two passes below.
inline constexpr index_t a_node_of_work = 100;

/// Rows below each node; nothing where each leaf is one row.
[[nodiscard]] inline std::vector<index_t> rows_of_nodes(const tree& t, const table_view& X) {
  std::vector<index_t> rows;
  if (!X.weighted()) return rows;
  rows.reserve(static_cast<std::size_t>(t.nodes()));
  for (index_t k = 0; k < t.nodes(); ++k) {
    rows.push_back(t.is_leaf(k) ? X.weight(k)
                                : rows[static_cast<std::size_t>(t.left(k))] +
                                      rows[static_cast<std::size_t>(t.right(k))]);
  }
  return rows;
}

/// What w rows that join n others add to the log prior of the partition, over what they add as a
/// cluster of their own but for log α: log n of one row.
[[nodiscard]] inline double log_joining(index_t n, index_t w) noexcept {
  return log_gamma_ratio(static_cast<double>(n), static_cast<double>(w)) -
         log_gamma(static_cast<double>(w));
}

/// log α + lnΓ(n) + log p(X_k | H_k)
[[nodiscard]] inline double log_one_cluster(double alpha, index_t size, double log_marginal) {
  return std::log(alpha) + log_gamma(static_cast<double>(size)) + log_marginal;
}

/// lnΓ(1), lnΓ(2), …, of the sizes that most nodes have.
class log_gamma_of_sizes {
 public:
  explicit log_gamma_of_sizes(index_t largest) {
    constexpr index_t most = 1024;
    for (index_t n = 0; n <= std::min(largest, most); ++n) {
      small_.push_back(log_gamma(static_cast<double>(std::max<index_t>(n, 1))));
    }
  }
  [[nodiscard]] double operator()(index_t n) const noexcept {
    const auto at = static_cast<std::size_t>(n);
    return at < small_.size() ? small_[at] : log_gamma(static_cast<double>(n));
  }

 private:
  std::vector<double> small_;
};

/// The log of (1 - r) and of r, of the log odds of r.
struct log_shares {
  lanes apart, together;

  explicit log_shares(const lanes& log_odds) noexcept {
    const lanes zero = lanes::all(0.0);
    const lanes less = log_odds * -1.0;
    const lanes rest = log1p(exp(smaller(log_odds, less)));
    apart = smaller(less, zero) - rest;
    together = smaller(log_odds, zero) - rest;
  }
};

/// Log marginal likelihoods of up to eight merges with log p̃_T of their children; what these give.
struct merge_lanes {
  double one[lanes::count];
  double left[lanes::count];
  double right[lanes::count];

  /// Of the first n: log odds to `one`, log p̃_T to `left`.
  void solve(index_t n) noexcept {
    for (; n < lanes::count; ++n) one[n] = left[n] = right[n] = 0.0;
    const lanes whole = lanes::load(one);
    const lanes odds = (whole - lanes::load(left)) - lanes::load(right);
    const lanes split = lanes::load(left) + lanes::load(right);
    odds.store(one);
    (larger(whole, split) + log1p(exp(smaller(odds, odds * -1.0)))).store(left);
  }
};

/// The merges of a small subtree, by their places.
class merges_of_subtree {
 public:
  explicit merges_of_subtree(const small_subtree& s) noexcept {
    for (index_t i = 0; i < s.nodes(); ++i) {
      if (s.child(i) != 0) place_[static_cast<std::size_t>(count_++)] = i;
    }
  }
  [[nodiscard]] index_t count() const noexcept { return count_; }
  [[nodiscard]] index_t operator[](index_t m) const noexcept {
    return place_[static_cast<std::size_t>(m)];
  }

  /// Calls take(first, count) for neighbours none of which is a child of another, children first.
  template <class Take>
  void upwards(const small_subtree& s, const Take& take) const {
    for (index_t end = count_; end > 0;) {
      index_t first = end - 1;
      while (first > 0 && end - first < lanes::count &&
             s.child((*this)[first - 1]) > (*this)[end - 1]) {
        --first;
      }
      take(first, end - first);
      end = first;
    }
  }

 private:
  index_t count_ = 0;
  std::array<index_t, small_subtree::most_rows> place_;
};

/// log_tree and log_odds of all nodes, for which there is room, from log_marginal.
class climb {
 public:
  /// Small subtrees of less rows are not worth a batch of marginal likelihoods of their own.
  static constexpr index_t least_rows = 32;

  climb(const tree& t, tree_posterior& p)
      : tree_(t), p_(p), log_gamma_of_(p.n_rows(t)), log_alpha_(std::log(p.alpha)) {}

  void leaves(thread_team& team) const {
    in_parts(team, 0, tree_.leaves(), [&](index_t begin, index_t end) {
      for (index_t k = begin; k < end; ++k) {
        p_.log_tree[at(k)] = together(k, rows_of_leaf(k));
        p_.log_odds[at(k)] = infinity;
      }
    });
  }

  /// The merges of a small subtree.
  void subtree(const small_subtree& s) const noexcept {
    std::array<double, small_subtree::most_nodes> log_tree;
    std::array<index_t, small_subtree::most_nodes> rows;
    for (index_t i = s.nodes() - 1; i >= 0; --i) {
      const index_t c = s.child(i);
      rows[at(i)] = c == 0 ? rows_of_leaf(s.node(i)) : rows[at(c)] + rows[at(c + 1)];
      log_tree[at(i)] = together(s.node(i), rows[at(i)]);
    }
    const merges_of_subtree merges(s);
    merges.upwards(s, [&](index_t first, index_t n) {
      merge_lanes some;
      for (index_t i = 0; i < n; ++i) {
        const index_t place = merges[first + i];
        some.one[i] = log_tree[at(place)];
        some.left[i] = log_tree[at(s.child(place))];
        some.right[i] = log_tree[at(s.child(place) + 1)];
      }
      some.solve(n);
      for (index_t i = 0; i < n; ++i) {
        const index_t place = merges[first + i];
        log_tree[at(place)] = some.left[i];
        p_.log_odds[at(s.node(place))] = some.one[i];
        p_.log_tree[at(s.node(place))] = some.left[i];
      }
    });
  }

  /// What is left once leaves and small subtrees of least_rows and more are done.
  void rest(const table_view& X) const {
    small_subtree small;
    std::array<index_t, lanes::count> some{};
    index_t n = 0;
    pacer pace;
    for (index_t k = tree_.leaves(); k < tree_.nodes(); ++k) {
      if (tree_.size(k) <= small_subtree::most_rows) {
        if (tree_.parent(k) < 0) tiny(small, X, k);
        continue;
      }
      pace(a_node_of_work);
      tiny(small, X, tree_.left(k));
      tiny(small, X, tree_.right(k));
      const bool waits = n > 0 && std::max(tree_.left(k), tree_.right(k)) >= some[0];
      if (waits || n == lanes::count) take(some.data(), std::exchange(n, 0));
      some[at(n++)] = k;
    }
    take(some.data(), n);
  }

 private:
  [[nodiscard]] static std::size_t at(index_t k) noexcept { return static_cast<std::size_t>(k); }

  [[nodiscard]] index_t rows_of_leaf(index_t k) const noexcept {
    return p_.rows.empty() ? 1 : p_.rows[at(k)];
  }
  [[nodiscard]] double together(index_t k, index_t rows) const noexcept {
    return log_alpha_ + log_gamma_of_(rows) + p_.log_marginal[at(k)];
  }

  /// Largest subtrees of less than least_rows, but leaves.
  void tiny(small_subtree& s, const table_view& X, index_t root) const noexcept {
    if (tree_.is_leaf(root) || tree_.size(root) >= least_rows) return;
    s.survey(tree_, X, root);
    subtree(s);
  }

  /// Up to eight merges none of which is a child of another.
  void take(const index_t* merges, index_t n) const noexcept {
    merge_lanes some;
    for (index_t i = 0; i < n; ++i) {
      const index_t k = merges[i];
      some.one[i] = together(k, p_.n_rows(tree_, k));
      some.left[i] = p_.log_tree[at(tree_.left(k))];
      some.right[i] = p_.log_tree[at(tree_.right(k))];
    }
    some.solve(n);
    for (index_t i = 0; i < n; ++i) {
      p_.log_odds[at(merges[i])] = some.one[i];
      p_.log_tree[at(merges[i])] = some.left[i];
    }
  }

  const tree& tree_;
  tree_posterior& p_;
  log_gamma_of_sizes log_gamma_of_;
  double log_alpha_;
};

/// omega and height of all nodes, for which there is room, from log_odds: top down, the log
/// probability that a merge and all above it are split. What merges wait for their parents with is
/// additions and comparisons alone; the rest is done on all threads.
class descent {
 public:
  descent(const tree& t, tree_posterior& p) : tree_(t), p_(p) {}

  void run(thread_team& team) {
    const auto merges = [&](const auto& work) {
      in_parts(team, tree_.leaves(), tree_.nodes(), work);
    };
    merges([&](index_t k, index_t end) { share(k, end); });
    for_each_downwards([&](index_t k) { p_.height[at(k)] += above(k, 0.0); });
    merges([&](index_t k, index_t end) { finish_omega(k, end); });
    merges([&](index_t k, index_t end) { finish_height(k, end); });
    std::atomic<bool> rises{false};
    merges([&](index_t k, index_t end) {
      if (rises_in(k, end)) rises.store(true);
    });
    if (rises.load()) {  // by rounding
      for_each_downwards(
          [&](index_t k) { p_.height[at(k)] = std::min(p_.height[at(k)], above(k, 1.0)); });
    }
    in_parts(team, 0, tree_.leaves(), [&](index_t k, index_t end) { finish_leaves(k, end); });
  }

 private:
  [[nodiscard]] static std::size_t at(index_t k) noexcept { return static_cast<std::size_t>(k); }

  /// Calls f(merge) from the roots down.
  template <class F>
  void for_each_downwards(const F& f) const {
    pacer pace;
    for (index_t k = tree_.nodes() - 1; k >= tree_.leaves(); --k) {
      pace();
      f(k);
    }
  }

  /// The height of a node's parent, or what a root has in its place.
  [[nodiscard]] double above(index_t k, double of_root) const noexcept {
    return tree_.parent(k) < 0 ? of_root : p_.height[at(tree_.parent(k))];
  }

  /// Calls f(lanes, node, how many of them count) for eight neighbours in [k, end) at a time.
  template <class F>
  static void eights(const std::vector<double>& values, index_t k, index_t end, const F& f) {
    for (; k < end; k += lanes::count) {
      const index_t n = std::min(lanes::count, end - k);
      double some[lanes::count] = {};
      std::copy_n(values.data() + k, n, some);
      f(lanes::load(some), k, n);
    }
  }
  static void put(const lanes& x, index_t k, index_t n, std::vector<double>& out) noexcept {
    double some[lanes::count];
    x.store(some);
    std::copy_n(some, n, out.data() + k);
  }

  /// The log of the shares of each merge alone: to height that of being split, to omega the other.
  void share(index_t begin, index_t end) {
    eights(p_.log_odds, begin, end, [&](const lanes& log_odds, index_t k, index_t n) {
      const log_shares shares(log_odds);
      put(shares.apart, k, n, p_.height);
      put(shares.together, k, n, p_.omega);
    });
  }
  /// While heights are logs.
  void finish_omega(index_t begin, index_t end) {
    eights(p_.omega, begin, end, [&](const lanes& together, index_t k, index_t n) {
      double split[lanes::count] = {};
      for (index_t i = 0; i < n; ++i) split[i] = above(k + i, 0.0);
      put(exp(together + lanes::load(split)), k, n, p_.omega);
    });
  }
  void finish_height(index_t begin, index_t end) {
    eights(p_.height, begin, end,
           [&](const lanes& split, index_t k, index_t n) { put(exp(split), k, n, p_.height); });
  }
  [[nodiscard]] bool rises_in(index_t begin, index_t end) const noexcept {
    bool rises = false;
    for (index_t k = begin; k < end; ++k) rises |= p_.height[at(k)] > above(k, 1.0);
    return rises;
  }
  void finish_leaves(index_t begin, index_t end) noexcept {
    for (index_t k = begin; k < end; ++k) {
      p_.omega[at(k)] = above(k, 1.0);
      p_.height[at(k)] = 0.0;
    }
  }

  const tree& tree_;
  tree_posterior& p_;
};

/// Writes the log marginal likelihood of every node that it is shown, and what follows from those
/// of small subtrees while they are at hand. Rows have batches of their own, as models may have
/// less to do for them.
template <class Model>
class climbing_visitor {
 public:
  climbing_visitor(const Model& model, const climb& up, index_t leaves, std::vector<double>& out)
      : rows_(model), merges_(model), climb_(&up), leaves_(leaves), out_(&out) {}

  void operator()(const node_statistics& node, const node_statistics&, const node_statistics&) {
    (node.node < leaves_ ? rows_ : merges_).add(node.node, node.own, give());
  }
  void finish() {
    rows_.finish(give());
    merges_.finish(give());
  }
  void finished(const small_subtree& s) {
    if (s.nodes() < 2 * climb::least_rows - 1) return;
    rows_.flush(give());
    merges_.flush(give());
    climb_->subtree(s);
  }

 private:
  [[nodiscard]] auto give() const {
    return [out = out_->data()](index_t node, double value) { out[node] = value; };
  }

  marginal_batch<Model> rows_, merges_;
  const climb* climb_;
  index_t leaves_;
  std::vector<double>* out_;
};

/// Room for the columns. A page of memory takes its time to be had for the first time, so threads
/// share that.
inline void make_room(const tree& t, const std::vector<std::vector<double>*>& columns,
                      thread_team& team) {
  team.run(
      static_cast<index_t>(columns.size()),
      [&](int, index_t c) {
        resize_at_random(*columns[static_cast<std::size_t>(c)],
                         static_cast<std::size_t>(t.nodes()));
      },
      [] { pulse(); });
}

/// Fills log_marginal, log_tree and log_odds, for which there is room, and rows.
template <class Model>
void climb_up(const tree& t, const table_view& X, const Model& model, tree_posterior& p,
              thread_team& team, progress_meter& progress) {
  p.rows = rows_of_nodes(t, X);
  const climb up(t, p);
  static_cast<void>(walk_statistics<1>(t, X, model, team, progress, [&] {
    return climbing_visitor<Model>(model, up, t.leaves(), p.log_marginal);
  }));
  up.leaves(team);
  up.rest(X);
}

inline void require_leaves(const tree& t, index_t rows) {
  require(t.leaves() == rows, [&] {
    return "the tree has " + std::to_string(t.leaves()) + " leaves and X has " +
           std::to_string(rows) + " rows; they must be the same rows";
  });
}

}  // namespace detail

/// The posterior of any tree over the rows of X, or over its groups (groups.hpp): then over the
/// partitions of the rows that keep each group whole. O(n · width) time on all threads; memory: 40
/// bytes a node, and some thousand clusters' statistics.
template <class Family>
[[nodiscard]] tree_posterior posterior(const tree& t, const table_view& X, const Family& family,
                                       const posterior_options& options = {}) {
  check_alpha(options.alpha);
  detail::progress_meter progress(options.progress, t.nodes());
  const auto model = bind_prepared(family, X);
  detail::require_leaves(t, X.rows());
  tree_posterior p;
  p.alpha = options.alpha;
  detail::thread_team team(options.n_threads);
  detail::make_room(t, {&p.log_marginal, &p.log_tree, &p.log_odds}, team);
  detail::climb_up(t, X, model, p, team, progress);
  detail::make_room(t, {&p.omega, &p.height}, team);  // what the walk took is free again
  detail::descent(t, p).run(team);
  for (const index_t root : t.roots())
    p.log_evidence_bound += p.log_tree[static_cast<std::size_t>(root)];
  p.log_evidence_bound -= detail::log_gamma_ratio(p.alpha, static_cast<double>(p.n_rows(t)));
  progress.finish();
  return p;
}

/// One label a leaf for the clusters of a cut, numbered from the cluster of most rows; see cut.hpp.
[[nodiscard]] inline std::vector<index_t> labels_of(const tree& t, const std::vector<index_t>& cut,
                                                    const tree_posterior& p) {
  return labels_of(t, cut, p.log_marginal, p.rows);
}

/// The most probable partition among those the tree allows (bottom-up maximum; not always the cut
/// at r < 0.5). Nodes of the cut. O(nodes).
[[nodiscard]] inline std::vector<index_t> map_nodes(const tree& t, const tree_posterior& p) {
  const auto at = [](index_t k) { return static_cast<std::size_t>(k); };
  // excess = M_k - log p̃_T(k) <= 0, so that nothing large is subtracted
  std::vector<double> excess(at(t.nodes()));
  std::vector<unsigned char> kept(at(t.nodes()), 1);
  for (index_t k = t.leaves(); k < t.nodes(); ++k) {
    const double together = detail::log_sigmoid(p.log_odds[at(k)]);
    const double apart =
        detail::log_sigmoid(-p.log_odds[at(k)]) + excess[at(t.left(k))] + excess[at(t.right(k))];
    kept[at(k)] = together >= apart ? 1 : 0;
    excess[at(k)] = together >= apart ? together : apart;
  }
  return nodes_from_top(t, [&](index_t k) { return kept[at(k)] != 0; });
}

/// From the roots down, the first nodes with r >= threshold (Heller & Ghahramani's rule at 0.5).
[[nodiscard]] inline std::vector<index_t> nodes_by_probability(const tree& t,
                                                               const tree_posterior& p,
                                                               double threshold) {
  require(threshold >= 0.0 && threshold <= 1.0, [&] {
    return "threshold is " + detail::number(threshold) + "; it is a probability, from 0 to 1";
  });
  const double log_odds = std::log(threshold) - std::log1p(-threshold);
  return nodes_from_top(
      t, [&](index_t k) { return p.log_odds[static_cast<std::size_t>(k)] >= log_odds; });
}

/// The cut into `count` clusters that splits the node with the largest log d first, of equal ones
/// the latest.
[[nodiscard]] inline std::vector<index_t> nodes_at_count(const tree& t, const tree_posterior& p,
                                                         index_t count) {
  return nodes_by_splitting(t, count, [&p](index_t a, index_t b) {
    const double oa = p.log_odds[static_cast<std::size_t>(a)];
    const double ob = p.log_odds[static_cast<std::size_t>(b)];
    return oa > ob || (oa == ob && a < b);
  });
}

}  // namespace bhclust

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

/// Runs work(first, last) on parts of [begin, end), on the team's threads.
template <class Work>
void in_parts(thread_team& team, index_t begin, index_t end, const Work& work) {
  constexpr index_t part = 16384;
  team.run((end - begin + part - 1) / part,
           [&](int, index_t c) {
             pulse();
             work(begin + c * part, std::min(end, begin + (c + 1) * part));
           },
           [] { pulse(); });
}

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

/// Up to eight neighbours among a tree's merges that don't depend on each other.
class merges_at_once {
 public:
  /// From node k up: none is a child of another.
  [[nodiscard]] static index_t upwards(const tree& t, index_t k) noexcept {
    index_t n = 1;
    while (n < lanes::count && k + n < t.nodes() && t.left(k + n) < k && t.right(k + n) < k) ++n;
    return n;
  }
  /// From node k down: none is the parent of another.
  [[nodiscard]] static index_t downwards(const tree& t, index_t k) noexcept {
    index_t n = 1;
    while (n < lanes::count && k - n >= t.leaves() && beyond(t.parent(k - n), k)) ++n;
    return n;
  }

 private:
  [[nodiscard]] static bool beyond(index_t parent, index_t k) noexcept {
    return parent < 0 || parent > k;
  }
};

/// log_tree and log_odds of all nodes, for which there is room, from log_marginal.
class climb {
 public:
  climb(const tree& t, tree_posterior& p)
      : tree_(t), p_(p), log_gamma_of_(p.n_rows(t)), log_alpha_(std::log(p.alpha)) {}

  void leaves(thread_team& team) {
    in_parts(team, 0, tree_.leaves(), [&](index_t begin, index_t end) {
      for (index_t k = begin; k < end; ++k) {
        p_.log_tree[at(k)] = together(k);
        p_.log_odds[at(k)] = infinity;
      }
    });
  }
  void merges() {
    pacer pace;
    for (index_t k = tree_.leaves(); k < tree_.nodes();) {
      pace(lanes::count * a_node_of_work);
      const index_t n = merges_at_once::upwards(tree_, k);
      take(k, n);
      k += n;
    }
  }

 private:
  [[nodiscard]] static std::size_t at(index_t k) noexcept { return static_cast<std::size_t>(k); }

  [[nodiscard]] double together(index_t k) const noexcept {
    return log_alpha_ + log_gamma_of_(p_.n_rows(tree_, k)) + p_.log_marginal[at(k)];
  }

  void take(index_t first, index_t n) noexcept {
    double one[lanes::count] = {};
    double left[lanes::count] = {};
    double right[lanes::count] = {};
    for (index_t i = 0; i < n; ++i) {
      fetch(first + i + ahead);
      one[i] = together(first + i);
      left[i] = p_.log_tree[at(tree_.left(first + i))];
      right[i] = p_.log_tree[at(tree_.right(first + i))];
    }
    const lanes whole = lanes::load(one);
    const lanes odds = (whole - lanes::load(left)) - lanes::load(right);
    const lanes split = lanes::load(left) + lanes::load(right);
    odds.store(one);
    (larger(whole, split) + log1p(exp(smaller(odds, odds * -1.0)))).store(left);
    std::copy_n(one, n, p_.log_odds.data() + first);
    std::copy_n(left, n, p_.log_tree.data() + first);
  }

  void fetch(index_t k) const noexcept {
    if (k >= tree_.nodes()) return;
    fetch_early(p_.log_tree.data() + tree_.left(k), 1);
    fetch_early(p_.log_tree.data() + tree_.right(k), 1);
  }

  static constexpr index_t ahead = 24;

  const tree& tree_;
  tree_posterior& p_;
  log_gamma_of_sizes log_gamma_of_;
  double log_alpha_;
};

/// omega and height of all nodes, from log_odds: top down, the log probability that a merge and all
/// above it are split.
class descent {
 public:
  descent(const tree& t, tree_posterior& p) : tree_(t), p_(p) {}

  void make_room() {
    resize_at_random(above_, at(tree_.merges()));
    resize_at_random(p_.omega, at(tree_.nodes()));
    resize_at_random(p_.height, at(tree_.nodes()));
  }

  void run(thread_team& team) {
    in_parts(team, tree_.leaves(), tree_.nodes(), [&](index_t k, index_t end) { share(k, end); });
    pacer pace;
    for (index_t k = tree_.nodes() - 1; k >= tree_.leaves();) {
      pace(lanes::count * a_node_of_work);
      const index_t n = merges_at_once::downwards(tree_, k);
      take(k - n + 1, n);
      k -= n;
    }
    in_parts(team, 0, tree_.nodes(), [&](index_t k, index_t end) {
      finish_leaves(k, std::min(end, tree_.leaves()));
      finish_merges(std::max(k, tree_.leaves()), end);
    });
  }

 private:
  [[nodiscard]] static std::size_t at(index_t k) noexcept { return static_cast<std::size_t>(k); }

  /// Calls f(lanes, how many of them count) for eight neighbours in [k, end) at a time.
  template <class F>
  static void eights(const double* values, index_t k, index_t end, const F& f) {
    for (; k < end; k += lanes::count) {
      const index_t n = std::min(lanes::count, end - k);
      double some[lanes::count] = {};
      std::copy_n(values + k, n, some);
      f(lanes::load(some), k, n);
    }
  }
  static void put(const lanes& x, index_t n, double* out) noexcept {
    double some[lanes::count];
    x.store(some);
    std::copy_n(some, n, out);
  }

  /// The log of the shares of each merge alone.
  void share(index_t begin, index_t end) noexcept {
    eights(p_.log_odds.data(), begin, end, [&](const lanes& log_odds, index_t k, index_t n) {
      const log_shares shares(log_odds);
      put(shares.apart, n, p_.height.data() + k);
      put(shares.together, n, p_.omega.data() + k);
    });
  }

  /// All but the exponential of omega. Heights never rise on the way down, whatever rounding does.
  void take(index_t first, index_t n) noexcept {
    double above[lanes::count] = {};
    double most[lanes::count] = {};
    for (index_t i = n - 1; i >= 0; --i) {
      const index_t k = first + i;
      fetch(k - ahead);
      const index_t up = tree_.parent(k);
      const way parent = up < 0 ? way{0.0, 1.0} : above_[at(up - tree_.leaves())];
      above[i] = parent.log_split;
      most[i] = parent.height;
    }
    for (index_t i = 0; i < n; ++i) p_.omega[at(first + i)] += above[i];
    double apart[lanes::count] = {};
    std::copy_n(p_.height.data() + first, n, apart);
    const lanes split = lanes::load(apart) + lanes::load(above);
    split.store(above);
    smaller(exp(split), lanes::load(most)).store(most);
    for (index_t i = 0; i < n; ++i) above_[at(first + i - tree_.leaves())] = {above[i], most[i]};
  }

  void fetch(index_t k) const noexcept {
    if (k < tree_.leaves() || tree_.parent(k) < 0) return;
    fetch_early(above_.data() + (tree_.parent(k) - tree_.leaves()), 1);
  }

  void finish_merges(index_t begin, index_t end) noexcept {
    eights(p_.omega.data(), begin, end, [&](const lanes& log_omega, index_t k, index_t n) {
      put(exp(log_omega), n, p_.omega.data() + k);
      for (index_t i = k; i < k + n; ++i) p_.height[at(i)] = above_[at(i - tree_.leaves())].height;
    });
  }

  void finish_leaves(index_t begin, index_t end) noexcept {
    for (index_t k = begin; k < end; ++k) {
      const index_t up = tree_.parent(k);
      p_.omega[at(k)] = up < 0 ? 1.0 : above_[at(up - tree_.leaves())].height;
      p_.height[at(k)] = 0.0;
    }
  }

  static constexpr index_t ahead = 24;

  /// That a merge and all above it are split.
  struct way {
    double log_split, height;
  };

  const tree& tree_;
  tree_posterior& p_;
  std::vector<way> above_;
};

/// Writes the log marginal likelihood of every node that it is shown. Rows have batches of their
/// own, as models may have less to do for them.
template <class Model>
class marginal_visitor {
 public:
  marginal_visitor(const Model& model, index_t leaves, std::vector<double>& out)
      : rows_(model), merges_(model), leaves_(leaves), out_(&out) {}

  void operator()(const node_statistics& node, const node_statistics&, const node_statistics&) {
    (node.node < leaves_ ? rows_ : merges_).add(node.node, node.own, give());
  }
  void finish() {
    rows_.finish(give());
    merges_.finish(give());
  }

 private:
  [[nodiscard]] auto give() const {
    return [out = out_](index_t node, double value) {
      (*out)[static_cast<std::size_t>(node)] = value;
    };
  }

  marginal_batch<Model> rows_, merges_;
  index_t leaves_;
  std::vector<double>* out_;
};

/// Room for what walk and climb write. A page of memory takes its time to be had for the first
/// time, so threads share that.
inline void make_room(const tree& t, tree_posterior& p, thread_team& team) {
  const std::array<std::vector<double>*, 3> columns = {&p.log_marginal, &p.log_tree, &p.log_odds};
  team.run(
      3,
      [&](int, index_t c) {
        resize_at_random(*columns[static_cast<std::size_t>(c)],
                         static_cast<std::size_t>(t.nodes()));
      },
      [] { pulse(); });
}

/// Fills all that follows from log_marginal. Merges wait for each other on the way up, while
/// another thread makes room for the way down.
inline void climb_and_descend(const tree& t, tree_posterior& p, thread_team& team) {
  climb up(t, p);
  descent down(t, p);
  up.leaves(team);
  team.run(
      2,
      [&](int, index_t c) {
        if (c == 0) {
          up.merges();
        } else {
          down.make_room();
        }
      },
      [] { pulse(); });
  down.run(team);
}

inline void require_leaves(const tree& t, index_t rows) {
  require(t.leaves() == rows, [&] {
    return "the tree has " + std::to_string(t.leaves()) + " leaves and X has " +
           std::to_string(rows) + " rows; they must be the same rows";
  });
}

}  // namespace detail

/// The posterior of any tree over the rows of X, or over its groups (groups.hpp): then over the
/// partitions of the rows that keep each group whole. O(n · width) time on all threads; memory: 48
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
  detail::make_room(t, p, team);
  static_cast<void>(detail::walk_statistics<1>(t, X, model, team, progress, [&] {
    return detail::marginal_visitor(model, t.leaves(), p.log_marginal);
  }));
  p.rows = detail::rows_of_nodes(t, X);
  detail::climb_and_descend(t, p, team);
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

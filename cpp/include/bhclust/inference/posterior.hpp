/// @file
/// What a tree says about its partitions: the BHC recursion on any binary tree or forest.
#pragma once

#include <bhclust/analysis/cut.hpp>
#include <bhclust/concentration.hpp>
#include <bhclust/detail/log_space.hpp>
#include <bhclust/detail/marginal_batch.hpp>
#include <bhclust/detail/node_statistics.hpp>
#include <bhclust/detail/parallel.hpp>
#include <bhclust/detail/special.hpp>
#include <bhclust/family.hpp>
#include <bhclust/progress.hpp>
#include <bhclust/tree.hpp>

#include <algorithm>
#include <cmath>
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

struct posterior_options {
  double alpha = 1.0;
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

inline void climb(const tree& t, tree_posterior& p) {
  const auto at = [](index_t k) { return static_cast<std::size_t>(k); };
  p.log_tree.resize(at(t.nodes()));
  p.log_odds.resize(at(t.nodes()));
  const log_gamma_of_sizes log_gamma_of(p.n_rows(t));
  const double log_alpha = std::log(p.alpha);
  pacer pace;
  for (index_t k = 0; k < t.nodes(); ++k) {
    pace(a_node_of_work);
    const double together = log_alpha + log_gamma_of(p.n_rows(t, k)) + p.log_marginal[at(k)];
    if (t.is_leaf(k)) {
      p.log_tree[at(k)] = together;
      p.log_odds[at(k)] = infinity;
    } else {
      p.log_odds[at(k)] = (together - p.log_tree[at(t.left(k))]) - p.log_tree[at(t.right(k))];
      p.log_tree[at(k)] =
          log_add_exp(together, p.log_tree[at(t.left(k))] + p.log_tree[at(t.right(k))]);
    }
  }
}

/// Top down: the log probability that every ancestor is split, then omega and height.
inline void descend(const tree& t, tree_posterior& p) {
  const auto at = [](index_t k) { return static_cast<std::size_t>(k); };
  p.omega.resize(at(t.nodes()));
  p.height.resize(at(t.nodes()));
  std::vector<double> log_split(at(t.nodes() - t.leaves()));  // of the merge and all its ancestors
  pacer pace;
  for (index_t k = t.nodes() - 1; k >= 0; --k) {
    pace(a_node_of_work);
    const index_t up = t.parent(k);
    if (t.is_leaf(k)) {
      p.omega[at(k)] = up < 0 ? 1.0 : p.height[at(up)];
      p.height[at(k)] = 0.0;
      continue;
    }
    const double above = up < 0 ? 0.0 : log_split[at(up - t.leaves())];
    const double apart = above + log_sigmoid(-p.log_odds[at(k)]);
    p.omega[at(k)] = std::exp(above + log_sigmoid(p.log_odds[at(k)]));
    p.height[at(k)] = std::exp(apart);
    log_split[at(k - t.leaves())] = apart;
  }
}

/// Writes the log marginal likelihood of every node that it is shown.
template <class Model>
class marginal_visitor {
 public:
  marginal_visitor(const Model& model, std::vector<double>& out) : batch_(model), out_(&out) {}

  void operator()(const node_statistics& node, const node_statistics&, const node_statistics&) {
    batch_.add(node.node, node.own.data(), give());
  }
  void finish() { batch_.flush(give()); }

 private:
  [[nodiscard]] auto give() const {
    return [out = out_](index_t node, double value) {
      (*out)[static_cast<std::size_t>(node)] = value;
    };
  }

  marginal_batch<Model> batch_;
  std::vector<double>* out_;
};

inline void require_leaves(const tree& t, index_t rows) {
  require(t.leaves() == rows, [&] {
    return "the tree has " + std::to_string(t.leaves()) + " leaves and X has " +
           std::to_string(rows) + " rows; they must be the same rows";
  });
}

}  // namespace detail

/// The posterior of any tree over the rows of X, or over its groups (groups.hpp): then over the
/// partitions of the rows that keep each group whole. O(n · width) time on all threads; memory: 56
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
  p.log_marginal.resize(static_cast<std::size_t>(t.nodes()));
  detail::thread_team team(options.n_threads);
  auto visitors = detail::walk_statistics<1>(t, X, model, team, progress, [&] {
    return detail::marginal_visitor<model_of<Family>>(model, p.log_marginal);
  });
  for (auto& visitor : visitors) visitor.finish();
  p.rows = detail::rows_of_nodes(t, X);
  detail::climb(t, p);
  detail::descend(t, p);
  for (const index_t root : t.roots())
    p.log_evidence_bound += p.log_tree[static_cast<std::size_t>(root)];
  p.log_evidence_bound -= detail::log_gamma_ratio(p.alpha, static_cast<double>(p.n_rows(t)));
  progress.finish();
  return p;
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

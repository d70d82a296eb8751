/// @file
/// What a tree says about its partitions: the BHC recursion on any binary tree or forest.
#pragma once

#include <bhclust/analysis/cut.hpp>
#include <bhclust/concentration.hpp>
#include <bhclust/detail/log_space.hpp>
#include <bhclust/detail/node_statistics.hpp>
#include <bhclust/detail/special.hpp>
#include <bhclust/family.hpp>
#include <bhclust/progress.hpp>
#include <bhclust/tree.hpp>

#include <cmath>
#include <limits>
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

  /// p(k is one cluster | rows below k), in [0, 1].
  [[nodiscard]] double r(index_t node) const {
    return detail::sigmoid(log_odds[static_cast<std::size_t>(node)]);
  }
};

struct posterior_options {
  double alpha = 1.0;
  progress_function progress{};
};

namespace detail {

/// log α + lnΓ(n) + log p(X_k | H_k)
[[nodiscard]] inline double log_one_cluster(double alpha, index_t size, double log_marginal) {
  return std::log(alpha) + log_gamma(static_cast<double>(size)) + log_marginal;
}

inline void climb(const tree& t, tree_posterior& p) {
  const auto at = [](index_t k) { return static_cast<std::size_t>(k); };
  p.log_tree.resize(at(t.nodes()));
  p.log_odds.resize(at(t.nodes()));
  for (index_t k = 0; k < t.nodes(); ++k) {
    const double together = log_one_cluster(p.alpha, t.size(k), p.log_marginal[at(k)]);
    if (t.is_leaf(k)) {
      p.log_tree[at(k)] = together;
      p.log_odds[at(k)] = std::numeric_limits<double>::infinity();
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
  std::vector<double> log_split(at(t.nodes()));  // of the node and all its ancestors
  for (index_t k = t.nodes() - 1; k >= 0; --k) {
    const index_t up = t.parent(k);
    const double above = up < 0 ? 0.0 : log_split[at(up)];
    p.omega[at(k)] = std::exp(above + log_sigmoid(p.log_odds[at(k)]));
    log_split[at(k)] = above + log_sigmoid(-p.log_odds[at(k)]);
    p.height[at(k)] = std::exp(log_split[at(k)]);
  }
}

inline void require_leaves(const tree& t, index_t rows) {
  require(t.leaves() == rows, [&] {
    return "the tree has " + std::to_string(t.leaves()) + " leaves and X has " +
           std::to_string(rows) + " rows; they must be the same rows";
  });
}

}  // namespace detail

/// The posterior of any tree over the rows of X. O(n · width) time, O(n + width log n) memory.
template <class Family>
[[nodiscard]] tree_posterior posterior(const tree& t, const table_view& X, const Family& family,
                                       const posterior_options& options = {}) {
  check_alpha(options.alpha);
  detail::progress_meter progress(options.progress, t.nodes());
  const auto model = bind(family, X);
  detail::require_leaves(t, X.rows());
  tree_posterior p;
  p.alpha = options.alpha;
  p.log_marginal.resize(static_cast<std::size_t>(t.nodes()));
  detail::for_each_node_statistics(t, X, model, [&](index_t node, const double* statistics) {
    p.log_marginal[static_cast<std::size_t>(node)] = model.log_marginal(statistics);
    progress.advance(1);
    progress.tick();
  });
  detail::climb(t, p);
  detail::descend(t, p);
  for (const index_t root : t.roots())
    p.log_evidence_bound += p.log_tree[static_cast<std::size_t>(root)];
  p.log_evidence_bound -= detail::log_gamma_ratio(p.alpha, static_cast<double>(t.leaves()));
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

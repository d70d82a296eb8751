/// @file
/// Flat clusters from trees. A cut is a set of nodes that covers every leaf once; labels number its
/// clusters from 0, the largest first, so that they do not depend on the order of the rows.
#pragma once

#include <bhclust/tree.hpp>
#include <bhclust/types.hpp>

#include <algorithm>
#include <cmath>
#include <queue>
#include <utility>
#include <vector>

namespace bhclust {

/// The nodes of a cut from a predicate: from the roots down, the first node with `stops(node)`, and
/// leaves in any case. Ascending. O(nodes).
template <class Stops>
[[nodiscard]] std::vector<index_t> nodes_from_top(const tree& t, const Stops& stops) {
  std::vector<index_t> cut;
  std::vector<unsigned char> open(static_cast<std::size_t>(t.nodes()), 0);
  for (index_t k = t.nodes() - 1; k >= 0; --k) {
    const index_t up = t.parent(k);
    if (up >= 0 && open[static_cast<std::size_t>(up)] == 0) continue;
    if (t.is_leaf(k) || stops(k)) {
      cut.push_back(k);
    } else {
      open[static_cast<std::size_t>(k)] = 1;
    }
  }
  std::reverse(cut.begin(), cut.end());
  return cut;
}

/// The nodes of a cut into `count` clusters: from the roots, the node that comes last in `before`
/// (a strict order of nodes by how soon they are to be kept) is split again and again.
/// O(nodes log nodes). Throws when the count is below the number of roots or above that of leaves.
template <class Before>
[[nodiscard]] std::vector<index_t> nodes_by_splitting(const tree& t, index_t count,
                                                      const Before& before) {
  std::priority_queue<index_t, std::vector<index_t>, Before> open(before);
  std::vector<index_t> cut;
  const auto add = [&](index_t node) {
    if (t.is_leaf(node)) {
      cut.push_back(node);
    } else {
      open.push(node);
    }
  };
  const auto roots = t.roots();
  require(count >= static_cast<index_t>(roots.size()) && count <= t.leaves(), [&] {
    return "n_clusters is " + std::to_string(count) + "; this tree has " +
           std::to_string(roots.size()) + " root(s) and " + std::to_string(t.leaves()) +
           " leaves, so it must lie between those";
  });
  for (const index_t root : roots) add(root);
  while (static_cast<index_t>(cut.size() + open.size()) < count) {
    const index_t node = open.top();
    open.pop();
    add(t.left(node));
    add(t.right(node));
  }
  for (; !open.empty(); open.pop()) cut.push_back(open.top());
  std::sort(cut.begin(), cut.end());
  return cut;
}

/// For each node the largest d* in its subtree (0 at leaves): monotone where raw costs invert.
/// Throws when the tree has no d*.
[[nodiscard]] inline std::vector<double> running_maximum_cost(const tree& t) {
  require(t.costs() == cost_kind::divergence,
          "only a tree of RBHC can be cut by its costs; cut the posterior of this one instead");
  std::vector<double> height(static_cast<std::size_t>(t.nodes()), 0.0);
  for (index_t k = t.leaves(); k < t.nodes(); ++k) {
    height[static_cast<std::size_t>(k)] =
        std::max({t.cost(k), height[static_cast<std::size_t>(t.left(k))],
                  height[static_cast<std::size_t>(t.right(k))]});
  }
  return height;
}

/// The nodes whose merges all cost less than λ: the λ-forest of a tree.
[[nodiscard]] inline std::vector<index_t> nodes_below_cost(const tree& t, double lambda) {
  require(lambda == lambda, "lam is NaN; it must be a number");
  const auto height = running_maximum_cost(t);
  return nodes_from_top(t, [&](index_t k) { return height[static_cast<std::size_t>(k)] < lambda; });
}

/// The cut into `count` clusters that undoes the costliest merges, of equal ones the latest.
[[nodiscard]] inline std::vector<index_t> nodes_at_count(const tree& t, index_t count) {
  const auto height = running_maximum_cost(t);
  return nodes_by_splitting(t, count, [&height](index_t a, index_t b) {
    const double ha = height[static_cast<std::size_t>(a)];
    const double hb = height[static_cast<std::size_t>(b)];
    return ha < hb || (ha == hb && a < b);
  });
}

/// The node of the cut that each node lies in, or -1 above the cut.
[[nodiscard]] inline std::vector<index_t> cluster_of_nodes(const tree& t,
                                                           const std::vector<index_t>& cut) {
  std::vector<index_t> cluster(static_cast<std::size_t>(t.nodes()), -1);
  for (const index_t node : cut) cluster[static_cast<std::size_t>(node)] = node;
  for (index_t k = t.nodes() - 1; k >= 0; --k) {
    const index_t up = t.parent(k);
    if (up >= 0 && cluster[static_cast<std::size_t>(up)] >= 0) {
      cluster[static_cast<std::size_t>(k)] = cluster[static_cast<std::size_t>(up)];
    }
  }
  return cluster;
}

namespace detail {

/// The nodes of a cut in order of their first row.
[[nodiscard]] inline std::vector<index_t> by_first_row(const tree& t,
                                                       const std::vector<index_t>& cluster) {
  std::vector<unsigned char> seen(static_cast<std::size_t>(t.nodes()), 0);
  std::vector<index_t> order;
  for (index_t i = 0; i < t.leaves(); ++i) {
    const index_t node = cluster[static_cast<std::size_t>(i)];
    if (std::exchange(seen[static_cast<std::size_t>(node)], 1) == 0) order.push_back(node);
  }
  return order;
}

/// Whether two log marginal likelihoods differ by no more than another order of the rows can make
/// them differ.
[[nodiscard]] inline bool equal_but_for_rounding(double a, double b) {
  return std::fabs(a - b) <= 1e-9 * (1.0 + std::fabs(a));
}

/// Sorts nodes of one size, given by their first row, by falling log marginal likelihood; where
/// neighbours are equal but for rounding their first rows decide.
template <class Iterator>
void sort_by_content(Iterator first, Iterator last, span<const double> log_marginal) {
  const auto value = [&](index_t node) { return log_marginal[node]; };
  std::vector<std::pair<index_t, index_t>> ranked;  // node, rank of its first row
  for (auto at = first; at != last; ++at) ranked.emplace_back(*at, at - first);
  std::stable_sort(ranked.begin(), ranked.end(),
                   [&](const auto& a, const auto& b) { return value(a.first) > value(b.first); });
  for (auto run = ranked.begin(); run != ranked.end();) {
    auto end = run + 1;
    while (end != ranked.end() &&
           equal_but_for_rounding(value((end - 1)->first), value(end->first)))
      ++end;
    std::sort(run, end, [](const auto& a, const auto& b) { return a.second < b.second; });
    run = end;
  }
  std::transform(ranked.begin(), ranked.end(), first, [](const auto& one) { return one.first; });
}

/// The nodes of a cut in the order in which `labels_of` numbers them.
[[nodiscard]] inline std::vector<index_t> numbered(const tree& t,
                                                   const std::vector<index_t>& cluster,
                                                   span<const double> log_marginal,
                                                   span<const index_t> rows) {
  const auto size = [&](index_t k) { return rows.empty() ? t.size(k) : rows[k]; };
  auto order = by_first_row(t, cluster);
  std::stable_sort(order.begin(), order.end(),
                   [&](index_t a, index_t b) { return size(a) > size(b); });
  if (log_marginal.empty()) return order;
  for (auto run = order.begin(); run != order.end();) {
    const auto end =
        std::find_if(run, order.end(), [&](index_t k) { return size(k) != size(*run); });
    sort_by_content(run, end, log_marginal);
    run = end;
  }
  return order;
}

}  // namespace detail

/// One label a leaf for the clusters of a cut, numbered from the largest to the smallest; of equal
/// sizes the larger log marginal likelihood comes first, where given (nats, one a node; equal but
/// for rounding is equal), then the smaller first row. The size of a node is how many `rows` are
/// below it, where leaves stand for several, else how many leaves. O(nodes + clusters log
/// clusters).
[[nodiscard]] inline std::vector<index_t> labels_of(const tree& t, const std::vector<index_t>& cut,
                                                    span<const double> log_marginal = {},
                                                    span<const index_t> rows = {}) {
  const auto cluster = cluster_of_nodes(t, cut);
  std::vector<index_t> number(static_cast<std::size_t>(t.nodes()), -1);
  index_t next = 0;
  for (const index_t node : detail::numbered(t, cluster, log_marginal, rows)) {
    number[static_cast<std::size_t>(node)] = next++;
  }
  std::vector<index_t> labels(static_cast<std::size_t>(t.leaves()));
  for (index_t i = 0; i < t.leaves(); ++i) {
    labels[static_cast<std::size_t>(i)] =
        number[static_cast<std::size_t>(cluster[static_cast<std::size_t>(i)])];
  }
  return labels;
}

/// The forest of a cut: the merges below its nodes, in their order.
[[nodiscard]] inline tree forest_of(const tree& t, const std::vector<index_t>& cut) {
  const auto cluster = cluster_of_nodes(t, cut);
  tree_builder grown(t.leaves(), t.costs());
  std::vector<index_t> renamed(static_cast<std::size_t>(t.nodes()));
  for (index_t k = 0; k < t.nodes(); ++k) {
    if (t.is_leaf(k)) {
      renamed[static_cast<std::size_t>(k)] = k;
    } else if (cluster[static_cast<std::size_t>(k)] >= 0) {
      renamed[static_cast<std::size_t>(k)] = grown.join(
          renamed[static_cast<std::size_t>(t.left(k))],
          renamed[static_cast<std::size_t>(t.right(k))], t.cost().empty() ? 0.0 : t.cost(k));
    }
  }
  return std::move(grown).finish();
}

}  // namespace bhclust

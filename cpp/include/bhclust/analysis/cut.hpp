/// @file
/// Flat clusters from trees. A cut is a set of nodes that covers every leaf once; labels number its
/// clusters from 0 in order of their first row.
#pragma once

#include <bhclust/tree.hpp>
#include <bhclust/types.hpp>

#include <algorithm>
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

/// One label a leaf for the clusters of a cut.
[[nodiscard]] inline std::vector<index_t> labels_of(const tree& t,
                                                    const std::vector<index_t>& cut) {
  const auto cluster = cluster_of_nodes(t, cut);
  std::vector<index_t> number(static_cast<std::size_t>(t.nodes()), -1);
  std::vector<index_t> labels(static_cast<std::size_t>(t.leaves()));
  index_t next = 0;
  for (index_t i = 0; i < t.leaves(); ++i) {
    index_t& label = number[static_cast<std::size_t>(cluster[static_cast<std::size_t>(i)])];
    if (label < 0) label = next++;
    labels[static_cast<std::size_t>(i)] = label;
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

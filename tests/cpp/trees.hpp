/// @file
/// Trees to test with, and all that a tree-consistent partition can be, by enumeration.
#pragma once

#include "random_source.hpp"
#include <bhclust/tree.hpp>

#include <algorithm>
#include <utility>
#include <vector>

namespace testkit {

using bhclust::tree;

/// A forest with `roots` roots; any two roots may be joined at any time.
inline tree random_tree(random_source& random, index_t leaves, index_t roots = 1,
                        bhclust::cost_kind costs = bhclust::cost_kind::none) {
  bhclust::tree_builder grown(leaves, costs);
  std::vector<index_t> open;
  for (index_t i = 0; i < leaves; ++i) open.push_back(i);
  while (static_cast<index_t>(open.size()) > roots) {
    random.shuffle(open);
    const index_t a = open.back();
    open.pop_back();
    open.back() = grown.join(a, open.back(), random.uniform(-3.0, 3.0));
  }
  return std::move(grown).finish();
}

/// Row after row joins the one cluster: as deep as a tree can be.
inline tree chain_tree(index_t leaves, bhclust::cost_kind costs = bhclust::cost_kind::none) {
  bhclust::tree_builder grown(leaves, costs);
  index_t top = 0;
  for (index_t i = 1; i < leaves; ++i) top = grown.join(top, i, static_cast<double>(i));
  return std::move(grown).finish();
}

using partition = std::vector<index_t>;  ///< nodes of a tree

/// For each node all partitions of its leaves into nodes of the tree. For small trees.
inline std::vector<std::vector<partition>> partitions_below(const tree& t) {
  std::vector<std::vector<partition>> below;
  for (index_t k = 0; k < t.nodes(); ++k) {
    std::vector<partition> all{{k}};
    if (!t.is_leaf(k)) {
      for (const auto& left : below[static_cast<std::size_t>(t.left(k))]) {
        for (const auto& right : below[static_cast<std::size_t>(t.right(k))]) {
          auto both = left;
          both.insert(both.end(), right.begin(), right.end());
          all.push_back(std::move(both));
        }
      }
    }
    below.push_back(std::move(all));
  }
  return below;
}

/// All partitions that a forest allows.
inline std::vector<partition> partitions_of(const tree& t) {
  const auto below = partitions_below(t);
  std::vector<partition> all{{}};
  for (const index_t root : t.roots()) {
    std::vector<partition> longer;
    for (const auto& begun : all) {
      for (const auto& more : below[static_cast<std::size_t>(root)]) {
        auto both = begun;
        both.insert(both.end(), more.begin(), more.end());
        longer.push_back(std::move(both));
      }
    }
    all = std::move(longer);
  }
  for (auto& one : all) std::sort(one.begin(), one.end());
  return all;
}

/// All partitions of 0 … n-1 into blocks. For n up to 8.
inline std::vector<std::vector<std::vector<index_t>>> set_partitions(index_t n) {
  std::vector<std::vector<std::vector<index_t>>> all{{}};
  for (index_t i = 0; i < n; ++i) {
    std::vector<std::vector<std::vector<index_t>>> longer;
    for (const auto& blocks : all) {
      for (std::size_t b = 0; b <= blocks.size(); ++b) {
        auto more = blocks;
        if (b == blocks.size()) more.emplace_back();
        more[b].push_back(i);
        longer.push_back(std::move(more));
      }
    }
    all = std::move(longer);
  }
  return all;
}

}  // namespace testkit

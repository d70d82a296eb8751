/// @file
/// The sufficient statistics of every node of a tree, one after another.
#pragma once

#include <bhclust/tree.hpp>
#include <bhclust/types.hpp>

#include <algorithm>
#include <utility>
#include <vector>

namespace bhclust::detail {

/// Calls visit(node, const double* statistics) for every node, children before parents. Larger
/// subtrees go first, so that at most log2(n) + 2 statistics are alive at a time whatever the depth.
/// O(nodes · width).
template <class Model, class Visit>
void for_each_node_statistics(const tree& t, const table_view& X, const Model& model,
                              const Visit& visit) {
  const auto width = static_cast<std::size_t>(model.width());
  std::vector<std::vector<double>> alive;  // finished nodes whose parents are not; then spares
  std::size_t count = 0;
  std::vector<std::pair<index_t, bool>> pending;  // node, whether its children are done
  const auto finish_leaf = [&](index_t leaf) {
    if (count == alive.size()) alive.emplace_back(width);
    auto& statistics = alive[count++];
    std::fill(statistics.begin(), statistics.end(), 0.0);
    model.observe(X.row(leaf), statistics.data());
    visit(leaf, statistics.data());
  };
  const auto roots = t.roots();
  for (auto root = roots.rbegin(); root != roots.rend(); ++root) pending.emplace_back(*root, false);
  while (!pending.empty()) {
    const auto [node, ready] = pending.back();
    if (t.parent(node) < 0 && !ready) count = 0;  // what an earlier root left is not needed
    if (t.is_leaf(node)) {
      pending.pop_back();
      finish_leaf(node);
    } else if (ready) {
      pending.pop_back();
      --count;
      model.merge(alive[count - 1].data(), alive[count].data());
      visit(node, alive[count - 1].data());
    } else {
      pending.back().second = true;
      auto first = t.left(node);
      auto second = t.right(node);
      if (t.size(first) < t.size(second)) std::swap(first, second);
      pending.emplace_back(second, false);
      pending.emplace_back(first, false);
    }
  }
}

}  // namespace bhclust::detail

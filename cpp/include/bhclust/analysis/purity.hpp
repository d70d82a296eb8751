/// @file
/// Dendrogram purity: how well a tree agrees with known classes.
#pragma once

#include <bhclust/progress.hpp>
#include <bhclust/tree.hpp>
#include <bhclust/types.hpp>

#include <algorithm>
#include <string>
#include <vector>

namespace bhclust {

/// Which pairs of rows of one class count alike.
enum class purity_weights {
  rows,   ///< a row, then another of its class, each uniformly (Heller & Ghahramani 2005, footnote
          ///< 2)
  pairs,  ///< a pair of rows of one class, uniformly
};

/// The expected share of the class of two rows in the smallest subtree that holds both, in (0, 1].
/// `classes`: one code 0 … k-1 a leaf. Rows alone in their class do not count. Exact;
/// O(nodes · classes) time, O(nodes) memory. Throws when no class has two rows or the tree has
/// several roots.
[[nodiscard]] inline double dendrogram_purity(const tree& t, span<const index_t> classes,
                                              purity_weights weights = purity_weights::rows,
                                              const progress_function& report = {}) {
  require(classes.size() == t.leaves(), [&] {
    return "y has " + std::to_string(classes.size()) + " entries for " +
           std::to_string(t.leaves()) + " leaves";
  });
  require(t.merges() == t.leaves() - 1, [&] {
    return "the forest has " + std::to_string(t.leaves() - t.merges()) +
           " roots; dendrogram purity needs one tree";
  });
  for (const index_t c : classes) require(c >= 0, "classes must be 0 or more");
  const index_t k = *std::max_element(classes.begin(), classes.end()) + 1;
  detail::progress_meter progress(report, k);
  double sum = 0.0;
  double total = 0.0;
  std::vector<index_t> members(static_cast<std::size_t>(t.nodes()));
  for (index_t c = 0; c < k; ++c) {
    double shares = 0.0;  // over the pairs of this class
    for (index_t node = 0; node < t.nodes(); ++node) {
      auto& own = members[static_cast<std::size_t>(node)];
      if (t.is_leaf(node)) {
        own = classes[node] == c ? 1 : 0;
        continue;
      }
      const auto l = static_cast<double>(members[static_cast<std::size_t>(t.left(node))]);
      const auto r = static_cast<double>(members[static_cast<std::size_t>(t.right(node))]);
      own = static_cast<index_t>(l + r);
      shares += l * r * ((l + r) / static_cast<double>(t.size(node)));
    }
    progress.advance(1);
    progress.tick();
    const auto n = static_cast<double>(members.back());
    if (n < 2.0) continue;
    const double pair_weight = weights == purity_weights::rows ? 2.0 / (n - 1.0) : 1.0;
    sum += pair_weight * shares;
    total += pair_weight * n * (n - 1.0) / 2.0;
  }
  progress.finish();
  require(total > 0.0, "no class in y has two rows, so dendrogram purity says nothing");
  return sum / total;
}

}  // namespace bhclust

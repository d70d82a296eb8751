/// @file
/// SciPy's linkage matrix: heights for the nodes of a tree, and the way there and back.
#pragma once

#include <bhclust/detail/heights.hpp>
#include <bhclust/detail/log_space.hpp>
#include <bhclust/inference/posterior.hpp>
#include <bhclust/tree.hpp>
#include <bhclust/types.hpp>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <vector>

namespace bhclust {

/// Heights from log odds: the running minimum from the root of -log r. Monotone though -log r is
/// not; a cut of the linkage at log 2 is the cut at r < 0.5 from the root down.
[[nodiscard]] inline std::vector<double> linkage_heights(const tree& t,
                                                         const std::vector<double>& log_odds) {
  std::vector<double> height(static_cast<std::size_t>(t.nodes()), 0.0);
  for (index_t k = t.nodes() - 1; k >= t.leaves(); --k) {
    const double own = detail::softplus(-log_odds[static_cast<std::size_t>(k)]);
    const index_t up = t.parent(k);
    height[static_cast<std::size_t>(k)] =
        up < 0 ? own : std::min(own, height[static_cast<std::size_t>(up)]);
  }
  return height;
}

/// Heights of a tree by itself: from log d as above, from d* its running maximum, else the number
/// of merges on the longest way down.
[[nodiscard]] inline std::vector<double> linkage_heights(const tree& t) {
  if (t.costs() == cost_kind::divergence) return running_maximum_cost(t);
  if (t.costs() == cost_kind::log_d) {
    std::vector<double> log_odds(static_cast<std::size_t>(t.nodes()),
                                 std::numeric_limits<double>::infinity());
    for (index_t k = t.leaves(); k < t.nodes(); ++k) {
      log_odds[static_cast<std::size_t>(k)] = -t.cost(k);
    }
    return linkage_heights(t, log_odds);
  }
  std::vector<double> height(static_cast<std::size_t>(t.nodes()), 0.0);
  for (index_t k = t.leaves(); k < t.nodes(); ++k) {
    height[static_cast<std::size_t>(k)] =
        1.0 + std::max(height[static_cast<std::size_t>(t.left(k))],
                       height[static_cast<std::size_t>(t.right(k))]);
  }
  return height;
}

/// The (n - 1) × 4 linkage matrix, row after row: two clusters (smaller id first), height, size;
/// rows in order of height. `height` has one finite value a node, none larger than at the parent.
/// Throws when the tree has several roots. O(n log n).
[[nodiscard]] inline std::vector<double> linkage_of(const tree& t,
                                                    const std::vector<double>& height) {
  require(t.merges() == t.leaves() - 1, [&] {
    return "this forest has " + std::to_string(t.leaves() - t.merges()) +
           " roots; a linkage matrix needs one tree (fit with lam = inf)";
  });
  detail::require_heights(t, height);
  std::vector<index_t> order(static_cast<std::size_t>(t.merges()));
  std::iota(order.begin(), order.end(), t.leaves());
  std::stable_sort(order.begin(), order.end(), [&](index_t a, index_t b) {
    return height[static_cast<std::size_t>(a)] < height[static_cast<std::size_t>(b)];
  });
  std::vector<index_t> row(static_cast<std::size_t>(t.nodes()));
  std::iota(row.begin(), row.end(), index_t{0});
  std::vector<double> linkage;
  linkage.reserve(4 * order.size());
  for (std::size_t i = 0; i < order.size(); ++i) {
    const index_t k = order[i];
    row[static_cast<std::size_t>(k)] = t.leaves() + static_cast<index_t>(i);
    const auto [a, b] = std::minmax(row[static_cast<std::size_t>(t.left(k))],
                                    row[static_cast<std::size_t>(t.right(k))]);
    linkage.insert(linkage.end(),
                   {static_cast<double>(a), static_cast<double>(b),
                    height[static_cast<std::size_t>(k)], static_cast<double>(t.size(k))});
  }
  return linkage;
}

/// The tree of a linkage matrix (`rows` × 4, row after row); its heights are not kept. Throws when
/// an id is not whole or not there yet, naming the row.
[[nodiscard]] inline tree tree_from_linkage(span<const double> linkage, index_t rows) {
  require(linkage.size() == 4 * rows, "a linkage matrix has 4 columns");
  const index_t leaves = rows + 1;
  tree_builder grown(leaves);
  for (index_t i = 0; i < rows; ++i) {
    const double a = linkage[4 * i];
    const double b = linkage[4 * i + 1];
    for (const double id : {a, b}) {
      require(id == std::floor(id) && id >= 0.0 && id < static_cast<double>(leaves + i), [&] {
        return "linkage row " + std::to_string(i) + " names cluster " + detail::number(id) +
               "; it must be a whole number from 0 to " + std::to_string(leaves + i - 1);
      });
    }
    grown.join(static_cast<index_t>(a), static_cast<index_t>(b));
  }
  return std::move(grown).finish();
}

}  // namespace bhclust

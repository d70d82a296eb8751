/// @file
/// Heights of a tree's nodes, as dendrograms and branch lengths need them.
#pragma once

#include <bhclust/domain.hpp>
#include <bhclust/tree.hpp>
#include <bhclust/types.hpp>

#include <cmath>
#include <string>

namespace bhclust::detail {

/// Refuses heights that are not one finite number a node, none larger than its parent's.
inline void require_heights(const tree& t, span<const double> height) {
  require(height.size() == t.nodes(), [&] {
    return "heights has " + std::to_string(height.size()) + " entries for " +
           std::to_string(t.nodes()) + " nodes";
  });
  const auto shown = [&height](index_t k) {
    return "heights[" + std::to_string(k) + "] is " + number(height[k]);
  };
  for (index_t k = t.nodes() - 1; k >= 0; --k) {
    const index_t up = t.parent(k);
    require(std::isfinite(height[k]), [&] { return shown(k) + "; it must be a finite number"; });
    if (up < 0) continue;
    require(height[k] <= height[up],
            [&] { return shown(k) + ", above its parent's: " + shown(up); });
    require(std::isfinite(height[up] - height[k]),
            [&] { return shown(k) + " and " + shown(up) + "; their difference overflows"; });
  }
}

}  // namespace bhclust::detail

/// @file
/// The tree of merges that were not made in order of their costs.
#pragma once

#include <bhclust/detail/ward_clusters.hpp>
#include <bhclust/detail/ward_points.hpp>
#include <bhclust/tree.hpp>
#include <bhclust/types.hpp>

#include <algorithm>
#include <utility>
#include <vector>

namespace bhclust::detail {

/// The forest of some merges: nodes in order of cost, those of equal cost in the order of the
/// merges; a union never comes before its parts, whatever rounding did to their costs.
[[nodiscard]] inline tree tree_by_height(index_t rows, std::vector<ward_merge> merges,
                                         double cost_unit) {
  struct placed {
    double height;
    ward_id merge;
  };
  std::vector<placed> order(merges.size());
  for (std::size_t k = 0; k < merges.size(); ++k) {
    double height = merges[k].cost;
    for (const ward_id child : {merges[k].a, merges[k].b}) {
      if (child < rows) continue;
      height = std::max(height, order[static_cast<std::size_t>(child - rows)].height);
    }
    order[k] = {height, static_cast<ward_id>(k)};
  }
  std::sort(order.begin(), order.end(), [](const placed& x, const placed& y) {
    return x.height < y.height || (x.height == y.height && x.merge < y.merge);
  });
  std::vector<ward_id> node(merges.size());
  for (std::size_t k = 0; k < order.size(); ++k) {
    node[static_cast<std::size_t>(order[k].merge)] =
        static_cast<ward_id>(rows) + static_cast<ward_id>(k);
  }
  tree_builder grown(rows, cost_kind::divergence);
  const auto renamed = [&](ward_id old) -> index_t {
    return old < rows ? old : node[static_cast<std::size_t>(old - rows)];
  };
  for (const auto& next : order) {
    const auto& merge = merges[static_cast<std::size_t>(next.merge)];
    const auto [a, b] = std::minmax({renamed(merge.a), renamed(merge.b)});
    grown.join(a, b, merge.cost * cost_unit);
  }
  return std::move(grown).finish();
}

}  // namespace bhclust::detail

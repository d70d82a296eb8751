/// @file
/// Trees put together from trees.
#pragma once

#include <bhclust/detail/marginal_batch.hpp>
#include <bhclust/detail/node_statistics.hpp>
#include <bhclust/detail/parallel.hpp>
#include <bhclust/inference/posterior.hpp>
#include <bhclust/progress.hpp>
#include <bhclust/tree.hpp>
#include <bhclust/types.hpp>

#include <utility>
#include <vector>

namespace bhclust::detail {

/// Repeats the merges of a tree on the named roots, which stand for its leaves; the node of its
/// last merge, or of its one leaf.
inline index_t graft(tree_builder& grown, const tree& piece, std::vector<index_t> nodes) {
  for (index_t k = piece.leaves(); k < piece.nodes(); ++k) {
    const auto l = nodes[static_cast<std::size_t>(piece.left(k))];
    const auto r = nodes[static_cast<std::size_t>(piece.right(k))];
    nodes.push_back(grown.join(l, r, piece.costs() == cost_kind::none ? 0.0 : piece.cost(k)));
  }
  return nodes.back();
}

/// The tree with log d of each merge as its cost. O(n · width).
template <class Model>
[[nodiscard]] tree with_log_d(tree t, const table_view& X, const Model& model, double alpha,
                              thread_team& team, progress_meter& progress) {
  tree_posterior p;
  p.alpha = alpha;
  make_room(t, {&p.log_marginal, &p.log_tree, &p.log_odds}, team);
  climb_up(t, X, prepared(model, X.total_weight()), p, team, progress);
  std::vector<double> costs;
  costs.reserve(static_cast<std::size_t>(t.merges()));
  for (index_t k = t.leaves(); k < t.nodes(); ++k) {
    costs.push_back(-p.log_odds[static_cast<std::size_t>(k)]);
  }
  tree_builder grown(std::move(t));
  grown.set_costs(std::move(costs), cost_kind::log_d);
  return std::move(grown).finish();
}

}  // namespace bhclust::detail

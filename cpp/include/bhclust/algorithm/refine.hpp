/// @file
/// Local moves that raise a tree's evidence bound: nearest-neighbour interchange, then subtree
/// prune and regraft; above the clusters, greedy BHC anew.
#pragma once

#include <bhclust/concentration.hpp>
#include <bhclust/detail/interchange.hpp>
#include <bhclust/detail/mutable_tree.hpp>
#include <bhclust/detail/parallel.hpp>
#include <bhclust/detail/regraft.hpp>
#include <bhclust/detail/regrowth.hpp>
#include <bhclust/family.hpp>
#include <bhclust/progress.hpp>
#include <bhclust/tree.hpp>

#include <algorithm>
#include <chrono>
#include <limits>
#include <string>
#include <utility>
#include <vector>

namespace bhclust {

/// How long `refine` goes on.
struct refine_options {
  double alpha = 1.0;  ///< DP concentration, > 0
  /// Subtrees that are tried at other places, one after another from small to large, again and
  /// again while that helps. 0: interchanges only.
  index_t max_regrafts = std::numeric_limits<index_t>::max();
  bool everywhere = false;  ///< look at every place for a subtree: one marginal likelihood a node
  /// No further subtree is tried after this many seconds: the tree then depends on the machine.
  double max_seconds = std::numeric_limits<double>::infinity();
  int n_threads = 0;  ///< 0: all cores; the tree does not depend on it
  progress_function progress{};
  /// Roots with more clusters keep what lies above them: growing anew takes their number squared.
  index_t most_regrown = 2000;
};

namespace detail {

/// Nodes from small to large, of equal ones by number.
template <class Model>
[[nodiscard]] std::vector<index_t> nodes_by_size(const mutable_tree<Model>& t) {
  std::vector<index_t> order = t.postorder();
  std::sort(order.begin(), order.end(), [&t](index_t a, index_t b) {
    return std::pair(t.size(a), a) < std::pair(t.size(b), b);
  });
  return order;
}

}  // namespace detail

/// A tree whose evidence bound is at least the given one's: interchanges to convergence, then
/// regrafts within the budget, each followed by nothing else until a round of regrafts is over,
/// then interchanges again; when neither helps, what lies above the most probable clusters is grown
/// anew (where they are at most `most_regrown`). Costs are dropped.
///
/// A regraft takes 2 k + O(1) marginal likelihoods for k clusters, of the places that
/// detail::place_search names (`everywhere`: one a node), and two for every node above the subtree.
/// O(nodes · width) memory. The same tree for any number of threads.
template <class Family>
[[nodiscard]] tree refine(const tree& t, const table_view& X, const Family& family,
                          const refine_options& options = {}) {
  check_alpha(options.alpha);
  require(options.max_regrafts >= 0, [&] {
    return "max_regrafts is " + std::to_string(options.max_regrafts) + "; it must be at least 0";
  });
  require(options.max_seconds >= 0.0, [&] {
    return "max_seconds is " + detail::number(options.max_seconds) + "; it must be at least 0";
  });
  detail::progress_meter progress(options.progress, t.nodes());
  const auto model = bind_prepared(family, X);
  detail::require_leaves(t, X.rows());
  const auto start = std::chrono::steady_clock::now();
  const auto in_time = [&] {
    const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - start;
    return spent.count() < options.max_seconds;
  };
  detail::mutable_tree working(t, X, model, options.alpha);
  detail::thread_team team(options.n_threads);
  detail::interchange interchanges(working);
  detail::regraft regrafts(working, options.everywhere, team, progress);
  index_t tried = 0;
  for (bool changed = true; changed;) {
    interchanges.run(progress);
    regrafts.mark_all();
    changed = false;
    for (const index_t s : detail::nodes_by_size(working)) {
      if (tried >= options.max_regrafts || !in_time()) break;
      ++tried;
      changed = regrafts.improve(s) || changed;
      progress.advance(1);
      progress.tick();
    }
  }
  detail::regrowth(working).run(options.most_regrown, progress);
  progress.finish();
  return working.finish();
}

}  // namespace bhclust

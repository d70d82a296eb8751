/// @file
/// Local moves that raise a tree's evidence bound: nearest-neighbour interchange, then subtree
/// prune and regraft; above the clusters, greedy BHC anew.
#pragma once

#include <bhclust/concentration.hpp>
#include <bhclust/detail/mutable_tree.hpp>
#include <bhclust/detail/regrowth.hpp>
#include <bhclust/family.hpp>
#include <bhclust/progress.hpp>
#include <bhclust/tree.hpp>

#include <chrono>
#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <vector>

namespace bhclust {

/// How long `refine` goes on.
struct refine_options {
  double alpha = 1.0;  ///< DP concentration, > 0
  /// Subtrees that are tried at every other place, one after another from small to large, again and
  /// again while that helps; each costs one marginal likelihood a node. 0: interchanges only.
  index_t max_regrafts = std::numeric_limits<index_t>::max();
  /// No further subtree is tried after this many seconds: the tree then depends on the machine.
  double max_seconds = std::numeric_limits<double>::infinity();
  progress_function progress{};
  /// Roots with more clusters keep what lies above them: growing anew takes their number squared.
  index_t most_regrown = 2000;
};

namespace detail {

/// A move must gain more than rounding can.
[[nodiscard]] inline bool rises(double after, double before) noexcept {
  return after > before + 1e-10 * std::max(1.0, std::fabs(before));
}

/// Interchanges below one node: a grandchild and the other child change places while that raises
/// log p̃_T of the node. log p̃_T of the root rises iff it does, as everything above depends on the
/// node through it alone; a candidate needs one marginal likelihood.
template <class Model>
class interchange {
 public:
  explicit interchange(mutable_tree<Model>& t) : tree_(t) {}

  /// Goes over all nodes, children first, until nothing rises; after the first time only over those
  /// below which something has changed since, as the others would answer as before. The number of
  /// moves made.
  index_t run(progress_meter& progress) {
    index_t moves = 0;
    due_.assign(static_cast<std::size_t>(tree_.nodes()), 1);
    for (index_t before = -1; before != moves;) {
      before = moves;
      for (const index_t k : tree_.postorder()) {
        if (!tree_.is_leaf(k) && std::exchange(due(k), 0) != 0) moves += improve_fully(k);
        progress.tick();
      }
    }
    return moves;
  }

  /// The best interchange below k, whose log p̃_T must be up to date: the child of k that was made
  /// of other rows, or -1 where nothing rises.
  index_t improve(index_t k) {
    const double now = tree_.log_t(tree_.left(k)) + tree_.log_t(tree_.right(k));
    candidate best;
    best.log_t = now;
    consider(tree_.left(k), tree_.right(k), best);
    consider(tree_.right(k), tree_.left(k), best);
    if (best.opened < 0 || !rises(best.log_t, now)) return -1;
    // the opened child is reused for moved ∪ other
    tree_.set_children(best.opened, best.moved, best.other);
    tree_.update(best.opened);
    tree_.set_children(k, best.kept, best.opened);
    tree_.update_log_t(k);
    return best.opened;
  }

 private:
  struct candidate {
    index_t opened = -1, kept = -1, moved = -1, other = -1;
    double log_t = 0.0;  ///< of the two children together
  };

  [[nodiscard]] unsigned char& due(index_t k) noexcept {
    return due_[static_cast<std::size_t>(k)];
  }

  /// All interchanges below k; who depends on what changed is due. How many there were.
  index_t improve_fully(index_t k) {
    const double before = tree_.log_t(k);
    tree_.update_log_t(k);
    index_t moves = 0;
    for (index_t opened = improve(k); opened >= 0; opened = improve(k)) {
      due(opened) = 1;
      ++moves;
    }
    if (moves > 0 || tree_.log_t(k) != before) make_due_above(k);
    return moves;
  }

  /// A node looks at its children and theirs.
  void make_due_above(index_t k) {
    for (int generation = 0; generation < 2; ++generation) {
      k = tree_.parent(k);
      if (k < 0) return;
      due(k) = 1;
    }
  }

  void consider(index_t opened, index_t other, candidate& best) {
    if (tree_.is_leaf(opened)) return;
    const index_t l = tree_.left(opened);
    const index_t r = tree_.right(opened);
    for (const auto& [kept, moved] : {std::pair{l, r}, std::pair{r, l}}) {
      const double joined =
          log_add_exp(tree_.log_h_of_union(moved, other), tree_.log_t(moved) + tree_.log_t(other));
      const double together = tree_.log_t(kept) + joined;
      if (together > best.log_t) best = {opened, kept, moved, other, together};
    }
  }

  mutable_tree<Model>& tree_;
  std::vector<unsigned char> due_;  ///< of each node: whether it is to be looked at
};

/// Prune and regraft of one subtree s. With s inserted at or below node c, the root's p̃_T is
/// A_c + B_c p̃_T(c with s): going down, B takes on the sibling's p̃_T and A what the node as one
/// cluster gives, so every place costs one marginal likelihood.
template <class Model>
class regraft {
 public:
  explicit regraft(mutable_tree<Model>& t) : tree_(t) {}

  /// Moves s to its best place if that raises the root's log p̃_T.
  bool improve(index_t s) {
    const index_t up = tree_.parent(s);
    if (up < 0) return false;
    const index_t top = root_of(s);
    const double before = tree_.log_t(top);
    const index_t back = tree_.sibling(s);
    detach(s, up, back);
    const auto [place, after] = best_place(s, root_of(back));
    const bool better = place != back && rises(after, before);
    attach(s, up, better ? place : back);
    return better;
  }

 private:
  [[nodiscard]] index_t root_of(index_t k) const {
    while (tree_.parent(k) >= 0) k = tree_.parent(k);
    return k;
  }

  /// `up`, the parent of s and `back`, goes out of the tree with s.
  void detach(index_t s, index_t up, index_t back) {
    static_cast<void>(s);
    tree_.replace(up, back);
    tree_.update_upwards(tree_.parent(back));
  }

  void attach(index_t s, index_t up, index_t place) {
    tree_.replace(place, up);
    tree_.set_children(up, place, s);
    tree_.update_upwards(up);
  }

  struct open_place {
    index_t node;
    double log_a, log_b;
  };

  [[nodiscard]] std::pair<index_t, double> best_place(index_t s, index_t top) {
    std::vector<open_place> pending{{top, -std::numeric_limits<double>::infinity(), 0.0}};
    std::pair<index_t, double> best{-1, -std::numeric_limits<double>::infinity()};
    while (!pending.empty()) {
      const open_place here = pending.back();
      pending.pop_back();
      const double whole = tree_.log_h_of_union(here.node, s);
      const double grafted = log_add_exp(whole, tree_.log_t(here.node) + tree_.log_t(s));
      const double root = log_add_exp(here.log_a, here.log_b + grafted);
      if (root > best.second || (root == best.second && here.node < best.first)) {
        best = {here.node, root};
      }
      if (tree_.is_leaf(here.node)) continue;
      const double log_a = log_add_exp(here.log_a, here.log_b + whole);
      const index_t l = tree_.left(here.node);
      const index_t r = tree_.right(here.node);
      pending.push_back({l, log_a, here.log_b + tree_.log_t(r)});
      pending.push_back({r, log_a, here.log_b + tree_.log_t(l)});
    }
    return best;
  }

  mutable_tree<Model>& tree_;
};

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
/// anew (where they are at most `most_regrown`). Costs are dropped. O(nodes · width) memory.
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
  const auto model = bind(family, X);
  detail::require_leaves(t, X.rows());
  const auto start = std::chrono::steady_clock::now();
  const auto in_time = [&] {
    const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - start;
    return spent.count() < options.max_seconds;
  };
  detail::mutable_tree working(t, X, model, options.alpha);
  detail::interchange interchanges(working);
  detail::regraft regrafts(working);
  index_t tried = 0;
  for (bool changed = true; changed;) {
    interchanges.run(progress);
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

/// @file
/// Nearest-neighbour interchanges in a tree under change.
#pragma once

#include <bhclust/detail/log_space.hpp>
#include <bhclust/detail/mutable_tree.hpp>
#include <bhclust/progress.hpp>
#include <bhclust/types.hpp>

#include <utility>
#include <vector>

namespace bhclust::detail {

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
        if (tree_.is_leaf(k) || std::exchange(due(k), 0) == 0) continue;
        moves += improve_fully(k);
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

  [[nodiscard]] unsigned char& due(index_t k) noexcept { return due_[static_cast<std::size_t>(k)]; }

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

}  // namespace bhclust::detail

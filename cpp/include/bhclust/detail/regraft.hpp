/// @file
/// Subtrees taken out of a tree under change and put back where they do best.
#pragma once

#include <bhclust/detail/likeliest_clusters.hpp>
#include <bhclust/detail/mutable_tree.hpp>
#include <bhclust/detail/parallel.hpp>
#include <bhclust/detail/place_search.hpp>
#include <bhclust/progress.hpp>
#include <bhclust/types.hpp>

namespace bhclust::detail {

/// Prune and regraft of one subtree.
template <class Model>
class regraft {
 public:
  /// See place_search.
  regraft(mutable_tree<Model>& t, bool everywhere, thread_team& team, progress_meter& progress)
      : tree_(t), clusters_(t), search_(t, clusters_, everywhere, team, progress) {}

  /// After changes made elsewhere, and once before the first improve().
  void mark_all() { clusters_.mark_all(); }

  /// Moves s to a better place if there is one by which the root's log p̃_T rises.
  bool improve(index_t s) {
    const index_t up = tree_.parent(s);
    if (up < 0) return false;
    const index_t back = tree_.sibling(s);
    const double before = tree_.log_t(root_of(s));
    const auto above = tree_.path_from(up);
    detach(up, back);
    const index_t top = root_of(back);
    const index_t place = search_.run(s, {top});
    if (place != back && rises(search_.log_t_with(top), before)) {
      attach(s, up, place);
      if (rises(tree_.log_t(root_of(s)), before)) return true;
      detach(up, place);
    }
    put_back(s, up, back, above);
    return false;
  }

 private:
  [[nodiscard]] index_t root_of(index_t k) const {
    while (tree_.parent(k) >= 0) k = tree_.parent(k);
    return k;
  }

  /// `up`, the parent of `left_behind`, goes out of the tree with its other child.
  void detach(index_t up, index_t left_behind) {
    tree_.replace(up, left_behind);
    update_upwards(tree_.parent(left_behind));
  }

  void attach(index_t s, index_t up, index_t place) {
    tree_.replace(place, up);
    tree_.set_children(up, place, s);
    update_upwards(up);
  }

  void put_back(index_t s, index_t up, index_t back, const saved_path& above) {
    tree_.replace(back, up);
    tree_.set_children(up, back, s);
    tree_.restore(above);
    for (const index_t k : above.nodes) clusters_.mark(k);
  }

  void update_upwards(index_t k) {
    for (; k >= 0; k = tree_.parent(k)) {
      tree_.update(k);
      clusters_.mark(k);
    }
  }

  mutable_tree<Model>& tree_;
  likeliest_clusters<Model> clusters_;
  place_search<Model> search_;
};

}  // namespace bhclust::detail

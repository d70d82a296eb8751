/// @file
/// The most probable partition of a tree under change.
#pragma once

#include <bhclust/detail/mutable_tree.hpp>
#include <bhclust/types.hpp>

#include <algorithm>
#include <vector>

namespace bhclust::detail {

/// Knows of each node whether its leaves are one cluster in the most probable partition of them:
/// where its log p̃_H is at least that of the best partitions of its children.
template <class Model>
class likeliest_clusters {
 public:
  explicit likeliest_clusters(const mutable_tree<Model>& t) : tree_(t) {}

  /// O(nodes).
  void mark_all() {
    for (const index_t k : tree_.postorder()) mark(k);
  }

  /// After changes at k or below it; what is below must be marked.
  void mark(index_t k) {
    if (k >= static_cast<index_t>(best_.size())) {
      best_.resize(at(tree_.nodes()), 0.0);
      whole_.resize(at(tree_.nodes()), true);
    }
    best_[at(k)] = tree_.log_h(k);
    if (tree_.is_leaf(k)) return;
    const double apart = best_[at(tree_.left(k))] + best_[at(tree_.right(k))];
    whole_[at(k)] = tree_.log_h(k) >= apart;
    best_[at(k)] = std::max(best_[at(k)], apart);
  }

  [[nodiscard]] bool whole(index_t k) const { return whole_[at(k)]; }

 private:
  [[nodiscard]] static std::size_t at(index_t k) noexcept { return static_cast<std::size_t>(k); }

  const mutable_tree<Model>& tree_;
  std::vector<double> best_;  ///< log p̃ of the best partition below
  std::vector<bool> whole_;
};

}  // namespace bhclust::detail

/// @file
/// The sufficient statistics of every node of a tree, one after another.
#pragma once

#include <bhclust/tree.hpp>
#include <bhclust/types.hpp>

#include <algorithm>
#include <utility>
#include <vector>

namespace bhclust::detail {

/// A node's statistics with those of its children (empty vectors at a leaf).
struct node_statistics {
  index_t node = -1;
  std::vector<double> own, left, right;
};

/// Walks a forest in postorder and keeps the statistics of the subtrees that are still needed.
/// Larger subtrees go first, so that at most log2(n) + 2 nodes are held at a time whatever the
/// depth. `Generations` is how far down a visitor sees: 1 its node's own statistics, 2 also the
/// children's, and through them the grandchildren's.
template <int Generations, class Model>
class statistics_walk {
 public:
  statistics_walk(const tree& t, const table_view& X, const Model& model)
      : tree_(t), table_(X), model_(model), width_(static_cast<std::size_t>(model.width())) {}

  /// Calls visit(node, left, right) with node_statistics; left and right have node -1 at a leaf.
  template <class Visit>
  void run(const Visit& visit) {
    std::vector<index_t> roots = tree_.roots();
    for (auto root = roots.rbegin(); root != roots.rend(); ++root) {
      pending_.emplace_back(*root, false);
    }
    while (!pending_.empty()) {
      const auto [node, children_done] = pending_.back();
      if (tree_.parent(node) < 0 && !children_done) release_all();
      if (tree_.is_leaf(node)) {
        pending_.pop_back();
        finish_leaf(node);
        visit(held_.back(), nobody_, nobody_);
      } else if (children_done) {
        pending_.pop_back();
        finish_inner(node, visit);
      } else {
        open(node);
      }
    }
  }

 private:
  void open(index_t node) {
    pending_.back().second = true;
    auto first = tree_.left(node);
    auto second = tree_.right(node);
    if (tree_.size(first) < tree_.size(second)) std::swap(first, second);
    pending_.emplace_back(second, false);
    pending_.emplace_back(first, false);
  }

  void finish_leaf(index_t leaf) {
    node_statistics made{leaf, spare(), {}, {}};
    std::fill(made.own.begin(), made.own.end(), 0.0);
    model_.observe(table_.row(leaf), made.own.data());
    held_.push_back(std::move(made));
  }

  template <class Visit>
  void finish_inner(index_t node, const Visit& visit) {
    node_statistics second = std::move(held_.back());
    held_.pop_back();
    node_statistics first = std::move(held_.back());
    held_.pop_back();
    node_statistics made{node, {}, {}, {}};
    if constexpr (Generations == 1) {
      model_.merge(first.own.data(), second.own.data());
      made.own = std::move(first.own);
      visit(made, nobody_, nobody_);
      spares_.push_back(std::move(second.own));
    } else {
      made.own = spare();
      std::copy(first.own.begin(), first.own.end(), made.own.begin());
      model_.merge(made.own.data(), second.own.data());
      if (first.node == tree_.left(node)) {
        visit(made, first, second);
        made.left = std::move(first.own);
        made.right = std::move(second.own);
      } else {
        visit(made, second, first);
        made.left = std::move(second.own);
        made.right = std::move(first.own);
      }
      release(first);
      release(second);
    }
    held_.push_back(std::move(made));
  }

  [[nodiscard]] std::vector<double> spare() {
    if (spares_.empty()) return std::vector<double>(width_);
    std::vector<double> taken = std::move(spares_.back());
    spares_.pop_back();
    return taken;
  }

  void release(node_statistics& done) {
    for (auto* statistics : {&done.own, &done.left, &done.right}) {
      if (!statistics->empty()) spares_.push_back(std::move(*statistics));
      statistics->clear();
    }
  }

  /// What an earlier root left is not needed any more.
  void release_all() {
    for (auto& done : held_) release(done);
    held_.clear();
  }

  const tree& tree_;
  const table_view& table_;
  const Model& model_;
  std::size_t width_;
  node_statistics nobody_;
  std::vector<node_statistics> held_;
  std::vector<std::vector<double>> spares_;
  std::vector<std::pair<index_t, bool>> pending_;  // node, whether its children are done
};

/// Calls visit(node, const double* statistics) for every node, children before parents.
/// O(nodes · width).
template <class Model, class Visit>
void for_each_node_statistics(const tree& t, const table_view& X, const Model& model,
                              const Visit& visit) {
  statistics_walk<1, Model>(t, X, model)
      .run([&](const node_statistics& node, const node_statistics&, const node_statistics&) {
        visit(node.node, node.own.data());
      });
}

/// Calls visit(node, left, right) for every inner node, children before parents: node_statistics,
/// those of the children with their own children's. O(nodes · width).
template <class Model, class Visit>
void for_each_merge_statistics(const tree& t, const table_view& X, const Model& model,
                               const Visit& visit) {
  statistics_walk<2, Model>(t, X, model)
      .run([&](const node_statistics& node, const node_statistics& left,
               const node_statistics& right) {
        if (left.node >= 0) visit(node, left, right);
      });
}

}  // namespace bhclust::detail

/// @file
/// The sufficient statistics of every node of a tree, one after another, on several threads.
#pragma once

#include <bhclust/detail/parallel.hpp>
#include <bhclust/progress.hpp>
#include <bhclust/tree.hpp>
#include <bhclust/types.hpp>

#include <algorithm>
#include <atomic>
#include <utility>
#include <vector>

namespace bhclust::detail {

/// A node's statistics with those of its children (empty vectors at a leaf).
struct node_statistics {
  index_t node = -1;
  std::vector<double> own, left, right;
};

/// Subtrees that can be walked on their own: the largest ones of at most `most` rows, but none of
/// less than `least`, since what the walk above them needs of each is kept until it gets there.
/// They depend on the tree alone.
class separate_subtrees {
 public:
  explicit separate_subtrees(const tree& t)
      : tree_(t), most_(std::max<index_t>(256, t.leaves() / 1024)), least_(most_ / 8) {
    for (index_t k = 0; k < t.nodes(); ++k) {
      if (has(k)) roots_.push_back(k);
    }
  }

  [[nodiscard]] bool has(index_t node) const noexcept {
    const index_t size = tree_.size(node);
    if (size > most_ || size < least_) return false;
    const index_t up = tree_.parent(node);
    return up < 0 || tree_.size(up) > most_;
  }
  /// Ascending.
  [[nodiscard]] const std::vector<index_t>& roots() const noexcept { return roots_; }
  [[nodiscard]] std::size_t number_of(index_t root) const noexcept {
    const auto found = std::lower_bound(roots_.begin(), roots_.end(), root);
    return static_cast<std::size_t>(found - roots_.begin());
  }

 private:
  const tree& tree_;
  index_t most_, least_;
  std::vector<index_t> roots_;
};

/// Walks parts of a forest in postorder and keeps the statistics of the subtrees that are still
/// needed. Larger subtrees go first, so that at most log2(n) + 2 nodes are held at a time whatever
/// the depth. `Generations` is how far down a visitor sees: 1 its node's own statistics, 2 also the
/// children's, and through them the grandchildren's.
template <int Generations, class Model>
class statistics_walk {
 public:
  statistics_walk(const tree& t, const table_view& X, const Model& model)
      : tree_(t), table_(X), model_(model), width_(static_cast<std::size_t>(model.width())) {}

  /// Calls visit(node, left, right) with node_statistics for the nodes at or below `root`; left and
  /// right have node -1 at a leaf. `given(node)` points to the node's statistics where its subtree
  /// was walked before and is nullptr elsewhere; they are taken away.
  template <class Given, class Visit>
  void run(index_t root, const Given& given, Visit&& visit) {
    release_all();
    pending_.emplace_back(root, false);
    while (!pending_.empty()) {
      const auto [node, children_done] = pending_.back();
      pace_(static_cast<index_t>(width_));
      if (children_done) {
        pending_.pop_back();
        finish_inner(node, visit);
      } else if (node_statistics* known = given(node); known != nullptr) {
        pending_.pop_back();
        held_.push_back(std::move(*known));
      } else if (tree_.is_leaf(node)) {
        pending_.pop_back();
        finish_leaf(node);
        visit(held_.back(), nobody_, nobody_);
      } else {
        open(node);
      }
    }
  }

  /// The statistics of the root that was walked last.
  [[nodiscard]] node_statistics take() {
    node_statistics taken = std::move(held_.back());
    held_.pop_back();
    return taken;
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
  void finish_inner(index_t node, Visit& visit) {
    node_statistics second = take();
    node_statistics first = take();
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
  pacer pace_;
};

/// Walks a whole forest, its separate subtrees on the team's threads and what is above them on this
/// one. Visitors are made by make(), some 64 and one more for what is above; each sees its nodes
/// children before parents, and which nodes it sees, in which order, depends on the tree alone.
/// They are returned in a fixed order for the caller to sum up. O(nodes · width) time; memory of
/// the order of 64 visitors and a thousandth of the tree's statistics.
template <int Generations, class Model, class Make>
[[nodiscard]] auto walk_statistics(const tree& t, const table_view& X, const Model& model,
                                   thread_team& team, progress_meter& progress, const Make& make) {
  constexpr index_t most_groups = 64;
  using walk = statistics_walk<Generations, Model>;
  const separate_subtrees apart(t);
  const auto count = static_cast<index_t>(apart.roots().size());
  const index_t groups = std::min(count, most_groups);
  std::vector<decltype(make())> visitors;
  for (index_t g = 0; g <= groups; ++g) visitors.push_back(make());
  std::vector<node_statistics> done(apart.roots().size());
  std::atomic<index_t> walked{0};
  const auto tick = [&] {
    progress.advance(walked.exchange(0));
    progress.tick();
  };
  const auto nothing = [](index_t) -> node_statistics* { return nullptr; };
  team.run(
      groups,
      [&](int, index_t g) {
        walk below(t, X, model);
        for (index_t i = g * count / groups; i < (g + 1) * count / groups; ++i) {
          const index_t root = apart.roots()[static_cast<std::size_t>(i)];
          below.run(root, nothing, visitors[static_cast<std::size_t>(g)]);
          done[static_cast<std::size_t>(i)] = below.take();
          walked.fetch_add(2 * t.size(root) - 1);
        }
      },
      tick);
  walk above(t, X, model);
  const auto given = [&](index_t node) -> node_statistics* {
    return apart.has(node) ? &done[apart.number_of(node)] : nullptr;
  };
  for (const index_t root : t.roots()) {
    above.run(root, given, visitors.back());
    tick();
  }
  return visitors;
}

/// Calls visit(node, const double* statistics) for every node, children before parents, on this
/// thread. O(nodes · width).
template <class Model, class Visit>
void for_each_node_statistics(const tree& t, const table_view& X, const Model& model,
                              const Visit& visit) {
  statistics_walk<1, Model> walk(t, X, model);
  const auto nothing = [](index_t) -> node_statistics* { return nullptr; };
  for (const index_t root : t.roots()) {
    walk.run(root, nothing,
             [&](const node_statistics& node, const node_statistics&, const node_statistics&) {
               visit(node.node, node.own.data());
             });
  }
}

}  // namespace bhclust::detail

/// @file
/// The sufficient statistics of every node of a tree, one after another, on several threads.
#pragma once

#include <bhclust/detail/parallel.hpp>
#include <bhclust/detail/simd.hpp>
#include <bhclust/family.hpp>
#include <bhclust/progress.hpp>
#include <bhclust/tree.hpp>
#include <bhclust/types.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace bhclust::detail {

/// A node's statistics with those of its children (null at a leaf, and where no visitor looks that
/// far down).
struct node_statistics {
  index_t node = -1;
  const double* own = nullptr;
  const double* left = nullptr;
  const double* right = nullptr;
};

/// The nodes of a small subtree, level by level, the left child before the right one: what one
/// needs of memory is on its way while others are looked at. Places on that list are those of its
/// nodes here.
class small_subtree {
 public:
  static constexpr index_t most_rows = 256;
  static constexpr index_t most_nodes = 2 * most_rows - 1;

  /// Of at most most_rows rows.
  void survey(const tree& t, const table_view& X, index_t root) {
    count_ = 0;
    add(t, X, root);
    for (index_t i = 0; i < count_; ++i) {
      child_[at(i)] = 0;
      const index_t node = node_[at(i)];
      if (t.is_leaf(node)) continue;
      child_[at(i)] = static_cast<number>(count_);
      add(t, X, t.left(node));
      add(t, X, t.right(node));
    }
  }

  [[nodiscard]] index_t nodes() const noexcept { return count_; }
  [[nodiscard]] index_t node(index_t place) const noexcept { return node_[at(place)]; }
  /// Place of the left child, before that of the right one; 0 at a leaf. Ascends with the place.
  [[nodiscard]] index_t child(index_t place) const noexcept { return child_[at(place)]; }

  /// A place, or how many nodes: short, so that what is looked up stays in the first cache.
  using number = std::int16_t;

 private:
  [[nodiscard]] static std::size_t at(index_t i) noexcept { return static_cast<std::size_t>(i); }

  void add(const tree& t, const table_view& X, index_t node) noexcept {
    node_[at(count_++)] = node;
    if (!t.is_leaf(node)) {
      fetch_early(t.children().data() + 2 * (node - t.leaves()), 1);
    } else if (!X.sparse()) {
      fetch_early(X.row(node).values(), X.columns());
    }
  }

  index_t count_ = 0;
  std::array<index_t, most_nodes> node_{};
  std::array<number, most_nodes> child_{};
};

/// The order in which a walk finishes the nodes of a small subtree: postorder, the larger child
/// first, of equals the left one.
class finishing_order {
 public:
  explicit finishing_order(const small_subtree& s) noexcept {
    for (index_t i = s.nodes() - 1; i >= 0; --i) {
      const index_t c = s.child(i);
      size_[at(i)] = c == 0 ? number{1} : static_cast<number>(size_[at(c)] + size_[at(c + 1)] + 1);
    }
    // a node's subtree takes the places from begin_ on, itself the last of them
    begin_[0] = 0;
    for (index_t i = 0; i < s.nodes(); ++i) {
      order_[at(begin_[at(i)] + size_[at(i)] - 1)] = static_cast<number>(i);
      const index_t c = s.child(i);
      if (c == 0) continue;
      const index_t first = size_[at(c)] < size_[at(c + 1)] ? c + 1 : c;
      begin_[at(first)] = begin_[at(i)];
      begin_[at(2 * c + 1 - first)] = static_cast<number>(begin_[at(i)] + size_[at(first)]);
    }
  }

  /// The place of the i-th to be finished.
  [[nodiscard]] index_t operator[](index_t i) const noexcept { return order_[at(i)]; }

 private:
  using number = small_subtree::number;
  using column = std::array<number, small_subtree::most_nodes>;

  [[nodiscard]] static std::size_t at(index_t i) noexcept { return static_cast<std::size_t>(i); }

  column size_;  ///< nodes of the subtree
  column begin_;
  column order_;
};

/// Visitors may have finished(small_subtree), called once all nodes of a small subtree were shown.
template <class Visitor>
using sees_subtrees_t =
    decltype(std::declval<Visitor&>().finished(std::declval<const small_subtree&>()));

/// Subtrees that can be walked on their own: the largest ones of at most `most` rows, but none of
/// less than `least`, since what the walk above them needs of each is kept until it gets there.
/// They depend on the tree alone.
class separate_subtrees {
 public:
  explicit separate_subtrees(const tree& t)
      : tree_(t), most_(std::max(small_subtree::most_rows, t.leaves() / 1024)), least_(most_ / 8) {
    for (index_t k = t.leaves(); k < t.nodes(); ++k) {
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
  [[nodiscard]] index_t number_of(index_t root) const noexcept {
    return std::lower_bound(roots_.begin(), roots_.end(), root) - roots_.begin();
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
      : tree_(t), table_(X), model_(model), width_(model.width()) {}

  /// What is held of a node, in doubles: its statistics, then its children's.
  [[nodiscard]] index_t frame() const noexcept { return frames_a_node * width_; }

  /// Calls visit(node, left, right) with node_statistics for the nodes at or below `root`; left and
  /// right have node -1 at a leaf and where visitors see one generation. `given(node)` points to
  /// what take() gave of a node whose subtree was walked before and is nullptr elsewhere.
  template <class Given, class Visit>
  void run(index_t root, const Given& given, Visit&& visit) {
    held_.clear();
    pending_.emplace_back(root, false);
    while (!pending_.empty()) {
      const auto [node, children_done] = pending_.back();
      pace_(width_);
      if (children_done) {
        pending_.pop_back();
        finish_inner(node, visit);
      } else if (const double* known = given(node); known != nullptr) {
        pending_.pop_back();
        std::copy_n(known, frame(), hold(node));
      } else if (tree_.size(node) <= small_subtree::most_rows) {
        pending_.pop_back();
        run_small(node, visit);
      } else {
        open(node);
      }
    }
  }

  /// What is held of the root that was walked last.
  void take(double* out) const { std::copy_n(frame_of(0), frame(), out); }

 private:
  static constexpr index_t frames_a_node = Generations == 1 ? 1 : 3;

  void open(index_t node) {
    pending_.back().second = true;
    auto first = tree_.left(node);
    auto second = tree_.right(node);
    if (tree_.size(first) < tree_.size(second)) std::swap(first, second);
    pending_.emplace_back(second, false);
    pending_.emplace_back(first, false);
  }

  /// No given node has less rows than a small subtree.
  template <class Visit>
  void run_small(index_t root, Visit& visit) {
    small_.survey(tree_, table_, root);
    pace_(small_.nodes() * width_);
    const finishing_order order(small_);
    for (index_t i = 0; i < small_.nodes(); ++i) {
      const index_t place = order[i];
      if (small_.child(place) == 0) {
        finish_leaf(small_.node(place), visit);
      } else {
        finish_inner(small_.node(place), visit);
      }
    }
    if constexpr (has<sees_subtrees_t, Visit>) visit.finished(small_);
  }

  template <class Visit>
  void finish_leaf(index_t leaf, Visit& visit) {
    double* own = hold(leaf);
    std::fill_n(own, width_, 0.0);
    model_.observe(table_.row(leaf), own);
    visit(node_statistics{leaf, own}, nobody, nobody);
  }

  /// Of the two nodes held last one is made.
  template <class Visit>
  void finish_inner(index_t node, Visit& visit) {
    const auto held = static_cast<index_t>(held_.size());
    if constexpr (Generations == 1) {
      double* own = frame_of(held - 2);
      model_.merge(own, frame_of(held - 1));
      held_.pop_back();
      held_.back() = node;
      visit(node_statistics{node, own}, nobody, nobody);
    } else {
      made_.assign(frame_of(held - 2), frame_of(held - 2) + width_);
      model_.merge(made_.data(), frame_of(held - 1));
      auto left = held_at(held - 2);
      auto right = held_at(held - 1);
      if (left.node != tree_.left(node)) std::swap(left, right);
      visit(node_statistics{node, made_.data(), left.own, right.own}, left, right);
      keep_children(held - 2, left, right);
      held_.pop_back();
      held_.back() = node;
    }
  }

  void keep_children(index_t i, const node_statistics& left, const node_statistics& right) {
    made_.insert(made_.end(), left.own, left.own + width_);
    made_.insert(made_.end(), right.own, right.own + width_);
    std::copy(made_.begin(), made_.end(), frame_of(i));
  }

  /// A node on top of those held; what is to be held of it.
  [[nodiscard]] double* hold(index_t node) {
    held_.push_back(node);
    const auto held = static_cast<index_t>(held_.size());
    if (static_cast<index_t>(frames_.size()) < held * frame()) {
      frames_.resize(static_cast<std::size_t>(2 * held * frame()));
    }
    return frame_of(held - 1);
  }
  [[nodiscard]] double* frame_of(index_t i) noexcept { return frames_.data() + i * frame(); }
  [[nodiscard]] const double* frame_of(index_t i) const noexcept {
    return frames_.data() + i * frame();
  }
  [[nodiscard]] node_statistics held_at(index_t i) const noexcept {
    const index_t node = held_[static_cast<std::size_t>(i)];
    const double* own = frame_of(i);
    if (tree_.is_leaf(node)) return {node, own};
    return {node, own, own + width_, own + 2 * width_};
  }

  static constexpr node_statistics nobody{};

  const tree& tree_;
  const table_view& table_;
  const Model& model_;
  index_t width_;
  std::vector<index_t> held_;
  std::vector<double> frames_;  ///< of those held
  std::vector<double> made_;
  small_subtree small_;
  std::vector<std::pair<index_t, bool>> pending_;  // node, whether its children are done
  pacer pace_;
};

template <class Visitor>
using finish_visitor_t = decltype(std::declval<Visitor&>().finish());

/// Tells a visitor that looks for it that it has seen all it will.
template <class Visitor>
void finish_visitor(Visitor& visitor) {
  if constexpr (has<finish_visitor_t, Visitor>) visitor.finish();
}

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
  walk above(t, X, model);
  const index_t frame = above.frame();
  std::vector<double> done(static_cast<std::size_t>(count * frame));
  std::atomic<index_t> walked{0};
  const auto tick = [&] {
    progress.advance(walked.exchange(0));
    progress.tick();
  };
  const auto nothing = [](index_t) -> const double* { return nullptr; };
  team.run(
      groups,
      [&](int, index_t g) {
        walk below(t, X, model);
        for (index_t i = g * count / groups; i < (g + 1) * count / groups; ++i) {
          const index_t root = apart.roots()[static_cast<std::size_t>(i)];
          below.run(root, nothing, visitors[static_cast<std::size_t>(g)]);
          below.take(done.data() + i * frame);
          walked.fetch_add(2 * t.size(root) - 1);
        }
        finish_visitor(visitors[static_cast<std::size_t>(g)]);
      },
      tick);
  const auto given = [&](index_t node) -> const double* {
    return apart.has(node) ? done.data() + apart.number_of(node) * frame : nullptr;
  };
  for (const index_t root : t.roots()) {
    above.run(root, given, visitors.back());
    tick();
  }
  finish_visitor(visitors.back());
  return visitors;
}

/// Calls visit(node, const double* statistics) for every node, children before parents, on this
/// thread. O(nodes · width).
template <class Model, class Visit>
void for_each_node_statistics(const tree& t, const table_view& X, const Model& model,
                              const Visit& visit) {
  statistics_walk<1, Model> walk(t, X, model);
  const auto nothing = [](index_t) -> const double* { return nullptr; };
  for (const index_t root : t.roots()) {
    walk.run(root, nothing,
             [&](const node_statistics& node, const node_statistics&, const node_statistics&) {
               visit(node.node, node.own);
             });
  }
}

}  // namespace bhclust::detail

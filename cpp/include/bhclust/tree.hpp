/// @file
/// The one tree type: a forest of binary trees in flat columns, children before parents.
#pragma once

#include <bhclust/detail/memory.hpp>
#include <bhclust/types.hpp>

#include <cmath>
#include <string>
#include <utility>
#include <vector>

namespace bhclust {

/// What the cost column of a tree holds.
enum class cost_kind {
  none,        ///< nothing: the tree came from elsewhere
  log_d,       ///< log d of each merge, any sign (greedy BHC)
  divergence,  ///< d* >= 0 of each merge (RBHC)
};

/// A forest over n leaves. Nodes 0 … n-1 are the rows; merge t makes node n + t. Each node has at
/// most one parent, with a larger id. Several roots are a λ-forest; n - 1 merges are one tree.
class tree {
 public:
  tree() = default;

  [[nodiscard]] index_t leaves() const noexcept { return leaves_; }
  [[nodiscard]] index_t merges() const noexcept { return nodes() - leaves_; }
  [[nodiscard]] index_t nodes() const noexcept { return static_cast<index_t>(size_.size()); }
  [[nodiscard]] bool is_leaf(index_t node) const noexcept { return node < leaves_; }

  /// The two children of an inner node.
  [[nodiscard]] index_t left(index_t node) const noexcept { return children_[child(node)]; }
  [[nodiscard]] index_t right(index_t node) const noexcept { return children_[child(node) + 1]; }
  /// -1 at a root.
  [[nodiscard]] index_t parent(index_t node) const noexcept { return parent_[at(node)]; }
  /// Number of leaves below.
  [[nodiscard]] index_t size(index_t node) const noexcept { return size_[at(node)]; }

  /// 2 · merges() ids, two a merge.
  [[nodiscard]] const std::vector<index_t>& children() const noexcept { return children_; }
  [[nodiscard]] const std::vector<index_t>& parents() const noexcept { return parent_; }
  [[nodiscard]] const std::vector<index_t>& sizes() const noexcept { return size_; }
  /// What the algorithm minimised, one value a merge; empty when costs() is cost_kind::none.
  [[nodiscard]] const std::vector<double>& cost() const noexcept { return cost_; }
  [[nodiscard]] cost_kind costs() const noexcept { return costs_; }
  /// The cost of an inner node.
  [[nodiscard]] double cost(index_t node) const noexcept { return cost_[at(node - leaves_)]; }

  /// The roots in ascending order. O(nodes).
  [[nodiscard]] std::vector<index_t> roots() const {
    std::vector<index_t> found;
    for (index_t k = 0; k < nodes(); ++k) {
      if (parent(k) < 0) found.push_back(k);
    }
    return found;
  }

 private:
  friend class tree_builder;

  [[nodiscard]] static std::size_t at(index_t node) noexcept {
    return static_cast<std::size_t>(node);
  }
  [[nodiscard]] std::size_t child(index_t node) const noexcept {
    return static_cast<std::size_t>(2 * (node - leaves_));
  }

  index_t leaves_ = 0;
  std::vector<index_t> children_;
  std::vector<index_t> parent_;
  std::vector<index_t> size_;
  std::vector<double> cost_;
  cost_kind costs_ = cost_kind::none;
};

/// Grows a forest merge by merge and keeps its invariants.
class tree_builder {
 public:
  /// n >= 1 rows, no merge yet.
  explicit tree_builder(index_t leaves, cost_kind costs = cost_kind::none) {
    constexpr index_t bytes_a_leaf = 32;  // size and parent, of the leaf and of a merge
    require(leaves >= 1, "a tree needs at least one leaf");
    detail::require_memory(leaves, bytes_a_leaf,
                           [&] { return "trees of " + std::to_string(leaves) + " leaves"; });
    grown_.leaves_ = leaves;
    grown_.costs_ = costs;
    const auto n = static_cast<std::size_t>(leaves);
    detail::reserve_at_random(grown_.children_, 2 * n - 2);
    detail::reserve_at_random(grown_.size_, 2 * n - 1);
    detail::reserve_at_random(grown_.parent_, 2 * n - 1);
    grown_.size_.assign(n, 1);
    grown_.parent_.assign(n, -1);
  }

  /// Goes on from a forest.
  explicit tree_builder(tree grown) : grown_(std::move(grown)) {}

  [[nodiscard]] index_t nodes() const noexcept { return grown_.nodes(); }
  [[nodiscard]] index_t size(index_t node) const noexcept { return grown_.size(node); }

  /// Gives all merges so far costs, one each.
  void set_costs(std::vector<double> costs, cost_kind kind) {
    require(static_cast<index_t>(costs.size()) == grown_.merges(), "each merge needs one cost");
    grown_.cost_ = std::move(costs);
    grown_.costs_ = kind;
  }

  /// Merges two roots; the new node's id. Throws when either is not a root of what was built. The
  /// cost is kept when the tree has costs.
  index_t join(index_t a, index_t b, double cost = 0.0) {
    require_root(a);
    require_root(b);
    const index_t made = nodes();
    require(a != b, [&] {
      return "merge " + std::to_string(made - grown_.leaves_) + " joins node " + std::to_string(a) +
             " to itself";
    });
    grown_.children_.push_back(a);
    grown_.children_.push_back(b);
    grown_.parent_[tree::at(a)] = made;
    grown_.parent_[tree::at(b)] = made;
    grown_.size_.push_back(grown_.size(a) + grown_.size(b));
    grown_.parent_.push_back(-1);
    if (grown_.costs_ != cost_kind::none) grown_.cost_.push_back(cost);
    return made;
  }

  [[nodiscard]] tree finish() && { return std::move(grown_); }

 private:
  void require_root(index_t node) const {
    require(node >= 0 && node < nodes() && grown_.parent(node) < 0, [&] {
      return "merge " + std::to_string(grown_.merges()) + " names node " + std::to_string(node) +
             (node >= 0 && node < nodes() ? ", which was merged before"
                                          : ", which does not exist yet");
    });
  }

  tree grown_;
};

/// A forest from its merges: `children` holds two ids a merge, `cost` one value a merge, or nothing
/// for cost_kind::none.
[[nodiscard]] inline tree tree_from_children(index_t leaves, span<const index_t> children,
                                             span<const double> cost = {},
                                             cost_kind costs = cost_kind::none) {
  require(children.size() % 2 == 0, "children must hold two node ids a merge");
  const index_t merges = children.size() / 2;
  require(cost.size() == (costs == cost_kind::none ? 0 : merges), [&] {
    return "there are " + std::to_string(cost.size()) + " costs for " + std::to_string(merges) +
           " merges";
  });
  for (index_t t = 0; t < cost.size(); ++t) {
    require(std::isfinite(cost[t]), [&] {
      return "costs[" + std::to_string(t) + "] is " + std::to_string(cost[t]) +
             "; costs must be finite";
    });
  }
  tree_builder grown(leaves, costs);
  for (index_t t = 0; t < merges; ++t) {
    grown.join(children[2 * t], children[2 * t + 1], cost.empty() ? 0.0 : cost[t]);
  }
  return std::move(grown).finish();
}

}  // namespace bhclust

/// @file
/// A tree under change, with the statistics and the probabilities of its nodes.
#pragma once

#include <bhclust/detail/cluster_store.hpp>
#include <bhclust/detail/log_space.hpp>
#include <bhclust/inference/posterior.hpp>
#include <bhclust/progress.hpp>
#include <bhclust/tree.hpp>
#include <bhclust/types.hpp>

#include <algorithm>
#include <utility>
#include <vector>

namespace bhclust::detail {

/// A move must gain more than rounding can.
[[nodiscard]] inline bool rises(double after, double before) noexcept {
  return after > before + 1e-10 * std::max(1.0, std::fabs(before));
}

/// What a tree knows of a node and all above it.
struct saved_path {
  explicit saved_path(index_t width) : statistics(width) {}

  std::vector<index_t> nodes;  ///< from the bottom up
  statistics_block statistics;
  std::vector<index_t> size;
  std::vector<double> log_h, log_t;
};

/// Nodes keep their numbers while links change: 0 … n-1 are leaves, the rest inner nodes, whose
/// order says nothing. Each knows its parent, children, size in rows, statistics, log p̃_H and log
/// p̃_T. Rows of the table beyond the tree's leaves are leaves that hang nowhere yet.
template <class Model>
class mutable_tree {
 public:
  mutable_tree(const tree& t, const table_view& X, const Model& model, double alpha)
      : leaves_(X.rows()), model_(model), alpha_(alpha), statistics_(model.width()) {
    statistics_.reserve(2 * leaves_ - 1);
    const auto name = [&](index_t k) { return k < t.leaves() ? k : k + leaves_ - t.leaves(); };
    for (index_t i = 0; i < leaves_; ++i) {
      append_node();
      size_[at(i)] = X.weight(i);
      model_.observe(X.row(i), statistics_[i]);
      log_h_[at(i)] = log_t_[at(i)] = log_one(i);
    }
    for (index_t k = t.leaves(); k < t.nodes(); ++k) {
      const index_t own = append_node();
      set_children(own, name(t.left(k)), name(t.right(k)));
      update(own);
    }
  }

  [[nodiscard]] const Model& model() const noexcept { return model_; }
  [[nodiscard]] double alpha() const noexcept { return alpha_; }
  [[nodiscard]] index_t nodes() const noexcept { return static_cast<index_t>(parent_.size()); }
  [[nodiscard]] index_t leaves() const noexcept { return leaves_; }
  [[nodiscard]] bool is_leaf(index_t k) const noexcept { return k < leaves_; }
  [[nodiscard]] index_t parent(index_t k) const noexcept { return parent_[at(k)]; }
  [[nodiscard]] index_t left(index_t k) const noexcept { return left_[at(k)]; }
  [[nodiscard]] index_t right(index_t k) const noexcept { return right_[at(k)]; }
  [[nodiscard]] index_t sibling(index_t k) const noexcept {
    const index_t up = parent(k);
    return left(up) == k ? right(up) : left(up);
  }
  [[nodiscard]] index_t size(index_t k) const noexcept { return size_[at(k)]; }
  [[nodiscard]] double log_h(index_t k) const noexcept { return log_h_[at(k)]; }
  [[nodiscard]] double log_t(index_t k) const noexcept { return log_t_[at(k)]; }

  [[nodiscard]] const double* statistics(index_t k) const noexcept { return statistics_[k]; }

  /// log p̃_H of the union of two disjoint nodes: one marginal likelihood.
  [[nodiscard]] double log_h_of_union(index_t a, index_t b) {
    pace_(model_.width() * model_.width());
    scratch_.assign(statistics_[a], statistics_[a] + model_.width());
    model_.merge(scratch_.data(), statistics_[b]);
    return log_one_cluster(alpha_, size(a) + size(b), model_.log_marginal(scratch_.data()));
  }

  void set_children(index_t k, index_t a, index_t b) {
    left_[at(k)] = a;
    right_[at(k)] = b;
    parent_[at(a)] = parent_[at(b)] = k;
  }

  /// `after` takes the place of `before` below before's parent (or as a root).
  void replace(index_t before, index_t after) {
    const index_t up = parent(before);
    parent_[at(after)] = up;
    if (up < 0) return;
    (left(up) == before ? left_ : right_)[at(up)] = after;
  }

  /// A new node with the children `place` and `leaf` where `place` was; those above know nothing of
  /// it yet. The node.
  index_t insert_above(index_t place, index_t leaf) {
    const index_t made = append_node();
    replace(place, made);
    set_children(made, place, leaf);
    return made;
  }

  /// Statistics and probabilities of an inner node from its children's.
  void update(index_t k) {
    std::copy_n(statistics_[left(k)], model_.width(), statistics_[k]);
    model_.merge(statistics_[k], statistics_[right(k)]);
    size_[at(k)] = size(left(k)) + size(right(k));
    log_h_[at(k)] = log_one(k);
    update_log_t(k);
  }

  /// log p̃_T alone: for changes below k that leave its rows.
  void update_log_t(index_t k) {
    log_t_[at(k)] = log_add_exp(log_h(k), log_t(left(k)) + log_t(right(k)));
  }

  [[nodiscard]] saved_path path_from(index_t k) const {
    saved_path saved(model_.width());
    for (index_t up = k; up >= 0; up = parent(up)) saved.nodes.push_back(up);
    saved.statistics.reserve(static_cast<index_t>(saved.nodes.size()));
    for (; k >= 0; k = parent(k)) {
      std::copy_n(statistics_[k], model_.width(), saved.statistics.append());
      saved.size.push_back(size(k));
      saved.log_h.push_back(log_h(k));
      saved.log_t.push_back(log_t(k));
    }
    return saved;
  }

  /// After the links are again as they were.
  void restore(const saved_path& saved) {
    for (std::size_t i = 0; i < saved.nodes.size(); ++i) {
      const index_t k = saved.nodes[i];
      std::copy_n(saved.statistics[static_cast<index_t>(i)], model_.width(), statistics_[k]);
      size_[at(k)] = saved.size[i];
      log_h_[at(k)] = saved.log_h[i];
      log_t_[at(k)] = saved.log_t[i];
    }
  }

  /// All nodes, children before parents; in which order else depends on the links alone.
  [[nodiscard]] std::vector<index_t> postorder() const {
    std::vector<index_t> order;
    order.reserve(parent_.size());
    std::vector<index_t> pending;
    for (index_t k = nodes() - 1; k >= 0; --k) {
      if (parent(k) < 0) pending.push_back(k);
    }
    while (!pending.empty()) {  // parents first, then turned round
      const index_t k = pending.back();
      pending.pop_back();
      order.push_back(k);
      if (is_leaf(k)) continue;
      pending.push_back(left(k));
      pending.push_back(right(k));
    }
    std::reverse(order.begin(), order.end());
    return order;
  }

  /// With log d of each merge or without costs.
  [[nodiscard]] tree finish(cost_kind costs = cost_kind::none) const {
    tree_builder grown(leaves_, costs);
    std::vector<index_t> name(parent_.size());
    for (const index_t k : postorder()) {
      name[at(k)] = is_leaf(k) ? k : grown.join(name[at(left(k))], name[at(right(k))], log_d(k));
    }
    return std::move(grown).finish();
  }

 private:
  [[nodiscard]] static std::size_t at(index_t k) noexcept { return static_cast<std::size_t>(k); }
  [[nodiscard]] double log_d(index_t k) const {
    return (log_t(left(k)) + log_t(right(k))) - log_h(k);
  }
  index_t append_node() {
    statistics_.append();
    for (auto* links : {&parent_, &left_, &right_}) links->push_back(-1);
    size_.push_back(1);
    log_h_.push_back(0.0);
    log_t_.push_back(0.0);
    return nodes() - 1;
  }
  [[nodiscard]] double log_one(index_t k) {
    pace_(model_.width() * model_.width());
    return log_one_cluster(alpha_, size(k), model_.log_marginal(statistics_[k]));
  }

  index_t leaves_;
  Model model_;
  double alpha_;
  statistics_block statistics_;
  std::vector<double> scratch_;
  std::vector<index_t> parent_, left_, right_, size_;
  std::vector<double> log_h_, log_t_;
  pacer pace_;
};

}  // namespace bhclust::detail

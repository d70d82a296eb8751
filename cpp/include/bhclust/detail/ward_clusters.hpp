/// @file
/// What Ward's method works on: weighted points in slots, and where each node of the tree is.
#pragma once

#include <bhclust/detail/cluster_store.hpp>
#include <bhclust/types.hpp>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

namespace bhclust::detail {

/// Node ids and slots of Ward's rounds: half the memory of index_t. Bounds n to 2^29 rows.
using ward_id = std::int32_t;

/// Σ (x_j - y_j)² of d terms, the same to the last bit with x and y exchanged. Eight partial sums,
/// whatever the target, so that a processor need not wait for each addition.
[[nodiscard]] inline double squared_distance(const double* x, const double* y, index_t d) noexcept {
  constexpr index_t width = 8;
  double part[width] = {};
  index_t j = 0;
  for (; j + width <= d; j += width) {
    for (index_t l = 0; l < width; ++l) {
      const double apart = x[j + l] - y[j + l];
      part[l] += apart * apart;
    }
  }
  double rest = 0.0;
  for (; j < d; ++j) rest += (x[j] - y[j]) * (x[j] - y[j]);
  if (d < width) return rest;
  return ((part[0] + part[4]) + (part[2] + part[6])) + ((part[1] + part[5]) + (part[3] + part[7])) +
         rest;
}

/// Clusters in slots: their means (d doubles a slot), sizes and nodes. A slot without a cluster has
/// node -1.
class ward_clusters {
 public:
  /// d* itself is what searches by means and sizes bound.
  static constexpr bool is_ward = true;

  struct screened {};

  explicit ward_clusters(index_t columns) : d_(columns) {}

  /// What squared distances may be off by beyond their share.
  [[nodiscard]] static double rounding() noexcept { return 0.0; }
  [[nodiscard]] static index_t scratch() noexcept { return 0; }

  [[nodiscard]] index_t columns() const noexcept { return d_; }
  [[nodiscard]] index_t slots() const noexcept { return static_cast<index_t>(node_.size()); }
  [[nodiscard]] index_t live() const noexcept { return live_; }
  [[nodiscard]] const double* mean(index_t slot) const noexcept { return mean_.data() + slot * d_; }
  [[nodiscard]] double size(index_t slot) const noexcept { return size_[at(slot)]; }
  [[nodiscard]] ward_id node(index_t slot) const noexcept { return node_[at(slot)]; }
  [[nodiscard]] bool occupied(index_t slot) const noexcept { return node(slot) >= 0; }

  /// d* of two slots in the columns' units: n_a n_b / (n_a + n_b) ‖ȳ_a - ȳ_b‖².
  [[nodiscard]] double cost(index_t a, index_t b) const noexcept {
    const double n = size(a);
    const double m = size(b);
    return squared_distance(mean(a), mean(b), d_) * (n * m / (n + m));
  }

  void reserve(index_t slots) {
    mean_.reserve(at(slots * d_));
    size_.reserve(at(slots));
    node_.reserve(at(slots));
  }

  void append(const double* mean, double size, ward_id node) {
    mean_.insert(mean_.end(), mean, mean + d_);
    size_.push_back(size);
    node_.push_back(node);
    ++live_;
  }

  /// Slot a becomes the union, slot b is left empty; the count of live clusters is the caller's to
  /// lower, since several threads may join slots of their own.
  void join(index_t a, index_t b, ward_id made) noexcept {
    const double n = size(a) + size(b);
    const double share = size(b) / n;
    double* to = mean_.data() + a * d_;
    const double* from = mean(b);
    for (index_t j = 0; j < d_; ++j) to[j] += share * (from[j] - to[j]);
    size_[at(a)] = n;
    node_[at(a)] = made;
    node_[at(b)] = -1;
  }

  void rename(index_t slot, double size, ward_id node) noexcept {
    size_[at(slot)] = size;
    node_[at(slot)] = node;
  }

  void lower_live(index_t by) noexcept { live_ -= by; }

  void vacate(index_t slot) noexcept {
    node_[at(slot)] = -1;
    --live_;
  }

  /// Keeps the named slots (ascending), in their order.
  void keep(const std::vector<index_t>& kept) {
    index_t to = 0;
    for (const index_t from : kept) {
      if (to != from) std::copy_n(mean(from), d_, mean_.data() + to * d_);
      ++to;
    }
    mean_.resize(at(to * d_));
    keep_entries(size_, kept);
    keep_entries(node_, kept);
  }

  /// Puts slot order[i] in slot i.
  void reorder(const std::vector<ward_id>& order) {
    std::vector<double> mean(at(static_cast<index_t>(order.size()) * d_));
    for (index_t to = 0; to < static_cast<index_t>(order.size()); ++to) {
      std::copy_n(this->mean(order[at(to)]), d_, mean.data() + to * d_);
    }
    mean_.swap(mean);
    reorder_entries(size_, order, 1);
    reorder_entries(node_, order, 1);
  }

  /// The same for a flat column of `width` entries a slot.
  template <class T>
  static void reorder_entries(std::vector<T>& column, const std::vector<ward_id>& order,
                              index_t width) {
    std::vector<T> moved(order.size() * at(width));
    for (std::size_t to = 0; to < order.size(); ++to) {
      std::copy_n(column.data() + order[to] * width, width,
                  moved.data() + static_cast<index_t>(to) * width);
    }
    column.swap(moved);
  }

 private:
  [[nodiscard]] static std::size_t at(index_t i) noexcept { return static_cast<std::size_t>(i); }

  index_t d_;
  index_t live_ = 0;
  std::vector<double> mean_;
  std::vector<double> size_;
  std::vector<ward_id> node_;
};

/// Where the cluster of a node is now: in its slot, in the slot of what it was merged into, or
/// gone.
class ward_places {
 public:
  struct place {
    ward_id node = -1;  ///< -1: gone
    ward_id slot = -1;
  };

  explicit ward_places(index_t nodes) : place_(static_cast<std::size_t>(nodes), gone) {}

  void put(ward_id node, index_t slot) noexcept { (*this)[node] = static_cast<ward_id>(slot); }
  void merge(ward_id node, ward_id into) noexcept { (*this)[node] = -1 - into; }
  void remove(ward_id node) noexcept { (*this)[node] = gone; }

  /// The slot of a live node, negative for others.
  [[nodiscard]] ward_id slot(ward_id node) const noexcept {
    return place_[static_cast<std::size_t>(node)];
  }

  [[nodiscard]] place find(ward_id node) const noexcept {
    ward_id here = slot(node);
    while (here < 0) {
      if (here == gone) return {};
      node = -1 - here;
      here = slot(node);
    }
    return {node, here};
  }

 private:
  static constexpr ward_id gone = std::numeric_limits<ward_id>::min();
  [[nodiscard]] ward_id& operator[](ward_id node) noexcept {
    return place_[static_cast<std::size_t>(node)];
  }

  std::vector<ward_id> place_;
};

}  // namespace bhclust::detail

/// @file
/// The nearest clusters of a cluster, and proofs that nothing else is nearer.
#pragma once

#include <bhclust/detail/cluster_store.hpp>
#include <bhclust/detail/ward_clusters.hpp>
#include <bhclust/types.hpp>

#include <algorithm>
#include <array>
#include <limits>
#include <vector>

namespace bhclust::detail {

/// A neighbour in a list. Order: cost, then node, which is the order (cost, smaller id, larger id)
/// of the pairs that one cluster is in.
struct ward_neighbour {
  double cost = std::numeric_limits<double>::infinity();
  ward_id node = -1;

  friend bool operator<(const ward_neighbour& a, const ward_neighbour& b) noexcept {
    return a.cost < b.cost || (a.cost == b.cost && a.node < b.node);
  }
};

/// The least few of the neighbours offered, in order; each node once.
class short_list {
 public:
  static constexpr index_t longest = 6;

  short_list() = default;
  /// Takes neighbours that cost less than `limit` only.
  short_list(index_t capacity, double limit) : capacity_(capacity), limit_(limit) {}

  [[nodiscard]] index_t size() const noexcept { return size_; }
  [[nodiscard]] const ward_neighbour& operator[](index_t i) const noexcept { return entry_[at(i)]; }
  /// What is not in the list, and was offered or need not be, costs at least this.
  [[nodiscard]] double beyond() const noexcept {
    return size_ == capacity_ ? entry_[at(size_ - 1)].cost : limit_;
  }

  void offer(const ward_neighbour& candidate) noexcept {
    if (!(candidate.cost < limit_)) return;
    if (size_ == capacity_ && !(candidate < entry_[at(size_ - 1)])) return;
    for (index_t i = 0; i < size_; ++i) {
      if (entry_[at(i)].node == candidate.node) return;
    }
    index_t to = size_ < capacity_ ? size_++ : size_ - 1;
    for (; to > 0 && candidate < entry_[at(to - 1)]; --to) entry_[at(to)] = entry_[at(to - 1)];
    entry_[at(to)] = candidate;
  }

 private:
  [[nodiscard]] static std::size_t at(index_t i) noexcept { return static_cast<std::size_t>(i); }

  index_t capacity_ = 1;
  double limit_ = std::numeric_limits<double>::infinity();
  index_t size_ = 0;
  std::array<ward_neighbour, longest> entry_{};
};

/// One short list a slot and a bound on the cost of everything outside it. Ward's cost is reducible
/// (a union is no nearer than the nearer of its parts), so the bound holds while others merge; the
/// entries are brought up to date when they are looked at. Costs of λ or more are not kept.
class nearest_lists {
 public:
  nearest_lists(index_t slots, index_t length, double lambda, index_t columns)
      : length_(length),
        lambda_(lambda),
        shrink_(1.0 - 0x1p-49 * static_cast<double>(columns + 16)),
        cost_(at(slots * length)),
        node_(at(slots * length), -1),
        bound_(at(slots), -std::numeric_limits<double>::infinity()) {}

  [[nodiscard]] index_t length() const noexcept { return length_; }
  [[nodiscard]] short_list empty_list() const { return {length_, lambda_}; }
  /// Below everything outside the slot's list, rounding allowed for; -inf where nothing is known.
  [[nodiscard]] double bound(index_t slot) const noexcept { return bound_[at(slot)]; }

  /// Keeps what a search found.
  void put(index_t slot, const short_list& found) noexcept {
    put(slot, found, found.beyond() * shrink_);
  }

  /// The slot's list as of now.
  template <class Clusters>
  [[nodiscard]] short_list current(index_t slot, const Clusters& clusters,
                                   const ward_places& places) const noexcept {
    short_list list = empty_list();
    for (index_t i = 0; i < length_ && node_[at(slot * length_ + i)] >= 0; ++i) {
      const ward_id before = node_[at(slot * length_ + i)];
      const auto now = places.find(before);
      if (now.node < 0) continue;
      const double cost =
          now.node == before ? cost_[at(slot * length_ + i)] : clusters.cost(slot, now.slot);
      list.offer({cost, now.node});
    }
    return list;
  }

  void put(index_t slot, const short_list& list, double bound) noexcept {
    for (index_t i = 0; i < length_; ++i) {
      cost_[at(slot * length_ + i)] = list[i].cost;
      node_[at(slot * length_ + i)] = i < list.size() ? list[i].node : -1;
    }
    bound_[at(slot)] = bound;
  }

  /// The list of a union, which is in slot a already, from those of its parts, whose sizes were n
  /// and m and which cost `cost`; all merges of the round must be in `places`. For x outside both
  /// lists d*(ab, x) = [(n + n_x) d*(a, x) + (m + n_x) d*(b, x) - n_x cost] / (n + m + n_x) (Lance
  /// and Williams), which is monotone in n_x >= 1.
  template <class Clusters>
  void join(index_t a, index_t b, double n, double m, double cost, const Clusters& clusters,
            const ward_places& places) noexcept {
    const double p = bound(a);
    const double q = bound(b);
    const double smallest = ((n + 1.0) * p + (m + 1.0) * q - cost) / (n + m + 1.0);
    const double largest = p + q - cost;
    short_list list = empty_list();
    double dropped = lambda_;
    for (const index_t part : {a, b}) {
      for (index_t i = 0; i < length_ && node_[at(part * length_ + i)] >= 0; ++i) {
        const auto now = places.find(node_[at(part * length_ + i)]);
        if (now.node < 0 || now.slot == a) continue;
        const double is = clusters.cost(a, now.slot);
        if (list.size() == length_) dropped = std::min(dropped, std::max(is, list.beyond()));
        list.offer({is, now.node});
      }
    }
    put(a, list, std::min({smallest * shrink_, largest * shrink_, dropped}));
  }

  /// Nothing is known of the slot's neighbours.
  void forget(index_t slot) noexcept {
    put(slot, empty_list(), -std::numeric_limits<double>::infinity());
  }

  void keep(const std::vector<index_t>& kept) {
    index_t to = 0;
    for (const index_t from : kept) {
      std::copy_n(cost_.data() + from * length_, length_, cost_.data() + to * length_);
      std::copy_n(node_.data() + from * length_, length_, node_.data() + to * length_);
      ++to;
    }
    cost_.resize(at(to * length_));
    node_.resize(at(to * length_));
    keep_entries(bound_, kept);
  }

  void reorder(const std::vector<ward_id>& order) {
    ward_clusters::reorder_entries(cost_, order, length_);
    ward_clusters::reorder_entries(node_, order, length_);
    ward_clusters::reorder_entries(bound_, order, 1);
  }

 private:
  [[nodiscard]] static std::size_t at(index_t i) noexcept { return static_cast<std::size_t>(i); }

  index_t length_;
  double lambda_;
  double shrink_;
  std::vector<double> cost_;
  std::vector<ward_id> node_;
  std::vector<double> bound_;
};

}  // namespace bhclust::detail

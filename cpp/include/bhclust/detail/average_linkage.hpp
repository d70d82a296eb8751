/// @file
/// Average linkage of a few items.
#pragma once

#include <bhclust/detail/simd.hpp>
#include <bhclust/tree.hpp>
#include <bhclust/types.hpp>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

namespace bhclust::detail {

/// The tree of average linkage from the costs of pairs, by chains of nearest neighbours (Murtagh
/// 1983): each item of a chain is followed by the one it costs least with, the earliest of equals,
/// and two that are each other's are merged. Merges are in the order in which chains find them.
/// O(n²) time; n² doubles and a few. Reusable.
class average_linkage {
 public:
  /// Room for the costs of n items, n >= 1.
  void resize(index_t n) {
    n_ = n;
    stride_ = (n + lanes::count - 1) / lanes::count * lanes::count;
    cost_.resize(std::max(cost_.size(), at(n * stride_)));
    for (index_t i = 0; i < n; ++i) row(i)[i] = infinite;
    gone_.assign(at(stride_), infinite);
    std::fill_n(gone_.begin(), n, 0.0);
  }

  /// Costs of item i with those before it, to be written all before the run.
  [[nodiscard]] double* costs_before(index_t i) noexcept { return row(i); }

  /// Once after each resize.
  [[nodiscard]] tree run() {
    tree_builder grown(n_);
    mirror();
    node_.resize(at(n_));
    for (index_t i = 0; i < n_; ++i) node_[at(i)] = i;
    chain_.clear();
    for (index_t live = n_; live > 1;) {
      if (chain_.empty()) chain_.push_back(first_live(-1));
      const index_t next = follower();
      if (chain_.size() < 2 || next != chain_[chain_.size() - 2]) {
        chain_.push_back(next);
        continue;
      }
      const index_t a = std::min(next, chain_.back());
      const index_t b = std::max(next, chain_.back());
      chain_.resize(chain_.size() - 2);
      merge(grown, a, b);
      --live;
    }
    return std::move(grown).finish();
  }

 private:
  static constexpr double infinite = std::numeric_limits<double>::infinity();

  [[nodiscard]] static std::size_t at(index_t i) noexcept { return static_cast<std::size_t>(i); }
  [[nodiscard]] double* row(index_t i) noexcept { return cost_.data() + i * stride_; }

  void mirror() noexcept {
    for (index_t i = 1; i < n_; ++i) {
      for (index_t j = 0; j < i; ++j) row(j)[i] = row(i)[j];
    }
  }

  [[nodiscard]] index_t first_live(index_t but) const noexcept {
    index_t i = 0;
    while (node_[at(i)] < 0 || i == but) ++i;
    return i;
  }

  /// The last but one of the chain, unless another costs less: chains then never run in circles.
  [[nodiscard]] index_t follower() noexcept {
    const double* costs = row(chain_.back());
    lanes least = lanes::all(infinite);
    for (index_t k = 0; k < stride_; k += lanes::count) least = smaller(cost(costs, k), least);
    const double lowest = smallest(least);
    if (chain_.size() >= 2) {
      const index_t before = chain_[chain_.size() - 2];
      if (!(lowest < costs[before])) return before;
    }
    if (!(lowest < infinite)) return first_live(chain_.back());
    index_t k = 0;
    std::uint64_t found = 0;
    while ((found = bits_at_most(cost(costs, k), lanes::all(lowest))) == 0) k += lanes::count;
    return k + lowest_bit(found);
  }

  /// Those of items k … k + 7 that are left.
  [[nodiscard]] lanes cost(const double* costs, index_t k) const noexcept {
    return lanes::load(costs + k) + lanes::load(gone_.data() + k);
  }

  /// a becomes the union, b is dead.
  void merge(tree_builder& grown, index_t a, index_t b) {
    const auto size_a = static_cast<double>(grown.size(node_[at(a)]));
    const auto size_b = static_cast<double>(grown.size(node_[at(b)]));
    node_[at(a)] = grown.join(node_[at(a)], node_[at(b)]);
    node_[at(b)] = -1;
    gone_[at(b)] = infinite;
    double* costs = row(a);
    const double* others = row(b);
    const double share = size_b / (size_a + size_b);
    for (index_t k = 0; k < stride_; k += lanes::count) {
      (lanes::load(costs + k) * (1.0 - share) + lanes::load(others + k) * share).store(costs + k);
    }
    for (index_t k = 0; k < n_; ++k) row(k)[a] = costs[k];
  }

  index_t n_ = 0;
  index_t stride_ = 0;  ///< n_, filled up to whole lanes
  std::vector<double> cost_;
  std::vector<double> gone_;   ///< 0 of items that are left, infinite of all else
  std::vector<index_t> node_;  ///< of each item that is left, -1 of the others
  std::vector<index_t> chain_;
};

}  // namespace bhclust::detail

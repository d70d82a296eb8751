/// @file
/// Costs of merges by the log marginal likelihood of a partition.
#pragma once

#include <bhclust/concentration.hpp>
#include <bhclust/detail/cluster_store.hpp>
#include <bhclust/detail/special.hpp>
#include <bhclust/tree.hpp>
#include <bhclust/types.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

namespace bhclust::detail {

/// The cost of a pair is what its union takes from the log marginal likelihood of the partition;
/// merges end where it would fall. Tells the slots of the clusters that are left, and the costs.
class partition_rule {
 public:
  static constexpr cost_kind costs = cost_kind::none;

  struct outcome {
    std::vector<index_t> left;  ///< the size of each slot at the end, 0 for those merged away
    std::vector<double> costs;  ///< of each merge
  };

  /// `most` > 0: merges end instead when so many clusters are left.
  partition_rule(std::vector<index_t> sizes, double alpha, outcome& found, index_t most = 0)
      : log_alpha_(std::log(alpha)), left_(&found.left), costs_(&found.costs), most_(most) {
    *left_ = std::move(sizes);
    live_ = static_cast<index_t>(left_->size());
    for (const index_t size : *left_) weight_.push_back(log_gamma(static_cast<double>(size)));
  }

  [[nodiscard]] double cost(index_t a, index_t b, double gain) const { return offset(a, b) - gain; }
  [[nodiscard]] double offset(index_t a, index_t b) const {
    return (weight_[at(a)] + weight_[at(b)]) + union_term((*left_)[at(a)] + (*left_)[at(b)]);
  }
  /// Of a cluster of one row.
  [[nodiscard]] double row_offset(index_t a) const {
    return (weight_[at(a)] + 0.0) + union_term((*left_)[at(a)] + 1);
  }
  void retire(index_t slot) {
    weight_[at(slot)] = std::numeric_limits<double>::infinity();
    retired_ += std::exchange((*left_)[at(slot)], 0);
  }
  void append(double cost, index_t) {
    costs_->push_back(cost);
    --live_;
    left_->push_back(std::exchange(retired_, 0));
    weight_.push_back(log_gamma(static_cast<double>(left_->back())));
  }
  void keep(const std::vector<index_t>& slots) {
    keep_entries(*left_, slots);
    keep_entries(weight_, slots);
  }
  [[nodiscard]] bool goes_on(double cost) const noexcept {
    return most_ > 0 ? live_ > most_ : cost < 0.0;
  }

 private:
  [[nodiscard]] static std::size_t at(index_t i) noexcept { return static_cast<std::size_t>(i); }
  /// A dead slot makes 0 rows of nothing: its weight decides.
  [[nodiscard]] double union_term(index_t size) const {
    return log_alpha_ - log_gamma(static_cast<double>(std::max<index_t>(size, 1)));
  }

  double log_alpha_;
  std::vector<double> weight_;
  std::vector<index_t>* left_;
  std::vector<double>* costs_;
  index_t most_;
  index_t live_ = 0;
  index_t retired_ = 0;
};

}  // namespace bhclust::detail

/// @file
/// Log marginal likelihoods, eight clusters at a time, as models have faster ways to many.
#pragma once

#include <bhclust/types.hpp>

#include <algorithm>
#include <vector>

namespace bhclust::detail {

/// Gathers statistics and hands out their log marginal likelihoods, in order, some calls later.
template <class Model>
class marginal_batch {
 public:
  explicit marginal_batch(const Model& model) : model_(&model) {}

  /// Takes the statistics of a cluster whose value give(id, value) is to get, by flush at last.
  template <class Give>
  void add(index_t id, const double* statistics, const Give& give) {
    const auto width = model_->width();
    if (statistics_.empty()) statistics_.resize(static_cast<std::size_t>(most * width));
    std::copy_n(statistics, width, statistics_.data() + count_ * width);
    ids_[count_++] = id;
    if (count_ == most) flush(give);
  }

  template <class Give>
  void flush(const Give& give) {
    if (count_ == 0) return;
    double values[most];
    model_->log_marginals(statistics_.data(), count_, values);
    for (index_t i = 0; i < count_; ++i) give(ids_[i], values[i]);
    count_ = 0;
  }

  /// The same, and gives its memory back.
  template <class Give>
  void finish(const Give& give) {
    flush(give);
    std::vector<double>().swap(statistics_);
  }

 private:
  static constexpr index_t most = 8;

  const Model* model_;
  std::vector<double> statistics_;
  index_t ids_[most] = {};
  index_t count_ = 0;
};

}  // namespace bhclust::detail

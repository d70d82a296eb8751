/// @file
/// The curve of a cluster of time series.
#pragma once

#include <bhclust/family.hpp>
#include <bhclust/family/gaussian_process.hpp>
#include <bhclust/types.hpp>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

namespace bhclust {

/// What a cluster's rows tell of its curve, at one time after another. The next row's cells have
/// the family's noise as further variance.
struct posterior_curve {
  std::vector<double> mean, variance;
};

namespace detail {

/// The prior mean between columns: straight from one time to the next, level beyond the ends.
class mean_over_time {
 public:
  mean_over_time(std::vector<double> times, const GaussianProcess& family)
      : times_(std::move(times)), order_(times_.size()) {
    for (std::size_t j = 0; j < times_.size(); ++j) {
      mean_.push_back(family.mean[static_cast<index_t>(j)]);
    }
    std::iota(order_.begin(), order_.end(), std::size_t{0});
    std::stable_sort(order_.begin(), order_.end(),
                     [this](std::size_t a, std::size_t b) { return times_[a] < times_[b]; });
  }

  [[nodiscard]] double operator()(double t) const {
    const auto next = std::lower_bound(order_.begin(), order_.end(), t,
                                       [this](std::size_t j, double x) { return times_[j] < x; });
    if (next == order_.end()) return mean_[order_.back()];
    if (next == order_.begin() || times_[*next] == t) return mean_[*next];
    const std::size_t before = *(next - 1);
    const double share =
        (0.5 * t - 0.5 * times_[before]) / (0.5 * times_[*next] - 0.5 * times_[before]);
    return mean_[before] + share * (mean_[*next] - mean_[before]);
  }

 private:
  std::vector<double> times_, mean_;
  std::vector<std::size_t> order_;
};

}  // namespace detail

/// The posterior of the curve that all rows of X are about, at any times; these may lie between and
/// beyond the columns'. O(n T + T³ + T² for each time).
[[nodiscard]] inline posterior_curve curve_of(const GaussianProcess& family, const table_view& X,
                                              const std::vector<double>& times) {
  const auto model = bind(family, X);
  for (const double t : times) {
    require(std::fabs(t) <= 1e150, [&] {
      return "times hold " + detail::number(t) + "; they must be finite and at most 1e150";
    });
  }
  std::vector<double> cluster(static_cast<std::size_t>(model.width()), 0.0);
  for (index_t i = 0; i < X.rows(); ++i) model.observe(X.row(i), cluster.data());
  const auto columns = family.times_of(X.columns());
  const auto kernel = family.kernel_over(columns);
  const detail::wide amplitude = family.amplitude[0];
  std::vector<std::vector<detail::wide>> cross;
  std::vector<detail::wide> own;
  for (const double t : times) {
    own.push_back(amplitude * kernel(t, t));
    auto& row = cross.emplace_back();
    for (const double s : columns) row.push_back(amplitude * kernel(t, s));
  }
  const detail::mean_over_time mean(columns, family);
  posterior_curve found;
  const auto points = model.base().curve(cluster.data(), cross, own);
  for (std::size_t p = 0; p < times.size(); ++p) {
    found.mean.push_back(mean(times[p]) + points[p].offset);
    found.variance.push_back(points[p].variance);
  }
  return found;
}

}  // namespace bhclust

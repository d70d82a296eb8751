/// @file
/// A family of a user's own, which takes its time and counts its scores.
#pragma once

#include <bhclust/types.hpp>

#include <atomic>
#include <cmath>
#include <memory>

namespace testkit {

/// Reals in one column: Normal(mean, 1), mean ~ Normal(0, 100). As little as the concept asks for.
struct slow_family {
  int delay = 0;
  std::shared_ptr<std::atomic<long>> scores = std::make_shared<std::atomic<long>>(0);

  [[nodiscard]] static bhclust::index_t width(bhclust::index_t /*columns*/) { return 3; }

  static void observe(const bhclust::row_view& row, double* t) {
    const double x = row.value(0);
    t[0] += 1.0;
    t[1] += x;
    t[2] += x * x;
  }

  [[nodiscard]] double log_marginal(const double* t) const {
    scores->fetch_add(1, std::memory_order_relaxed);
    const double precision = t[0] + 0.01;
    double value = 0.5 * (std::log(0.01 / precision) - t[0] * std::log(6.283185307179586) - t[2] +
                          t[1] * t[1] / precision);
    for (int i = 0; i < delay; ++i) value += 1e-300 * std::sin(value);
    return value;
  }

  /// Half the squared norm of the mean, so that the cost is Ward's.
  [[nodiscard]] double potential(const double* t) const {
    scores->fetch_add(1, std::memory_order_relaxed);
    double value = t[0] == 0.0 ? 0.0 : 0.5 * t[1] * t[1] / t[0];
    for (int i = 0; i < delay; ++i) value += 1e-300 * std::sin(value);
    return value;
  }
};

}  // namespace testkit

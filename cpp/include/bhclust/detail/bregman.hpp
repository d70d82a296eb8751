/// @file
/// Bregman divergences without cancellation: each part of a merge's cost is a sum of terms >= 0
/// that are small because their arguments are close, not because large numbers were subtracted.
#pragma once

#include <bhclust/detail/log_space.hpp>
#include <bhclust/detail/moments.hpp>
#include <bhclust/types.hpp>

#include <cmath>

namespace bhclust::detail {

/// (1 + x) ln(1 + x) - x for x >= -1: x²/2 near 0, never negative. Relative error 1e-15.
[[nodiscard]] inline double entropy_excess(double x) noexcept {
  if (std::fabs(x) > 0.25) return x_log_x(1.0 + x) - x;
  return (1.0 + x) * log1p_gap(-x / (1.0 + x));
}

/// u ln(u / v) - u + v for u = v + shift >= 0, v > 0: the generalised Kullback-Leibler divergence.
[[nodiscard]] inline double kl_term(double v, double shift) noexcept {
  return v * entropy_excess(shift / v);
}

/// The pooled mean of two clusters, and where the clusters' own means lie from it.
struct mean_shifts {
  double mean, first, second;
};

/// From sizes and sums. Exact zeros for equal means while the products stay below 2^53 (counts);
/// swapping the clusters swaps the shifts to the last bit.
[[nodiscard]] inline mean_shifts shifts_of_sums(double n0, double sum0, double n1,
                                                double sum1) noexcept {
  const double n = n0 + n1;
  const double cross = sum0 * n1 - sum1 * n0;
  return {(sum0 + sum1) / n, cross / (n0 * n), -cross / (n1 * n)};
}

/// A count's share of the total M, drawn towards equal shares of K kinds.
[[nodiscard]] inline double smoothed_share(double share, index_t kinds) noexcept {
  constexpr double smoothing = 0.1;
  return (1.0 - smoothing) * share + smoothing / static_cast<double>(kinds);
}

/// The smoothed shares of K counts with the sum M, `stride` doubles apart; equal ones when M = 0.
inline void smoothed_shares(const double* counts, index_t kinds, index_t stride, double total,
                            double* shares) noexcept {
  for (index_t k = 0; k < kinds; ++k) {
    const double share =
        total > 0.0 ? counts[k * stride] / total : 1.0 / static_cast<double>(kinds);
    shares[k] = smoothed_share(share, kinds);
  }
}

/// M Σ u log u over the smoothed shares u of K counts with the sum M, `stride` doubles apart.
[[nodiscard]] inline double count_potential(const double* counts, index_t kinds, index_t stride,
                                            double total) noexcept {
  if (total == 0.0) return 0.0;
  double sum = 0.0;
  for (index_t k = 0; k < kinds; ++k) {
    sum += x_log_x(smoothed_share(counts[k * stride] / total, kinds));
  }
  return total * sum;
}

/// What merging adds to count_potential: a Jensen-Shannon divergence weighted by the totals. O(K).
[[nodiscard]] inline double count_divergence(const double* t, const double* s, index_t kinds,
                                             index_t stride, double total_t,
                                             double total_s) noexcept {
  if (total_t == 0.0 || total_s == 0.0) return 0.0;
  const double slope = smoothed_share(1.0, kinds) - smoothed_share(0.0, kinds);
  double sum_t = 0.0;
  double sum_s = 0.0;
  for (index_t k = 0; k < kinds; ++k) {
    const auto shares = shifts_of_sums(total_t, t[k * stride], total_s, s[k * stride]);
    const double u = smoothed_share(shares.mean, kinds);
    sum_t += kl_term(u, slope * shares.first);
    sum_s += kl_term(u, slope * shares.second);
  }
  return total_t * sum_t + total_s * sum_s;
}

}  // namespace bhclust::detail

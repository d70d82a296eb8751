/// @file
/// Arithmetic on logarithms of non-negative numbers; -inf is the logarithm of zero. All functions
/// are exact in the limits ±inf and return NaN only for NaN.
#pragma once

#include "bhclust/types.hpp"

#include <cmath>
#include <limits>

namespace bhclust::detail {

/// ln(e^a + e^b).
[[nodiscard]] inline double log_add_exp(double a, double b) noexcept {
  if (a == b) return a + 0.69314718055994530942;  // also keeps inf - inf from arising below
  const double larger = a > b ? a : b;
  const double gap = a > b ? b - a : a - b;
  const double smaller = std::exp(gap);  // of the larger
  return larger + (smaller < 0x1p-54 ? smaller : std::log1p(smaller));
}

/// ln Σ e^(x_i); -inf for an empty range. Two passes, O(n).
[[nodiscard]] inline double log_sum_exp(const double* x, index_t n) noexcept {
  double largest = -std::numeric_limits<double>::infinity();
  for (index_t i = 0; i < n; ++i) {
    if (!(x[i] <= largest)) largest = x[i];
    if (std::isnan(largest)) return largest;
  }
  if (std::isinf(largest)) return largest;
  double sum = 0.0;
  for (index_t i = 0; i < n; ++i) sum += std::exp(x[i] - largest);
  return largest + std::log(sum);
}

/// ln(1 + e^x).
[[nodiscard]] inline double softplus(double x) noexcept {
  return x > 0.0 ? x + std::log1p(std::exp(-x)) : std::log1p(std::exp(x));
}

/// ln(1 - e^x) for x <= 0; -inf at 0.
[[nodiscard]] inline double log1m_exp(double x) noexcept {
  constexpr double minus_ln_2 = -0.69314718055994530942;  // where the two forms lose equally little
  return x > minus_ln_2 ? std::log(-std::expm1(x)) : std::log1p(-std::exp(x));
}

/// 1 / (1 + e^(-x)), with small relative error also far below 0.
[[nodiscard]] inline double sigmoid(double x) noexcept {
  if (x >= 0.0) return 1.0 / (1.0 + std::exp(-x));
  const double odds = std::exp(x);
  return odds / (1.0 + odds);
}

/// ln sigmoid(x).
[[nodiscard]] inline double log_sigmoid(double x) noexcept { return -softplus(-x); }

/// x ln x for x >= 0, continued by 0 at 0.
[[nodiscard]] inline double x_log_x(double x) noexcept { return x > 0.0 ? x * std::log(x) : x; }

}  // namespace bhclust::detail

/// @file
/// Eight symmetric positive definite matrices eliminated at a time.
#pragma once

#include <bhclust/detail/cholesky.hpp>
#include <bhclust/detail/lane_functions.hpp>
#include <bhclust/detail/simd.hpp>
#include <bhclust/types.hpp>

namespace bhclust::detail {

/// Elimination of I + A for eight A, row by row, beside a vector each: (I + A) = U D Uᵀ, v = U⁻¹ y.
struct eight_eliminations {
  double* lower;    ///< U, field by field
  double* inverse;  ///< of D
  double* v;
  lanes log_det = lanes::all(0.0);
  lanes pending = lanes::all(1.0);   ///< a product of pivots whose logarithm is still to be taken
  lanes distance = lanes::all(0.0);  ///< vᵀ D⁻¹ v

  /// Row i, whose entries of A left of the diagonal are in `lower`.
  void eliminate(index_t i, const lanes& diagonal, lanes y) {
    if (i >= long_row / 2) pulse();
    constexpr index_t w = lanes::count;
    constexpr index_t in_range = 8;  // so many pivots cannot overflow
    double* row = lower + triangle(i) * w;
    for (index_t k = 0; k < i; ++k) {
      const double* above = lower + triangle(k) * w;
      lanes x = lanes::load(row + k * w);
      for (index_t m = 0; m < k; ++m) x = x - lanes::load(row + m * w) * lanes::load(above + m * w);
      x.store(row + k * w);
    }
    lanes removed = lanes::all(0.0);
    for (index_t k = 0; k < i; ++k) {
      const lanes x = lanes::load(row + k * w);
      const lanes u = x * lanes::load(inverse + k * w);
      removed = removed + x * u;
      y = y - u * lanes::load(v + k * w);
      u.store(row + k * w);
    }
    const lanes pivot = at_least(diagonal - removed, 0.0) + 1.0;
    const lanes reciprocal = 1.0 / pivot;
    reciprocal.store(inverse + i * w);
    y.store(v + i * w);
    distance = distance + y * y * reciprocal;
    pending = pending * pivot;
    if (i % in_range == in_range - 1) {
      log_det = log_det + log(pending);
      pending = lanes::all(1.0);
    }
  }

  /// log |I + A| + log(1 + weight vᵀ D⁻¹ v).
  [[nodiscard]] lanes growth(const lanes& weight) const noexcept {
    return log_det + log(pending * (weight * distance + 1.0));
  }
};

}  // namespace bhclust::detail

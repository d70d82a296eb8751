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

/// x ← L⁻¹ x for eight x, field by field.
inline void solve_lower_eight(const double* lower, double* x, index_t d) noexcept {
  constexpr index_t w = lanes::count;
  for (index_t i = 0; i < d; ++i) {
    const double* row = lower + triangle(i);
    lanes sum = lanes::load(x + i * w);
    for (index_t k = 0; k < i; ++k) sum = sum - lanes::load(x + k * w) * row[k];
    (sum / lanes::all(row[i])).store(x + i * w);
  }
}

/// A ← L⁻¹ A L⁻ᵀ for eight symmetric A, field by field: see whiten.
inline void whiten_eight(const double* lower, double* a, index_t d) {
  constexpr index_t w = lanes::count;
  const auto at = [](index_t i, index_t k) { return triangle(i) + k; };
  const auto entry = [&](index_t i, index_t k) { return lanes::load(a + at(i, k) * w); };
  for (index_t k = 0; k < d; ++k) {
    if (d - k >= long_row / 2) pulse();
    const double l = lower[at(k, k)];
    const lanes diagonal = entry(k, k) / lanes::all(l * l);
    const lanes half = diagonal * 0.5;
    diagonal.store(a + at(k, k) * w);
    for (index_t i = k + 1; i < d; ++i) {
      (entry(i, k) / lanes::all(l) - half * lower[at(i, k)]).store(a + at(i, k) * w);
    }
    for (index_t i = k + 1; i < d; ++i) {
      for (index_t j = k + 1; j <= i; ++j) {
        const lanes both = entry(i, k) * lower[at(j, k)] + entry(j, k) * lower[at(i, k)];
        (entry(i, j) - both).store(a + at(i, j) * w);
      }
    }
    for (index_t i = k + 1; i < d; ++i) {
      lanes x = entry(i, k) - half * lower[at(i, k)];
      for (index_t j = k + 1; j < i; ++j) x = x - entry(j, k) * lower[at(i, j)];
      (x / lanes::all(lower[at(i, i)])).store(a + at(i, k) * w);
    }
  }
}

}  // namespace bhclust::detail

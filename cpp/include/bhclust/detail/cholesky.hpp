/// @file
/// Small symmetric positive definite matrices, kept as their lower triangle row after row: entry
/// (i, k), k <= i, is at i (i + 1) / 2 + k.
#pragma once

#include <bhclust/progress.hpp>
#include <bhclust/types.hpp>

#include <algorithm>
#include <cmath>

namespace bhclust::detail {

/// Entries of a lower triangle.
[[nodiscard]] constexpr index_t triangle(index_t d) noexcept { return d * (d + 1) / 2; }

/// Rows this long cost enough for a pulse, which then costs less than a hundredth of them.
inline constexpr index_t long_row = 128;

/// Σ_{m<n} x_m y_m.
template <class Real>
[[nodiscard]] Real dot(const Real* x, const Real* y, index_t n) noexcept {
  Real sum = 0.0;
  for (index_t m = 0; m < n; ++m) sum += x[m] * y[m];
  return sum;
}

/// A = L Lᵀ in place; pivots below `floor` (a lower bound on A's eigenvalues, > 0) are rounding and
/// raised to it. Returns the first column raised, d when none was.
inline index_t cholesky(double* a, index_t d, double floor) {
  index_t first = d;
  for (index_t i = 0; i < d; ++i) {
    if (i >= long_row) pulse();
    double* row = a + triangle(i);
    for (index_t k = 0; k < i; ++k) {
      const double* upper = a + triangle(k);
      row[k] = (row[k] - dot(row, upper, k)) / upper[k];
    }
    double pivot = row[i] - dot(row, row, i);
    if (!(pivot >= floor)) {
      pivot = floor;
      first = std::min(first, i);
    }
    row[i] = std::sqrt(pivot);
  }
  return first;
}

/// log |L Lᵀ|.
[[nodiscard]] inline double log_determinant(const double* lower, index_t d) noexcept {
  double sum = 0.0;
  for (index_t i = 0; i < d; ++i) sum += std::log(lower[triangle(i) + i]);
  return 2.0 * sum;
}

/// x ← L⁻¹ x.
inline void solve_lower(const double* lower, double* x, index_t d) noexcept {
  for (index_t i = 0; i < d; ++i) {
    const double* row = lower + triangle(i);
    x[i] = (x[i] - dot(row, x, i)) / row[i];
  }
}

/// x ← L⁻ᵀ x.
inline void solve_upper(const double* lower, double* x, index_t d) noexcept {
  for (index_t i = d - 1; i >= 0; --i) {
    const double* row = lower + triangle(i);
    x[i] /= row[i];
    for (index_t k = 0; k < i; ++k) x[k] -= row[k] * x[i];
  }
}

/// x ← L x.
inline void multiply_lower(const double* lower, double* x, index_t d) noexcept {
  for (index_t i = d - 1; i >= 0; --i) x[i] = dot(lower + triangle(i), x, i + 1);
}

/// L ← L⁻¹.
inline void invert_lower(double* lower, index_t d) {
  for (index_t i = 0; i < d; ++i) {
    if (i >= long_row) pulse();
    double* row = lower + triangle(i);
    for (index_t k = 0; k < i; ++k) {
      double sum = 0.0;
      for (index_t m = k; m < i; ++m) sum += row[m] * lower[triangle(m) + k];
      row[k] = -sum / row[i];
    }
    row[i] = 1.0 / row[i];
  }
}

/// A ← L⁻¹ A L⁻ᵀ for symmetric A; d³ operations.
inline void whiten(const double* lower, double* a, index_t d) {
  const auto at = [](index_t i, index_t k) { return triangle(i) + k; };
  for (index_t k = 0; k < d; ++k) {
    if (d - k >= long_row) pulse();
    const double l = lower[at(k, k)];
    const double half = 0.5 * (a[at(k, k)] /= l * l);
    for (index_t i = k + 1; i < d; ++i) a[at(i, k)] = a[at(i, k)] / l - half * lower[at(i, k)];
    for (index_t i = k + 1; i < d; ++i) {
      for (index_t j = k + 1; j <= i; ++j) {
        a[at(i, j)] -= a[at(i, k)] * lower[at(j, k)] + lower[at(i, k)] * a[at(j, k)];
      }
    }
    for (index_t i = k + 1; i < d; ++i) {
      double x = a[at(i, k)] - half * lower[at(i, k)];
      for (index_t j = k + 1; j < i; ++j) x -= lower[at(i, j)] * a[at(j, k)];
      a[at(i, k)] = x / lower[at(i, i)];
    }
  }
}

/// Row i, after rows 0 … i-1, of I + A = U D Uᵀ in place, U unit lower triangular: the diagonal
/// entry becomes D_ii - 1, so that log |I + A| = Σ log1p of these keeps its digits for small A. An
/// entry below `floor` > -1, a lower bound on A's eigenvalues, is rounding and raised to it.
/// Returns what elimination took off the diagonal, A_ii - (D_ii - 1) >= 0.
template <class Real>
Real factor_row_one_plus(Real* a, index_t i, Real floor) {
  if (i >= long_row) pulse();
  Real* row = a + triangle(i);
  Real removed = 0.0;
  for (index_t k = 0; k < i; ++k) row[k] -= dot<Real>(row, a + triangle(k), k);
  for (index_t k = 0; k < i; ++k) {
    const Real unscaled = row[k];
    row[k] = unscaled / (1.0 + a[triangle(k) + k]);
    removed += unscaled * row[k];
  }
  row[i] = std::max(floor, row[i] - removed);
  return removed;
}

}  // namespace bhclust::detail

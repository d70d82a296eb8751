/// @file
/// Eigenvalues and eigenvectors of a symmetric matrix, in any floating-point type: by Householder
/// reflections to a tridiagonal matrix, then by implicit QR steps with Wilkinson's shift (Golub &
/// Van Loan, Matrix Computations, section 8.3). O(d³).
#pragma once

#include <bhclust/types.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

namespace bhclust::detail {

/// A = Σ_j values[j] u_j u_jᵀ, u_j = vectors[j d … j d + d - 1]; in no order.
template <class Real>
struct eigensystem {
  std::vector<Real> values, vectors;
};

/// Decomposes one matrix; entries of order one, since smaller columns than 1e-40 count as zero.
template <class Real>
class symmetric_eigensolver {
 public:
  /// `a`: all d × d entries.
  symmetric_eigensolver(std::vector<Real> a, index_t d)
      : d_(d), a_(std::move(a)), vectors_(a_.size(), Real(0)), diagonal_(at(d)), beside_(at(d)) {
    for (index_t i = 0; i < d; ++i) vectors_[at(i * d + i)] = Real(1);
  }

  [[nodiscard]] eigensystem<Real> solve() && {
    for (index_t k = 0; k + 2 < d_; ++k) reflect(k);
    for (index_t i = 0; i < d_; ++i) diagonal_[at(i)] = a_[at(i * d_ + i)];
    for (index_t i = 0; i + 1 < d_; ++i) beside_[at(i)] = a_[at((i + 1) * d_ + i)];
    diagonalise();
    return {std::move(diagonal_), std::move(vectors_)};
  }

 private:
  [[nodiscard]] static std::size_t at(index_t i) noexcept { return static_cast<std::size_t>(i); }
  [[nodiscard]] Real* row(index_t i) noexcept { return a_.data() + i * d_; }
  [[nodiscard]] Real* vector(index_t i) noexcept { return vectors_.data() + i * d_; }

  /// Makes column k tridiagonal: A ← H A H and Q ← Q H, H = I - β v vᵀ on coordinates above k.
  void reflect(index_t k) {
    std::vector<Real> v(at(d_), Real(0));
    std::vector<Real> w(at(d_), Real(0));
    Real square = 0;
    for (index_t i = k + 1; i < d_; ++i) {
      v[at(i)] = row(i)[k];
      square += v[at(i)] * v[at(i)];
    }
    const Real first = v[at(k + 1)];
    if (!(square - first * first > Real(1e-80L))) return;
    const Real length = first > 0 ? -std::sqrt(square) : std::sqrt(square);
    v[at(k + 1)] -= length;
    const Real beta = 1 / (square - first * length);
    Real overlap = 0;
    for (index_t i = k + 1; i < d_; ++i) {
      for (index_t j = k + 1; j < d_; ++j) w[at(i)] += row(i)[j] * v[at(j)];
      w[at(i)] *= beta;
      overlap += w[at(i)] * v[at(i)];
    }
    for (index_t i = k + 1; i < d_; ++i) w[at(i)] -= beta / 2 * overlap * v[at(i)];
    for (index_t i = k + 1; i < d_; ++i) {
      for (index_t j = k + 1; j < d_; ++j) row(i)[j] -= v[at(i)] * w[at(j)] + w[at(i)] * v[at(j)];
    }
    row(k + 1)[k] = length;
    reflect_vectors(v, beta, k + 1);
  }

  void reflect_vectors(const std::vector<Real>& v, Real beta, index_t begin) {
    std::vector<Real> sum(at(d_), Real(0));
    for (index_t i = begin; i < d_; ++i) {
      for (index_t j = 0; j < d_; ++j) sum[at(j)] += v[at(i)] * vector(i)[j];
    }
    for (index_t i = begin; i < d_; ++i) {
      for (index_t j = 0; j < d_; ++j) vector(i)[j] -= beta * v[at(i)] * sum[at(j)];
    }
  }

  /// Peels converged eigenvalues off the end.
  void diagonalise() {
    Real norm = 0;
    for (index_t i = 0; i < d_; ++i) {
      norm = std::max(norm, std::fabs(diagonal_[at(i)]) + std::fabs(beside_[at(i)]));
    }
    const Real negligible = norm * std::numeric_limits<Real>::epsilon() / 2;
    constexpr index_t steps_a_value = 60;  // two or three are usual
    index_t end = d_ - 1;
    for (index_t step = 0; end > 0 && step < steps_a_value * d_; ++step) {
      if (!(std::fabs(beside_[at(end - 1)]) > negligible)) {
        --end;
        continue;
      }
      index_t begin = end - 1;
      while (begin > 0 && std::fabs(beside_[at(begin - 1)]) > negligible) --begin;
      chase(begin, end);
    }
  }

  /// The eigenvalue of the last 2 × 2 block that is nearer its last entry.
  [[nodiscard]] Real shift(index_t end) const {
    const Real half = (diagonal_[at(end - 1)] - diagonal_[at(end)]) / 2;
    const Real off = beside_[at(end - 1)];
    const Real root = std::hypot(half, off);
    return diagonal_[at(end)] - off * (off / (half + (half < 0 ? -root : root)));
  }

  /// One implicit QR step on rows begin … end.
  void chase(index_t begin, index_t end) {
    Real x = diagonal_[at(begin)] - shift(end);
    Real z = beside_[at(begin)];
    for (index_t k = begin; k < end; ++k) {
      const Real length = std::hypot(x, z);
      const Real c = length > 0 ? x / length : Real(1);
      const Real s = length > 0 ? z / length : Real(0);
      if (k > begin) beside_[at(k - 1)] = length;
      turn_block(k, c, s);
      turn_vectors(k, c, s);
      if (k + 1 < end) {
        x = beside_[at(k)];
        z = s * beside_[at(k + 1)];
        beside_[at(k + 1)] *= c;
      }
    }
  }

  void turn_block(index_t k, Real c, Real s) {
    const Real upper = diagonal_[at(k)];
    const Real lower = diagonal_[at(k + 1)];
    const Real off = beside_[at(k)];
    const Real change = s * (s * (lower - upper) + 2 * c * off);
    diagonal_[at(k)] = upper + change;
    diagonal_[at(k + 1)] = lower - change;
    beside_[at(k)] = c * s * (lower - upper) + (c - s) * (c + s) * off;
  }

  void turn_vectors(index_t k, Real c, Real s) {
    Real* u = vector(k);
    Real* v = vector(k + 1);
    for (index_t j = 0; j < d_; ++j) {
      const Real x = u[j];
      u[j] = c * x + s * v[j];
      v[j] = c * v[j] - s * x;
    }
  }

  index_t d_;
  std::vector<Real> a_, vectors_, diagonal_, beside_;
};

template <class Real>
[[nodiscard]] eigensystem<Real> eigen_of(std::vector<Real> a, index_t d) {
  return symmetric_eigensolver<Real>(std::move(a), d).solve();
}

}  // namespace bhclust::detail

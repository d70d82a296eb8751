/// @file
/// Unit vectors: lengths, cosines, and how concentrated a table of them is.
#pragma once

#include <bhclust/progress.hpp>
#include <bhclust/types.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

namespace bhclust::detail {

/// How far from 1 a norm may be: single-precision embeddings normalised with some care pass.
inline constexpr double unit_tolerance = 1e-6;

/// sum += row.
inline void add_row(const row_view& row, double* sum) noexcept {
  for (index_t k = 0; k < row.stored(); ++k) sum[row.column(k)] += row.value(k);
}

[[nodiscard]] inline double norm(const row_view& row) noexcept {
  double square = 0.0;
  for (index_t k = 0; k < row.stored(); ++k) square += row.value(k) * row.value(k);
  return std::sqrt(square);
}

[[nodiscard]] inline double dot(const row_view& row, const double* dense) noexcept {
  double sum = 0.0;
  for (index_t k = 0; k < row.stored(); ++k) sum += row.value(k) * dense[row.column(k)];
  return sum;
}

/// kappa of d-dimensional rows whose mean resultant length has this square: R (d - R²) / (1 - R²),
/// for R² up to where rows agree as closely as their lengths are known.
[[nodiscard]] inline double concentration_of_resultant(double square, double d) noexcept {
  const double rest = std::fmax(1.0 - square, unit_tolerance);
  return std::sqrt(square) * (d - 1.0 + rest) / rest;
}

/// The squared mean resultant length of a whole table, freed of what each row has in common with
/// itself; one row counts as two that have half of it in common.
[[nodiscard]] inline double square_resultant(const table_view& X) {
  std::vector<double> sum(static_cast<std::size_t>(X.columns()), 0.0);
  pacer pace;
  for (index_t i = 0; i < X.rows(); ++i) {
    add_row(X.row(i), sum.data());
    pace(2 * X.row(i).stored());
  }
  const double length = norm({sum.data(), X.columns()});
  const auto n = static_cast<double>(X.rows());
  if (n == 1.0) return 0.5;
  return std::fmax((length * length - n) / (n * (n - 1.0)), 1.0 / (n + 1.0));
}

/// The mean of the cosines between rows and their nearest neighbours, among at most 256 rows.
[[nodiscard]] inline double mean_nearest_cosine(const table_view& X) {
  constexpr index_t most = 256;
  const index_t m = X.rows() < most ? X.rows() : most;
  std::vector<double> nearest(static_cast<std::size_t>(m), 0.0);
  pacer pace;
  for (index_t i = 1; i < m; ++i) {
    std::vector<double> dense(static_cast<std::size_t>(X.columns()), 0.0);
    add_row(X.row(i * X.rows() / m), dense.data());
    for (index_t j = 0; j < i; ++j) {
      const row_view other = X.row(j * X.rows() / m);
      const double cosine = dot(other, dense.data());
      pace(2 * other.stored());
      for (const index_t k : {i, j}) {
        auto& best = nearest[static_cast<std::size_t>(k)];
        best = std::fmax(best, cosine);
      }
    }
  }
  double sum = 0.0;
  for (const double cosine : nearest) sum += cosine;
  return sum / static_cast<double>(m);
}

}  // namespace bhclust::detail

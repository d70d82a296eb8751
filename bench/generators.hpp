/// @file
/// Tables to time on: mixtures of 20 clusters for every kind of cell, the same for the same seed.
#pragma once

#include <bhclust/domain.hpp>
#include <bhclust/families.hpp>
#include <bhclust/family.hpp>
#include <bhclust/types.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <random>
#include <type_traits>
#include <utility>
#include <vector>

namespace bench {

using bhclust::cell;
using bhclust::index_t;
using random = std::mt19937_64;

inline constexpr index_t clusters = 20;

/// A table that owns its cells: dense, or CSR when `indptr` is not empty.
struct table {
  index_t rows, columns;
  std::vector<double> cells;
  std::vector<index_t> truth;  ///< the cluster each row was drawn from
  std::vector<index_t> indices{}, indptr{};

  [[nodiscard]] bhclust::table_view view() const {
    if (indptr.empty()) return bhclust::rows(cells.data(), rows, columns);
    return bhclust::sparse_rows(cells.data(), indices.data(), indptr.data(), rows, columns);
  }
};

[[nodiscard]] inline double normal(random& r) { return std::normal_distribution<>()(r); }
[[nodiscard]] inline double uniform(random& r) { return std::uniform_real_distribution<>()(r); }
[[nodiscard]] inline double gamma(random& r, double shape, double scale) {
  return std::gamma_distribution<>(shape, scale)(r);
}
[[nodiscard]] inline double poisson(random& r, double rate) {
  return rate > 0.0 ? static_cast<double>(std::poisson_distribution<index_t>(rate)(r)) : 0.0;
}
[[nodiscard]] inline double level(random& r) { return std::floor(4.0 * uniform(r)); }

/// What a cluster has in a column: a mean, a rate, a probability or the usual level.
[[nodiscard]] inline double draw_profile(cell kind, random& r) {
  switch (kind) {
    case cell::real:
      return 5.0 * normal(r);
    case cell::positive:
      return 0.05 + gamma(r, 1.0, 1.0);
    case cell::count:
      return gamma(r, 1.0, 3.0);
    case cell::code:
      return level(r);
    case cell::bit: {
      const double yes = gamma(r, 0.5, 1.0);
      return yes / (yes + gamma(r, 0.5, 1.0));
    }
  }
  return 0.0;
}

[[nodiscard]] inline double draw_cell(cell kind, double profile, random& r) {
  switch (kind) {
    case cell::real:
      return profile + normal(r);
    case cell::positive:
      return (1e-9 - std::log1p(-uniform(r))) / profile;
    case cell::count:
      return poisson(r, profile);
    case cell::code:
      return uniform(r) < 0.7 ? profile : level(r);
    case cell::bit:
      return uniform(r) < profile ? 1.0 : 0.0;
  }
  return 0.0;
}

/// n rows of d cells from 20 equally likely clusters; profile(r) and cell(profile, r) draw.
template <class Profile, class Cell>
[[nodiscard]] table mixture_of(index_t n, index_t d, const Profile& profile, const Cell& cell_of) {
  random r(20240229);
  std::vector<double> profiles;
  for (index_t k = 0; k < clusters * d; ++k) profiles.push_back(profile(r));
  table X{n, d, {}, {}};
  for (index_t i = 0; i < n; ++i) {
    X.truth.push_back(std::uniform_int_distribution<index_t>(0, clusters - 1)(r));
    const double* of_row = profiles.data() + X.truth.back() * d;
    for (index_t j = 0; j < d; ++j) X.cells.push_back(cell_of(of_row[j], r));
  }
  return X;
}

[[nodiscard]] inline table mixture(cell kind, index_t n, index_t d) {
  return mixture_of(
      n, d, [kind](random& r) { return draw_profile(kind, r); },
      [kind](double profile, random& r) { return draw_cell(kind, profile, r); });
}

/// Rows of length 1.
[[nodiscard]] inline table directions(index_t n, index_t d) {
  table X = mixture(cell::real, n, d);
  for (index_t i = 0; i < n; ++i) {
    double* row = X.cells.data() + i * d;
    double square = 0.0;
    for (index_t j = 0; j < d; ++j) square += row[j] * row[j];
    for (index_t j = 0; j < d; ++j) row[j] /= std::sqrt(square);
  }
  return X;
}

/// Counts of which about one in 25 is not zero, as CSR: words in short texts.
[[nodiscard]] inline table sparse_counts(index_t n, index_t d) {
  const table dense = mixture_of(
      n, d, [](random& r) { return 0.02 + gamma(r, 0.02, 2.0); },
      [](double rate, random& r) { return poisson(r, rate); });
  table X{n, d, {}, dense.truth};
  X.indptr.push_back(0);
  for (index_t i = 0; i < n; ++i) {
    for (index_t j = 0; j < d; ++j) {
      const double x = dense.cells[static_cast<std::size_t>(i * d + j)];
      if (x == 0.0) continue;
      X.cells.push_back(x);
      X.indices.push_back(j);
    }
    X.indptr.push_back(static_cast<index_t>(X.cells.size()));
  }
  return X;
}

template <class Family>
using from_data_t = decltype(Family::from_data(std::declval<const bhclust::table_view&>()));

/// The family with the hyperparameters that users get who name none.
template <class Family>
[[nodiscard]] Family fitted(const table& X) {
  if constexpr (bhclust::detail::has<from_data_t, Family>) {
    return Family::from_data(X.view());
  } else {
    return Family{};
  }
}

/// A table that the family takes.
template <class Family>
[[nodiscard]] table example(index_t n, index_t d) {
  if constexpr (std::is_same_v<Family, bhclust::VonMisesFisher>) {
    return directions(n, d);
  } else {
    return mixture(Family::takes().cells, n, d);
  }
}

}  // namespace bench

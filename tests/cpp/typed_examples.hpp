/// @file
/// Random families with random tables of their domains.
#pragma once

#include "random_source.hpp"
#include "tables.hpp"
#include <bhclust/detail/cholesky.hpp>
#include <bhclust/families.hpp>
#include <bhclust/family.hpp>
#include <bhclust/parameter.hpp>
#include <bhclust/types.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace testkit {

enum class layout { dense, with_missing, sparse };

inline std::string name_of(layout kind) {
  if (kind == layout::dense) return "dense";
  return kind == layout::sparse ? "sparse" : "dense with missing cells";
}

inline void normalise(double* row, index_t d) {
  double square = 0.0;
  for (index_t j = 0; j < d; ++j) square += row[j] * row[j];
  for (index_t j = 0; j < d; ++j) row[j] /= std::sqrt(square);
}

/// Symmetric positive definite, of condition some 100 at most.
inline parameter random_covariance(random_source& random, index_t d, double scale) {
  std::vector<double> factor, matrix;
  for (index_t e = 0; e < d * d; ++e) factor.push_back(random.normal());
  for (index_t i = 0; i < d; ++i) {
    for (index_t k = 0; k < d; ++k) {
      const double spread = bhclust::detail::dot(&factor[at(i * d)], &factor[at(k * d)], d);
      matrix.push_back(scale * (spread / static_cast<double>(d) + (i == k ? 0.5 : 0.0)));
    }
  }
  return parameter::matrix(std::move(matrix));
}

inline double random_value(random_source& random, bhclust::range values) {
  switch (values) {
    case bhclust::range::real:
      return random.normal();
    case bhclust::range::positive:
      return random.positive();
    case bhclust::range::non_negative:
      return random.uniform(0.0, 2.0);
    case bhclust::range::whole:
      return 1.0 + static_cast<double>(random.below(5));
    case bhclust::range::choice:
      return 0.0;
  }
  return 1.0;
}

/// Any value the field may take: scalars as well as one value a column.
template <class Family>
parameter random_parameter(random_source& random, const bhclust::parameter_field<Family>& field,
                           index_t columns) {
  using bhclust::shape;
  if (field.values == bhclust::range::choice) {
    return static_cast<double>(random.below(static_cast<index_t>(field.choices.size())));
  }
  const bool scalar =
      field.shape == shape::scalar || (field.shape != shape::vector_only && random.chance(0.3));
  if (scalar) return random_value(random, field.values);
  if (field.shape == shape::matrix && random.chance(0.6)) {
    return random_covariance(random, columns, random_value(random, field.values));
  }
  std::vector<double> values;
  for (index_t j = 0; j < columns; ++j) values.push_back(random_value(random, field.values));
  return values;
}

/// A family with every hyperparameter drawn. Families whose hyperparameters constrain each other
/// have their own lines here.
template <class Family>
Family random_family(random_source& random, index_t columns) {
  Family family;
  for (const auto& field : Family::parameters()) {
    family.*field.member = random_parameter(random, field, columns);
  }
  if constexpr (std::is_same_v<Family, bhclust::NormalInverseWishart>) {
    family.nu = static_cast<double>(columns) - 1.0 + random_value(random, bhclust::range::positive);
  }
  if constexpr (std::is_same_v<Family, bhclust::VonMisesFisher>) {
    family.mean_direction = 0.0;
    if (random.chance(0.5)) {
      family.prior_kappa = 0.0;
    } else {
      std::vector<double> direction;
      for (index_t j = 0; j < columns; ++j) direction.push_back(random.normal());
      normalise(direction.data(), columns);
      family.mean_direction = direction;
    }
  }
  return family;
}

/// Cells of one row about one of three centres, so that tables have clusters and overlaps.
template <class Family>
class cell_source {
 public:
  cell_source(random_source& random, const Family& family) : random_(random), family_(family) {}

  void new_row() { group_ = random_.below(3); }

  double next(index_t j) {
    const auto k = static_cast<double>((group_ + j) % 3);
    switch (family_.takes().cells) {
      case bhclust::cell::real:
        return 3.0 * (k - 1.0) + random_.normal();
      case bhclust::cell::positive:
        return std::exp(1.5 * (k - 1.0) + random_.normal());
      case bhclust::cell::bit:
        return random_.chance(0.15 + 0.35 * k) ? 1.0 : 0.0;
      case bhclust::cell::count:
        return next_count(k);
      case bhclust::cell::code:
        return next_code(j, k);
    }
    return 0.0;
  }

 private:
  double next_count(double k) {
    if (random_.chance(0.4)) return 0.0;
    return std::floor(-std::log(1.0 - random_.uniform()) * std::exp(1.3 * k));
  }

  double next_code(index_t j, double k) {
    double levels = 2.0;
    if constexpr (std::is_same_v<Family, bhclust::CategoricalDirichlet>) levels = family_.levels[j];
    const double x = random_.chance(0.5) ? k : std::floor(random_.uniform() * levels);
    return std::min(x, levels - 1.0);
  }

  random_source& random_;
  const Family& family_;
  index_t group_ = 0;
};

/// Rows that the family takes, some of them repeated.
template <class Family>
table random_table(random_source& random, const Family& family, index_t rows, index_t columns,
                   layout kind = layout::dense) {
  cell_source<Family> source(random, family);
  std::vector<double> cells;
  for (index_t i = 0; i < rows; ++i) {
    source.new_row();
    const index_t copied = i > 0 && random.chance(0.15) ? random.below(i) : -1;
    for (index_t j = 0; j < columns; ++j) {
      double x = copied < 0 ? source.next(j) : cells[at(copied * columns + j)];
      if (copied < 0 && kind == layout::with_missing && random.chance(0.2)) x = missing;
      cells.push_back(x);
    }
    if (std::is_same_v<Family, bhclust::VonMisesFisher> && copied < 0) {
      normalise(&cells[at(i * columns)], columns);
    }
  }
  table t(std::move(cells), columns);
  return kind == layout::sparse ? t.as_sparse() : t;
}

/// The layouts that a family takes.
template <class Family>
std::vector<layout> layouts_of() {
  std::vector<layout> all{layout::dense};
  const auto takes = Family{}.takes();
  if (takes.missing) all.push_back(layout::with_missing);
  if (takes.sparse) all.push_back(layout::sparse);
  return all;
}

/// Calls visit(random, family, table) for `rounds` random families and tables of every layout, of
/// 1 to `most_columns` columns.
template <class Family, class Visit>
void for_each_example_of(int rounds, index_t rows, index_t most_columns, const Visit& visit) {
  for (const layout kind : layouts_of<Family>()) {
    for (int round = 0; round < rounds; ++round) {
      random_source random(static_cast<std::uint64_t>(1000 * static_cast<int>(kind) + round));
      const index_t columns = 1 + round % most_columns;
      const auto family = random_family<Family>(random, columns);
      const auto X = random_table(random, family, rows, columns, kind);
      INFO(std::string(Family::name())
           << ", " << name_of(kind) << ", " << columns << " columns, round " << round);
      visit(random, family, X);
    }
  }
}

}  // namespace testkit

/// @file
/// Tables that own their cells, and random families with random tables of their domains.
#pragma once

#include "random_source.hpp"
#include <bhclust/detail/cholesky.hpp>
#include <bhclust/families.hpp>
#include <bhclust/family.hpp>
#include <bhclust/parameter.hpp>
#include <bhclust/types.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace testkit {

using bhclust::parameter;

constexpr double infinite = std::numeric_limits<double>::infinity();
const double missing = std::numeric_limits<double>::quiet_NaN();

inline std::size_t at(index_t i) { return static_cast<std::size_t>(i); }
template <class Container>
index_t count(const Container& c) {
  return static_cast<index_t>(c.size());
}

enum class layout { dense, with_missing, sparse };

inline std::string name_of(layout kind) {
  if (kind == layout::dense) return "dense";
  return kind == layout::sparse ? "sparse" : "dense with missing cells";
}

class table {
 public:
  table() = default;
  table(std::vector<double> cells, index_t columns)
      : cells_(std::move(cells)), columns_(columns), rows_(count(cells_) / columns) {}

  /// The same cells as CSR. Zeros are not stored, but for one in `stored_zeros`.
  [[nodiscard]] table as_sparse(index_t stored_zeros = 3) const {
    table s = *this;
    s.indptr_.push_back(0);
    index_t zeros = 0;
    for (index_t i = 0; i < rows_; ++i) {
      for (index_t j = 0; j < columns_; ++j) {
        const double x = cell(i, j);
        if (x == 0.0 && zeros++ % stored_zeros != 0) continue;
        s.values_.push_back(x);
        s.indices_.push_back(j);
      }
      s.indptr_.push_back(count(s.values_));
    }
    return s;
  }

  [[nodiscard]] index_t rows() const { return rows_; }
  [[nodiscard]] index_t columns() const { return columns_; }
  [[nodiscard]] bool sparse() const { return !indptr_.empty(); }
  [[nodiscard]] double cell(index_t i, index_t j) const { return cells_[at(i * columns_ + j)]; }
  [[nodiscard]] const std::vector<double>& cells() const { return cells_; }

  /// Valid while the table lives and stays where it is.
  [[nodiscard]] bhclust::table_view view() const {
    if (!sparse()) return bhclust::rows(cells_.data(), rows_, columns_);
    return bhclust::sparse_rows(values_.data(), indices_.data(), indptr_.data(), rows_, columns_);
  }

  [[nodiscard]] table taken(const std::vector<index_t>& chosen) const {
    std::vector<double> cells;
    for (const index_t i : chosen) {
      for (index_t j = 0; j < columns_; ++j) cells.push_back(cell(i, j));
    }
    table t(std::move(cells), columns_);
    return sparse() ? t.as_sparse() : t;
  }

  [[nodiscard]] table column(index_t j) const {
    std::vector<double> cells;
    for (index_t i = 0; i < rows_; ++i) cells.push_back(cell(i, j));
    return {std::move(cells), 1};
  }

 private:
  std::vector<double> cells_;
  index_t columns_ = 1;
  index_t rows_ = 0;
  std::vector<double> values_;
  std::vector<index_t> indices_, indptr_;
};

/// 0 … n-1.
inline std::vector<index_t> iota(index_t n) {
  std::vector<index_t> all;
  for (index_t i = 0; i < n; ++i) all.push_back(i);
  return all;
}

inline std::vector<index_t> shuffled(random_source& random, index_t n) {
  auto order = iota(n);
  random.shuffle(order);
  return order;
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
      return std::exp(0.7 * random.normal());
    case bhclust::range::non_negative:
      return random.uniform(0.0, 2.0);
    case bhclust::range::whole:
      return 1.0 + static_cast<double>(random.below(5));
  }
  return 1.0;
}

/// Any value the field may take: scalars as well as one value a column.
template <class Family>
parameter random_parameter(random_source& random, const bhclust::parameter_field<Family>& field,
                           index_t columns) {
  using bhclust::shape;
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
void for_each_example(int rounds, index_t rows, index_t most_columns, const Visit& visit) {
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

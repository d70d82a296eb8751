/// @file
/// Tables that own their cells.
#pragma once

#include "random_source.hpp"
#include <bhclust/parameter.hpp>
#include <bhclust/types.hpp>

#include <limits>
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

}  // namespace testkit

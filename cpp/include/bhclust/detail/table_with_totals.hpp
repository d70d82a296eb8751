/// @file
/// A table of counts with its row totals.
#pragma once

#include <bhclust/progress.hpp>
#include <bhclust/types.hpp>

#include <cstddef>
#include <utility>
#include <vector>

namespace bhclust::detail {

/// What a table's last column is made to say of its rows.
enum class row_sum {
  total,  ///< of the row's counts
  one,    ///< 1, so that sums are numbers of rows
};

/// The table with the row totals as one more column. Its layout depends on the counts alone, not on
/// the layout they came in, so that equal counts give equal trees.
class table_with_totals {
 public:
  explicit table_with_totals(const table_view& X, row_sum last = row_sum::total)
      : rows_(X.rows()), columns_(X.columns() + 1), last_(last) {
    constexpr double sparse_share =
        0.25;  // a look-up of a stored cell costs about twice a dense one
    const double cells = static_cast<double>(rows_) * static_cast<double>(columns_);
    const index_t stored = counts(X) + rows_;
    sparse_ = static_cast<double>(stored) < sparse_share * cells;
    values_.reserve(static_cast<std::size_t>(sparse_ ? stored : rows_ * columns_));
    if (sparse_) {
      indices_.reserve(static_cast<std::size_t>(stored));
      indptr_.reserve(static_cast<std::size_t>(rows_) + 1);
      indptr_.push_back(0);
    }
    pacer pace;
    for (index_t i = 0; i < rows_; ++i) {
      const row_view row = X.row(i);
      pace(8 * row.stored());
      const double total = sparse_ ? append_stored(row) : append_all(row);
      values_.push_back(last_ == row_sum::total ? total : 1.0);
      if (!sparse_) continue;
      indices_.push_back(columns_ - 1);
      indptr_.push_back(static_cast<index_t>(values_.size()));
    }
  }

  [[nodiscard]] table_view view() const noexcept {
    if (!sparse_) return bhclust::rows(values_.data(), rows_, columns_);
    return sparse_rows(values_.data(), indices_.data(), indptr_.data(), rows_, columns_);
  }

 private:
  /// How many cells are not 0.
  [[nodiscard]] static index_t counts(const table_view& X) {
    index_t found = 0;
    pacer pace;
    for (index_t i = 0; i < X.rows(); ++i) {
      const row_view row = X.row(i);
      pace(2 * row.stored());
      for (index_t k = 0; k < row.stored(); ++k) found += static_cast<index_t>(row.value(k) != 0.0);
    }
    return found;
  }

  /// Appends a row's counts; their sum.
  double append_stored(const row_view& row) {
    double total = 0.0;
    for (index_t k = 0; k < row.stored(); ++k) {
      if (row.value(k) == 0.0) continue;
      values_.push_back(row.value(k));
      indices_.push_back(row.column(k));
      total += row.value(k);
    }
    return total;
  }
  double append_all(const row_view& row) {
    double total = 0.0;
    row.for_each([&](index_t, double x) {
      values_.push_back(x == 0.0 ? 0.0 : x);
      total += x;
    });
    return total;
  }

  index_t rows_, columns_;
  row_sum last_;
  bool sparse_ = false;
  std::vector<double> values_;
  std::vector<index_t> indices_, indptr_;
};

}  // namespace bhclust::detail

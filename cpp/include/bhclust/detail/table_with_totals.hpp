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
    indptr_.push_back(0);
    pacer pace;
    for (index_t i = 0; i < rows_; ++i) {
      append(X.row(i));
      pace(8 * X.row(i).stored());
    }
    constexpr double sparse_share =
        0.25;  // a look-up of a stored cell costs about twice a dense one
    const double cells = static_cast<double>(rows_) * static_cast<double>(columns_);
    sparse_ = static_cast<double>(values_.size()) < sparse_share * cells;
    if (!sparse_) spread();
  }

  [[nodiscard]] table_view view() const noexcept {
    if (!sparse_) return bhclust::rows(values_.data(), rows_, columns_);
    return sparse_rows(values_.data(), indices_.data(), indptr_.data(), rows_, columns_);
  }

 private:
  void append(const row_view& row) {
    double total = 0.0;
    for (index_t k = 0; k < row.stored(); ++k) {
      if (row.value(k) == 0.0) continue;
      values_.push_back(row.value(k));
      indices_.push_back(row.column(k));
      total += row.value(k);
    }
    values_.push_back(last_ == row_sum::total ? total : 1.0);
    indices_.push_back(columns_ - 1);
    indptr_.push_back(static_cast<index_t>(values_.size()));
  }

  /// From stored cells to all cells.
  void spread() {
    std::vector<double> dense(static_cast<std::size_t>(rows_ * columns_), 0.0);
    pacer pace;
    for (index_t i = 0; i < rows_; ++i) {
      pace(8 * columns_);
      for (auto k = static_cast<std::size_t>(indptr_[static_cast<std::size_t>(i)]);
           k < static_cast<std::size_t>(indptr_[static_cast<std::size_t>(i) + 1]); ++k) {
        dense[static_cast<std::size_t>(i * columns_ + indices_[k])] = values_[k];
      }
    }
    values_ = std::move(dense);
  }

  index_t rows_, columns_;
  row_sum last_;
  bool sparse_ = false;
  std::vector<double> values_;
  std::vector<index_t> indices_, indptr_;
};

}  // namespace bhclust::detail

/// @file
/// What a cell may hold, and the check of a whole table against it. Every family states its domain;
/// nothing else in the library looks for bad cells.
#pragma once

#include <bhclust/progress.hpp>
#include <bhclust/types.hpp>

#include <cmath>
#include <cstdint>
#include <sstream>
#include <string>

namespace bhclust {

/// The values a family takes in a column.
enum class cell {
  real,      ///< finite, magnitude below 1e150 so that squares and their sums stay finite
  positive,  ///< > 0 and below 1e300
  bit,       ///< 0 or 1
  count,     ///< 0, 1, 2, … up to 2^53
  code,      ///< a level's number: 0, 1, 2, … (the family knows how many)
};

/// A cell that the family does not take. what() names row, column, value and remedy; the place is
/// kept apart for callers whose columns have other numbers or names.
class cell_error : public std::invalid_argument {
 public:
  cell_error(index_t row, index_t column, const std::string& complaint)
      : std::invalid_argument("X: row " + std::to_string(row) + ", column " +
                              std::to_string(column) + " " + complaint),
        row_(row),
        column_(column),
        complaint_(complaint) {}

  [[nodiscard]] index_t row() const noexcept { return row_; }
  [[nodiscard]] index_t column() const noexcept { return column_; }
  /// What is wrong with the cell, from its value on.
  [[nodiscard]] const std::string& complaint() const noexcept { return complaint_; }

 private:
  index_t row_, column_;
  std::string complaint_;
};

/// What tables a family takes.
struct domain {
  cell cells = cell::real;
  bool missing = false;  ///< NaN marks a missing cell
  bool sparse = false;   ///< CSR rows are taken
};

namespace detail {

[[nodiscard]] inline bool holds(cell kind, double x) noexcept {
  constexpr double largest_count = 9007199254740992.0;
  switch (kind) {
    case cell::real:
      return std::fabs(x) < 1e150;
    case cell::positive:
      return x > 0.0 && x < 1e300;
    case cell::bit:
      return x == 0.0 || x == 1.0;
    case cell::count:
    case cell::code:
      return x >= 0.0 && x <= largest_count && x == std::floor(x);
  }
  return false;
}

/// Whether all stored cells are good; without a branch a cell, so that the compiler makes vectors
/// of the loop.
template <class Good>
[[nodiscard]] bool all_cells(const row_view& row, const Good& good) noexcept {
  index_t count = 0;
  for (index_t k = 0; k < row.stored(); ++k) count += static_cast<index_t>(good(row.value(k)));
  return count == row.stored();
}

/// Whether all stored cells are what most are that a family takes: small ones, none missing.
[[nodiscard]] inline bool plainly_good(cell kind, const row_view& row) noexcept {
  switch (kind) {
    case cell::real:
      return all_cells(row, [](double x) { return std::fabs(x) < 1e150; });
    case cell::positive:
      return all_cells(row, [](double x) { return (x > 0.0) & (x < 1e300); });
    case cell::bit:
      return all_cells(row, [](double x) { return (x == 0.0) | (x == 1.0); });
    case cell::count:
    case cell::code:
      return all_cells(row, [](double x) {
        constexpr double many = 1073741824.0;
        const double small = ((x >= 0.0) & (x < many)) ? x : 0.5;
        return small == static_cast<double>(static_cast<std::int32_t>(small));
      });
  }
  return false;
}

[[nodiscard]] inline const char* wanted(cell kind) noexcept {
  switch (kind) {
    case cell::real:
      return "finite numbers below 1e150 in magnitude (rescale larger ones)";
    case cell::positive:
      return "finite numbers above 0 and below 1e300 (shift or drop zeros and negatives, "
             "rescale larger ones)";
    case cell::bit:
      return "0 or 1 (recode the column, or use a family for its kind)";
    case cell::count:
      return "whole numbers 0, 1, 2, ... up to 2^53 (round them, or use a family for reals)";
    case cell::code:
      return "level codes 0, 1, 2, ... (number the levels from 0)";
  }
  return "";
}

[[nodiscard]] inline std::string number(double x) {
  std::ostringstream text;
  text.precision(17);
  text << x;
  return text.str();
}

[[noreturn, gnu::cold]] inline void refuse_cell(const std::string& family, const domain& d,
                                                bool sparse, index_t row, index_t column,
                                                double x) {
  if (is_missing(x) && d.missing) {
    throw cell_error(row, column,
                     "is NaN; sparse tables take no missing values: drop or impute the row, or "
                     "give a dense table (X.toarray())");
  }
  if (is_missing(x) && !d.missing) {
    throw cell_error(row, column,
                     "is NaN; " + family +
                         " takes no missing values: drop or impute the row, or use a "
                         "family that takes them");
  }
  throw cell_error(row, column,
                   "is " + number(x) + "; " + family + " takes " + wanted(d.cells) +
                       (d.missing && !sparse ? " or NaN for missing" : ""));
}

inline void check_row_layout(const row_view& row, index_t i) {
  index_t before = -1;
  for (index_t k = 0; k < row.stored(); ++k) {
    const index_t j = row.column(k);
    require(j > before && j < row.columns(), [&] {
      return "X: row " + std::to_string(i) +
             " has column indices out of order, repeated or beyond " +
             std::to_string(row.columns()) + " columns; sort them and sum the repeats first";
    });
    before = j;
  }
}

}  // namespace detail

/// Refuses an empty table, a layout the family does not take, and the first bad cell, naming its
/// row, column and value and the remedy. O(stored cells).
inline void check_table(const table_view& X, const domain& d, const std::string& family) {
  require(X.rows() >= 1, "X has no rows; at least one is needed");
  require(X.columns() >= 1, "X has no columns; at least one is needed");
  require(d.sparse || !X.sparse(), [&] {
    return "X is sparse; " + family + " takes dense tables: convert it (X.toarray())";
  });
  detail::pacer pace;
  for (index_t i = 0; i < X.rows(); ++i) {
    const row_view row = X.row(i);
    pace(2 * row.stored());
    if (row.sparse()) detail::check_row_layout(row, i);
    if (detail::plainly_good(d.cells, row)) continue;
    for (index_t k = 0; k < row.stored(); ++k) {
      const double x = row.value(k);
      const bool good = is_missing(x) ? d.missing && !row.sparse() : detail::holds(d.cells, x);
      if (!good) detail::refuse_cell(family, d, row.sparse(), i, row.column(k), x);
    }
  }
}

}  // namespace bhclust

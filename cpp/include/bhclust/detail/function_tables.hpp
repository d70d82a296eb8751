/// @file
/// Functions of counts, computed once for small counts.
#pragma once

#include <bhclust/detail/lane_functions.hpp>
#include <bhclust/detail/simd.hpp>
#include <bhclust/progress.hpp>
#include <bhclust/types.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <utility>
#include <vector>

namespace bhclust::detail {

/// f(0), f(1), …, f(size - 1) of a function of counts; empty unless made by function_tables.
struct function_table {
  const double* values = nullptr;
  double size = 0.0;

  [[nodiscard]] bool covers(double count) const noexcept { return count < size; }
  /// f of a count, computed by `other` where the table does not cover it.
  template <class F>
  [[nodiscard]] double at(double count, F&& other) const noexcept {
    return covers(count) ? (*this)(count) : other(count);
  }
  /// f of a count that the table covers.
  [[nodiscard]] double operator()(double count) const noexcept {
    return values[static_cast<index_t>(count)];
  }
};

/// The sum of each column's cells, missing ones left out.
[[nodiscard]] inline std::vector<double> sums_of_columns(const table_view& X) {
  std::vector<double> sums(static_cast<std::size_t>(X.columns()), 0.0);
  pacer pace;
  for (index_t i = 0; i < X.rows(); ++i) {
    const row_view row = X.row(i);
    pace(2 * row.stored());
    for (index_t k = 0; k < row.stored(); ++k) {
      if (!is_missing(row.value(k))) sums[static_cast<std::size_t>(row.column(k))] += row.value(k);
    }
  }
  return sums;
}

/// Makes and keeps tables; columns with equal hyperparameters share theirs. Tables move with their
/// owner but are never copied.
class function_tables {
 public:
  /// Tables are as long as a budget of a few megabytes allows for this many columns; those of
  /// numbers of rows end at the number there are, those of sums at what a column adds up to, where
  /// that is told.
  function_tables(index_t columns, index_t rows, std::vector<double> sums = {})
      : size_(std::clamp<index_t>(budget / std::max<index_t>(columns, 1), 16, 4096)),
        rows_(std::min(size_, rows + 1)),
        sums_(std::move(sums)) {}
  /// For a few functions of each of some thousand clusters: no longer than repays its making.
  [[nodiscard]] static function_tables short_ones(index_t columns, index_t rows) {
    function_tables made(columns, rows);
    made.size_ = std::min(made.size_, std::clamp<index_t>(rows / 8, 16, 4096));
    made.rows_ = std::min(made.size_, rows + 1);
    return made;
  }
  function_tables(const function_tables&) = delete;
  function_tables& operator=(const function_tables&) = delete;
  function_tables(function_tables&&) = default;
  function_tables& operator=(function_tables&&) = default;
  ~function_tables() = default;

  /// The tables that follow are for column j.
  void enter_column(index_t j) noexcept {
    if (!sums_.empty()) sum_ = sums_[static_cast<std::size_t>(j)];
  }
  /// They are for sums of any columns.
  void leave_column() noexcept { sum_ = infinite; }

  /// ln Γ(a + m) - ln Γ(a) of sums of counts m.
  [[nodiscard]] function_table gamma_ratio(double a) { return gamma_ratio(a, size_for(sum_)); }
  /// The same of numbers of rows and sums of counts together.
  [[nodiscard]] function_table gamma_ratio_of_both(double a) {
    return gamma_ratio(a, size_for(sum_ + static_cast<double>(rows_)));
  }
  /// The same of numbers of rows m.
  [[nodiscard]] function_table gamma_ratio_of_rows(double a) { return gamma_ratio(a, rows_); }
  /// m ln m of sums of counts m.
  [[nodiscard]] function_table count_log_count() { return count_log_count(size_for(sum_)); }
  /// The same of numbers of rows m.
  [[nodiscard]] function_table count_log_count_of_rows() { return count_log_count(rows_); }
  /// ln(b + n) of numbers of rows n.
  [[nodiscard]] function_table log_sum(double b) {
    return make({1.0, b, 0.0, 0.0}, rows_, [b](std::vector<double>& values) {
      for (double n = 0.0; n < static_cast<double>(values.size()); n += 1.0) {
        values[static_cast<std::size_t>(n)] = std::log(b + n);
      }
    });
  }
  /// a ln(1 + n / b) of numbers of rows n.
  [[nodiscard]] function_table scaled_log1p(double a, double b) {
    return make({2.0, a, b, 0.0}, rows_, [a, b](std::vector<double>& values) {
      for (double n = 0.0; n < static_cast<double>(values.size()); n += 1.0) {
        values[static_cast<std::size_t>(n)] = a * std::log1p(n / b);
      }
    });
  }

 private:
  static constexpr double infinite = std::numeric_limits<double>::infinity();
  static constexpr index_t budget = 1000000;  ///< entries of all columns' tables of one kind

  /// Which function, its parameters, and where its table ends.
  using key = std::array<double, 4>;

  /// Powers of 2, so that columns with equal hyperparameters still share tables.
  [[nodiscard]] index_t size_for(double most) const noexcept {
    index_t size = 16;
    while (size < size_ && !(static_cast<double>(size) > most)) size *= 2;
    return std::min(size, size_);
  }

  [[nodiscard]] function_table gamma_ratio(double a, index_t size) {
    return make({0.0, a, 0.0, static_cast<double>(size)}, size,
                [a](std::vector<double>& values) { sum_logs(a, values); });
  }

  [[nodiscard]] function_table count_log_count(index_t size) {
    return make({3.0, 0.0, 0.0, static_cast<double>(size)}, size, [](std::vector<double>& values) {
      for (std::size_t m = 1; m < values.size(); ++m) {
        values[m] = static_cast<double>(m) * std::log(static_cast<double>(m));
      }
    });
  }

  /// values[m] = ln a + ln(a + 1) + … + ln(a + m - 1); what the sums round off is summed apart.
  static void sum_logs(double a, std::vector<double>& values) {
    double sum = 0.0;
    double lost = 0.0;
    double terms[lanes::count];
    const auto size = static_cast<index_t>(values.size());
    for (index_t m = 0; m < size; ++m) {
      values[static_cast<std::size_t>(m)] = sum + lost;
      if (m % lanes::count == 0) logs_from(a, m, terms);
      const double term = terms[m % lanes::count];
      const double next = sum + term;
      const double added = next - sum;
      lost += (sum - (next - added)) + (term - added);
      sum = next;
    }
  }

  /// ln(a + m), ln(a + m + 1), …
  static void logs_from(double a, index_t m, double* terms) {
    for (index_t k = 0; k < lanes::count; ++k) terms[k] = a + static_cast<double>(m + k);
    log(lanes::load(terms)).store(terms);
    if (m == 0) terms[0] = std::log(a);  // which may be below the range of lanes
  }

  template <class Fill>
  [[nodiscard]] function_table make(const key& k, index_t size, const Fill& fill) {
    auto& values = tables_[k];
    if (values.empty()) {
      values.resize(static_cast<std::size_t>(size));
      fill(values);
    }
    return {values.data(), static_cast<double>(size)};
  }

  index_t size_, rows_;
  std::vector<double> sums_;  ///< of each column's counts, if told
  double sum_ = infinite;     ///< of the column that tables are made for
  std::map<key, std::vector<double>> tables_;
};

}  // namespace bhclust::detail

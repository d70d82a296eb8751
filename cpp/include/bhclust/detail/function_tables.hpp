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

/// Makes and keeps tables; columns with equal hyperparameters share theirs. Those of gamma_ratio
/// are there to be read after `complete`, which makes many at once. Tables move with their owner
/// but are never copied.
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

  /// Fills what was asked for.
  void complete() {
    std::sort(unfilled_.begin(), unfilled_.end(),
              [](const unfilled& x, const unfilled& y) { return x.size > y.size; });
    const auto all = static_cast<index_t>(unfilled_.size());
    for (index_t t = 0; t < all; t += lanes::count) {
      sum_logs(unfilled_.data() + t, std::min(all - t, index_t{lanes::count}));
    }
    unfilled_.clear();
  }

  /// ln Γ(a + m) - ln Γ(a) of sums of counts m.
  [[nodiscard]] function_table gamma_ratio(double a) { return gamma_ratio(a, size_for(sum_)); }
  /// The same of numbers of rows and sums of counts together.
  [[nodiscard]] function_table gamma_ratio_of_both(double a) {
    return gamma_ratio(a, size_for(sum_ + static_cast<double>(rows_)));
  }
  /// The same of numbers of rows m.
  [[nodiscard]] function_table gamma_ratio_of_rows(double a) { return gamma_ratio(a, rows_); }
  /// The same of numbers of rows that add 1 to the sum, and of the others.
  [[nodiscard]] function_table gamma_ratio_of_ones(double a) {
    return gamma_ratio(a, std::min(rows_, size_for(sum_ + 1.0)));
  }
  [[nodiscard]] function_table gamma_ratio_of_zeros(double a) {
    const bool told = sum_ < static_cast<double>(rows_);
    return gamma_ratio(a,
                       told ? std::min(rows_, size_for(static_cast<double>(rows_) - sum_)) : rows_);
  }
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

  /// A table of gamma_ratio that is still to be filled.
  struct unfilled {
    double a;
    double* values;
    index_t size;
  };

  /// Of few lengths, so that columns with equal hyperparameters still share tables.
  [[nodiscard]] index_t size_for(double most) const noexcept {
    index_t step = 16;
    while (step < size_ && !(16.0 * static_cast<double>(step) > most)) step *= 2;
    index_t size = step;
    while (size < size_ && !(static_cast<double>(size) > most)) size += step;
    return std::min(size, size_);
  }

  [[nodiscard]] function_table gamma_ratio(double a, index_t size) {
    const key k{0.0, a, 0.0, static_cast<double>(size)};
    const auto longer = tables_.lower_bound(k);
    const bool made =
        longer != tables_.end() && std::equal(k.begin(), k.end() - 1, longer->first.begin());
    auto& values = made ? longer->second : tables_[k];
    if (values.empty()) {
      values.resize(static_cast<std::size_t>(size));
      unfilled_.push_back({a, values.data(), size});
    }
    return {values.data(), static_cast<double>(size)};
  }

  [[nodiscard]] function_table count_log_count(index_t size) {
    return make({3.0, 0.0, 0.0, static_cast<double>(size)}, size, [](std::vector<double>& values) {
      for (std::size_t m = 1; m < values.size(); ++m) {
        values[m] = static_cast<double>(m) * std::log(static_cast<double>(m));
      }
    });
  }

  /// Fills so many tables, at most one a lane, of which the first is the longest:
  /// values[m] = ln a + ln(a + 1) + … + ln(a + m - 1); what the sums round off is summed apart.
  static void sum_logs(const unfilled* of, index_t count) {
    double first[lanes::count];
    std::fill_n(first, lanes::count, 1.0);
    for (index_t t = 0; t < count; ++t) first[t] = of[t].a;
    const lanes a = lanes::load(first);
    for (double& x : first) x = std::log(x);  // which may be below the range of lanes
    lanes term = lanes::load(first);
    lanes sum = lanes::all(0.0);
    lanes lost = sum;
    double made[lanes::count * lanes::count];
    for (index_t begin = 0; begin < of[0].size; begin += lanes::count) {
      for (index_t m = 0; m < lanes::count; ++m) {
        (sum + lost).store(made + m * lanes::count);
        const lanes next = sum + term;
        const lanes added = next - sum;
        lost = lost + ((sum - (next - added)) + (term - added));
        sum = next;
        term = log(a + static_cast<double>(begin + m + 1));
      }
      for (index_t t = 0; t < count; ++t) {
        const index_t left = std::min(of[t].size - begin, index_t{lanes::count});
        double* to = of[t].values + begin;
        for (index_t m = 0; m < left; ++m) to[m] = made[m * lanes::count + t];
      }
    }
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
  std::vector<unfilled> unfilled_;
};

}  // namespace bhclust::detail

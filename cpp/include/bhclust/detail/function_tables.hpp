/// @file
/// Functions of counts, computed once for small counts.
#pragma once

#include <bhclust/detail/special.hpp>
#include <bhclust/types.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <vector>

namespace bhclust::detail {

/// f(0), f(1), …, f(size - 1) of a function of counts; empty unless made by function_tables.
struct function_table {
  const double* values = nullptr;
  double size = 0.0;

  [[nodiscard]] bool covers(double count) const noexcept { return count < size; }
  /// f of a count that the table covers.
  [[nodiscard]] double operator()(double count) const noexcept {
    return values[static_cast<index_t>(count)];
  }
};

/// Makes and keeps tables; columns with equal hyperparameters share theirs. Tables move with their
/// owner but are never copied.
class function_tables {
 public:
  /// Tables are as long as a budget of a few megabytes allows for this many columns.
  explicit function_tables(index_t columns)
      : size_(std::clamp<index_t>(budget / std::max<index_t>(columns, 1), 16, 4096)) {}
  function_tables(const function_tables&) = delete;
  function_tables& operator=(const function_tables&) = delete;
  function_tables(function_tables&&) = default;
  function_tables& operator=(function_tables&&) = default;
  ~function_tables() = default;

  /// ln Γ(a + m) - ln Γ(a).
  [[nodiscard]] function_table gamma_ratio(double a) {
    return make({0.0, a, 0.0}, [a](double m) { return log_gamma_ratio(a, m); });
  }
  /// ln(b + n).
  [[nodiscard]] function_table log_sum(double b) {
    return make({1.0, b, 0.0}, [b](double n) { return std::log(b + n); });
  }
  /// a ln(1 + n / b).
  [[nodiscard]] function_table scaled_log1p(double a, double b) {
    return make({2.0, a, b}, [a, b](double n) { return a * std::log1p(n / b); });
  }

 private:
  static constexpr index_t budget = 1000000;  ///< entries of all columns' tables of one kind

  /// Which function, and its parameters.
  using key = std::array<double, 3>;

  template <class F>
  [[nodiscard]] function_table make(const key& k, const F& f) {
    auto& values = tables_[k];
    if (values.empty()) {
      values.reserve(static_cast<std::size_t>(size_));
      for (index_t m = 0; m < size_; ++m) values.push_back(f(static_cast<double>(m)));
    }
    return {values.data(), static_cast<double>(size_)};
  }

  index_t size_;
  std::map<key, std::vector<double>> tables_;
};

}  // namespace bhclust::detail

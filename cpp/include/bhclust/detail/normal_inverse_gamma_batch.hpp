/// @file
/// Log marginal likelihoods of eight clusters of Normal columns at a time.
#pragma once

#include <bhclust/detail/moments.hpp>
#include <bhclust/detail/simd.hpp>
#include <bhclust/detail/special.hpp>
#include <bhclust/types.hpp>

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

namespace bhclust::detail {

/// ln(1 + x) for 0 <= x <= 1e300. What rounding takes from 1 + x is given back to first order, so
/// the relative error is small for small x as well.
[[nodiscard]] inline lanes log1p(const lanes& x) noexcept {
  const lanes u = x + 1.0;
  return log(u) + (x - (u - 1.0)) / u;
}

/// normal_inverse_gamma_column::log_marginal summed over columns, in another order of operations:
/// terms of n alone are computed once for neighbouring columns that share n, kappa and a.
template <class Column>
class normal_inverse_gamma_batch {
 public:
  explicit normal_inverse_gamma_batch(std::vector<Column> columns) : columns_(std::move(columns)) {
    for (const auto& column : columns_) log_b_.push_back(std::log(column.b));
  }

  /// Statistics one after another, `stride` doubles each; false where the range of lanes does not
  /// do and log_marginal must.
  [[nodiscard]] bool eight(const double* t, index_t stride, double* out) const {
    lanes sum = lanes::all(0.0);
    lanes widest = lanes::all(0.0);
    counts_term counts;
    for (std::size_t j = 0; j < columns_.size(); ++j, t += moments::width) {
      const auto& column = columns_[j];
      const lanes n = gather(t, stride);
      if (j == 0 || !counts.serves(columns_[j - 1], column, n)) counts = {column, n};
      const lanes y = (gather(t + 1, stride) - column.mean) + gather(t + 2, stride);
      const lanes share = column.kappa / (n + column.kappa) * n;
      const lanes ratio = (gather(t + 3, stride) + share * y * y) * (0.5 / column.b);
      const lanes growth = log1p(ratio);
      widest = larger(widest, ratio);
      sum = sum + (counts.value - growth * column.a) - n * 0.5 * (growth + log_b_[j]);
    }
    sum.store(out);
    return in_range(widest) &&
           std::all_of(out, out + lanes::count, [](double x) { return std::isfinite(x); });
  }

 private:
  /// ln Γ(a + n/2) - ln Γ(a) - ½ (n ln 2π + ln(1 + n/κ)).
  struct counts_term {
    double n[lanes::count] = {};
    lanes value{};

    counts_term() = default;
    counts_term(const Column& column, const lanes& of) {
      of.store(n);
      double x[lanes::count];
      std::transform(n, n + lanes::count, x, [&column](double each) {
        return log_gamma_ratio(column.a, 0.5 * each) -
               0.5 * (each * ln_2pi + log1p_ratio(each, column.kappa));
      });
      value = lanes::load(x);
    }
    [[nodiscard]] bool serves(const Column& before, const Column& column, const lanes& of) const {
      double counts[lanes::count];
      of.store(counts);
      return before.a == column.a && before.kappa == column.kappa &&
             std::equal(n, n + lanes::count, counts);
    }
  };

  [[nodiscard]] static lanes gather(const double* t, index_t stride) noexcept {
    double x[lanes::count];
    for (index_t i = 0; i < lanes::count; ++i) x[i] = t[i * stride];
    return lanes::load(x);
  }

  [[nodiscard]] static bool in_range(const lanes& ratio) noexcept {
    constexpr double most = 1e300;
    double x[lanes::count];
    ratio.store(x);
    return std::all_of(x, x + lanes::count, [](double each) { return each < most; });
  }

  std::vector<Column> columns_;
  std::vector<double> log_b_;
};

}  // namespace bhclust::detail

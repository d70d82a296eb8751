/// @file
/// Log marginal likelihoods of many clusters of Normal columns.
#pragma once

#include <bhclust/detail/lane_functions.hpp>
#include <bhclust/detail/moment_lanes.hpp>
#include <bhclust/detail/moments.hpp>
#include <bhclust/detail/simd.hpp>
#include <bhclust/detail/special.hpp>
#include <bhclust/types.hpp>

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

namespace bhclust::detail {

/// The model of many clusters: the columns' log marginal likelihoods eight columns at a time, in
/// another order of operations, with statistics of its own. What depends on counts alone is looked
/// up where they are small.
template <class Column>
class normal_inverse_gamma_batch {
 public:
  /// For clusters of a table of so many rows.
  normal_inverse_gamma_batch(std::vector<Column> columns, index_t rows)
      : columns_(std::move(columns)),
        layout_(static_cast<index_t>(columns_.size())),
        prior_mean_(columns_, 0.0, [](const Column& c) { return c.mean; }),
        kappa_(columns_, 1.0, [](const Column& c) { return c.kappa; }),
        shape_(columns_, 1.0, [](const Column& c) { return c.a; }),
        half_rate_(columns_, 0.5, [](const Column& c) { return 0.5 / c.b; }),
        log_scale_(columns_, 0.0, [](const Column& c) { return std::log(c.b); }) {
    tabulate(std::min<index_t>(rows, largest_tabulated));
    for (const auto& column : columns_) {
      log_scales_ += std::log(column.b);
      one_shape_ = one_shape_ && column.a == columns_[0].a && column.a <= most_of_one_shape;
    }
  }

  [[nodiscard]] index_t width() const noexcept { return layout_.width(); }
  void observe(const row_view& row, double* t) const noexcept { layout_.observe(row, t); }
  void merge(double* t, const double* s) const noexcept { layout_.merge(t, s); }

  /// Column by column, by the columns' own way.
  [[nodiscard]] double log_marginal(const double* t) const noexcept {
    double sum = 0.0;
    for (std::size_t j = 0; j < columns_.size(); ++j) {
      double own[moments::width];
      layout_.copy(t, static_cast<index_t>(j), own);
      sum += columns_[j].log_marginal(own);
    }
    return sum;
  }

  void log_marginals(const double* t, index_t count, double* out) const noexcept {
    bool known[lanes::count] = {};
    if (one_shape_) by_products(t, count, out, known);
    for (index_t i = 0; i < count; ++i, t += width()) {
      if (!known[i] && !by_columns(t, out[i])) out[i] = log_marginal(t);
    }
  }

 private:
  static constexpr index_t largest_tabulated = 1024;
  /// Beyond, what rounding takes from a product of columns would be felt.
  static constexpr double most_of_one_shape = 16.0;

  [[nodiscard]] static std::size_t at(index_t i) noexcept { return static_cast<std::size_t>(i); }

  /// (b_n - b) / b, b_n the posterior's.
  [[nodiscard]] lanes growth(const moment_lanes& m, index_t j) const noexcept {
    const lanes y = m.offset(prior_mean_[j]);
    const lanes share = kappa_[j] / (m.n + kappa_[j]) * m.n;
    return (m.squares + share * y * y) * half_rate_[j];
  }

  /// With one shape and as many values in each column, by one logarithm for the product of eight
  /// columns; `known` tells of which clusters.
  void by_products(const double* t, index_t count, double* out, bool* known) const noexcept {
    constexpr double most = 1e36;
    std::fill_n(known, count, true);
    lanes sum = lanes::all(0.0);
    for (index_t j = 0; j < layout_.stride(); j += lanes::count) {
      double product[lanes::count] = {1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0};
      for (index_t i = 0; i < count; ++i) {
        const double* own = t + i * width();
        const auto m = layout_.load(own, j);
        const lanes ratio = growth(m, j);
        const lanes uneven = (m.n - own[0]) * (m.n - own[0]) * (2.0 * most);
        known[i] =
            known[i] && bits_at_most(larger(uneven, ratio), lanes::all(most)) == lanes::every;
        product[i] = known[i] ? product_of(ratio + 1.0) : 1.0;
      }
      sum = sum + log(lanes::load(product));
    }
    double logs[lanes::count];
    sum.store(logs);
    for (index_t i = 0; i < count; ++i) {
      const double n = t[i * width()];
      out[i] = term_of_rows(n) - ((columns_[0].a + 0.5 * n) * logs[i] + 0.5 * n * log_scales_);
    }
  }

  /// False where the range of lanes does not do.
  [[nodiscard]] bool by_columns(const double* t, double& out) const noexcept {
    constexpr double most = 1e300;
    lanes sum = lanes::all(0.0);
    lanes widest = lanes::all(0.0);
    for (index_t j = 0; j < layout_.stride(); j += lanes::count) {
      const auto m = layout_.load(t, j);
      const lanes ratio = growth(m, j);
      const lanes log_growth = log1p(ratio);
      widest = larger(widest, ratio);
      sum = sum - (log_growth * shape_[j] + m.n * 0.5 * (log_growth + log_scale_[j]));
    }
    out = sum_of(sum) + terms_of_counts(t);
    return bits_at_most(widest, lanes::all(most)) == lanes::every && std::isfinite(out);
  }

  /// ln Γ(a + n/2) - ln Γ(a) - ½ (n ln 2π + ln(1 + n/κ)).
  [[nodiscard]] static double count_term(const Column& column, double n) noexcept {
    return log_gamma_ratio(column.a, 0.5 * n) - 0.5 * (n * ln_2pi + log1p_ratio(n, column.kappa));
  }

  /// Columns of equal a and kappa share a table.
  void tabulate(index_t largest) {
    std::vector<const Column*> kinds;
    for (const auto& column : columns_) {
      const auto known = std::find_if(kinds.begin(), kinds.end(), [&](const Column* k) {
        return k->a == column.a && k->kappa == column.kappa;
      });
      kind_.push_back(known - kinds.begin());
      if (known == kinds.end()) kinds.push_back(&column);
    }
    tabulated_ = largest + 1;
    for (const Column* column : kinds) {
      for (index_t n = 0; n <= largest; ++n) {
        of_count_.push_back(count_term(*column, static_cast<double>(n)));
      }
    }
    of_rows_.assign(at(tabulated_), 0.0);
    for (const index_t kind : kind_) {
      for (index_t n = 0; n <= largest; ++n) {
        of_rows_[at(n)] += of_count_[at(kind * tabulated_ + n)];
      }
    }
  }

  /// Of all columns, where each has n values.
  [[nodiscard]] double term_of_rows(double n) const noexcept {
    const auto i = static_cast<index_t>(n);
    if (i < tabulated_) return of_rows_[at(i)];
    double sum = 0.0;
    double own = 0.0;
    for (std::size_t j = 0; j < columns_.size(); ++j) {
      if (j == 0 || kind_[j] != kind_[j - 1]) own = count_term(columns_[j], n);
      sum += own;
    }
    return sum;
  }

  [[nodiscard]] double terms_of_counts(const double* n) const noexcept {
    double sum = 0.0;
    for (std::size_t j = 0; j < columns_.size(); ++j) {
      const auto i = static_cast<index_t>(n[j]);
      sum +=
          i < tabulated_ ? of_count_[at(kind_[j] * tabulated_ + i)] : count_term(columns_[j], n[j]);
    }
    return sum;
  }

  std::vector<Column> columns_;
  columns_of_moments layout_;
  column_lanes prior_mean_, kappa_, shape_, half_rate_, log_scale_;
  double log_scales_ = 0.0;  ///< their sum
  bool one_shape_ = true;
  std::vector<index_t> kind_;     ///< of each column
  index_t tabulated_ = 0;         ///< counts below this are
  std::vector<double> of_count_;  ///< a table for each kind
  std::vector<double> of_rows_;   ///< the sum over columns
};

}  // namespace bhclust::detail

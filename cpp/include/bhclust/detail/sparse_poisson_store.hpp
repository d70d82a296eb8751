/// @file
/// The store of sparse rows of Poisson counts.
#pragma once

#include <bhclust/detail/function_tables.hpp>
#include <bhclust/detail/lane_functions.hpp>
#include <bhclust/detail/rate_sums.hpp>
#include <bhclust/detail/shared_columns_store.hpp>
#include <bhclust/detail/simd.hpp>
#include <bhclust/detail/special.hpp>
#include <bhclust/detail/table_with_totals.hpp>
#include <bhclust/independent.hpp>
#include <bhclust/progress.hpp>
#include <bhclust/types.hpp>

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>
#include <vector>

namespace bhclust::detail {

/// A column's ln Γ(a + s) / Γ(a) - Σ ln Γ(x + 1) of a sum of counts s; or, of numbers of rows, what
/// all columns say without counts. Statistics: as for dirichlet_column.
struct poisson_counts_column {
  double a;
  std::shared_ptr<const std::vector<double>> of_rows{};
  function_table gamma{};

  [[nodiscard]] static index_t width() noexcept { return 2; }

  void tabulate(function_tables& tables) {
    if (!of_rows) gamma = tables.gamma_ratio(a);
  }

  static void observe(double x, double* t) noexcept {
    t[0] += x;
    t[1] += log_gamma(x + 1.0);
  }

  [[nodiscard]] double log_marginal(const double* t) const noexcept {
    if (gamma.covers(t[0])) return gamma(t[0]) - t[1];
    return computed(t);
  }

 private:
  [[nodiscard, gnu::noinline]] double computed(const double* t) const noexcept {
    if (of_rows) return (*of_rows)[std::min(of_rows->size() - 1, static_cast<std::size_t>(t[0]))];
    return log_gamma_ratio(a, t[0]) - t[1];
  }
};

/// -Σ_j a_j ln(1 + n / b_j) for n = 0 … rows. `Model` has columns with a shape and a rate.
template <class Model>
[[nodiscard]] std::vector<double> without_counts(const Model& model, index_t rows) {
  constexpr index_t width = lanes::count;
  const index_t blocks = (model.columns() + width - 1) / width;
  std::vector<double> shapes(static_cast<std::size_t>(blocks * width), 0.0);
  std::vector<double> scales(shapes.size(), 0.0);
  for (index_t j = 0; j < model.columns(); ++j) {
    shapes[static_cast<std::size_t>(j)] = model.column(j).shape;
    scales[static_cast<std::size_t>(j)] = 1.0 / model.column(j).rate;
  }
  std::vector<double> made{0.0};
  pacer pace;
  for (index_t n = 1; n <= rows; ++n) {
    pace(8 * model.columns());
    lanes sum = lanes::all(0.0);
    for (index_t b = 0; b < blocks * width; b += width) {
      const lanes x = lanes::load(scales.data() + b) * static_cast<double>(n);
      sum = sum + lanes::load(shapes.data() + b) * log1p(x);
    }
    made.push_back(-sum_of(sum));
  }
  return made;
}

/// Clusters by the columns that they have counts in. In a column without counts the marginal
/// likelihood depends on the number of rows alone, and all columns together on it through one
/// table; ln(b + n) of the columns with counts is left to rate_sums. `Model` is independent<Column>
/// of columns with a shape and a rate.
template <class Model>
class sparse_poisson_store
    : public shared_columns_store<independent<poisson_counts_column>, rate_sums> {
  using base = shared_columns_store<independent<poisson_counts_column>, rate_sums>;

 public:
  sparse_poisson_store(const Model& model, const table_view& X)
      : base(counts_of(model, X.rows()), table_with_totals(X, row_sum::one).view(),
             rate_sums(rates_of(model), X.rows())) {}

  /// Whether there are rows enough to repay what is made for each column, these have cells in few
  /// of many columns, and rates are such that 1/b is a number.
  [[nodiscard]] static bool takes(const Model& model, const table_view& X) {
    constexpr index_t many = 64;
    constexpr index_t enough_rows = 256;
    constexpr double largest = 1e12;
    if (X.grouped() || X.columns() < many || X.rows() < enough_rows) return false;
    if (!base::has_few_cells(X)) return false;
    for (index_t i = 0; i < X.rows(); ++i) {
      const row_view row = X.row(i);
      for (index_t k = 0; k < row.stored(); ++k) {
        if (!(row.value(k) < largest)) return false;
      }
    }
    for (index_t j = 0; j < model.columns(); ++j) {
      const double b = model.column(j).rate;
      if (!(b > 1.0 / largest && b < largest && model.column(j).shape < largest)) return false;
    }
    return true;
  }

 private:
  [[nodiscard]] static std::vector<double> rates_of(const Model& model) {
    std::vector<double> rates;
    for (index_t j = 0; j < model.columns(); ++j) rates.push_back(model.column(j).rate);
    return rates;
  }

  [[nodiscard]] static independent<poisson_counts_column> counts_of(const Model& model,
                                                                    index_t rows) {
    std::vector<poisson_counts_column> columns;
    double sum = 0.0;
    for (index_t j = 0; j < model.columns(); ++j) {
      columns.push_back({model.column(j).shape});
      sum += columns.back().a;
    }
    auto of_rows = std::make_shared<const std::vector<double>>(without_counts(model, rows));
    columns.push_back({sum, std::move(of_rows)});
    return independent<poisson_counts_column>(std::move(columns));
  }
};

}  // namespace bhclust::detail

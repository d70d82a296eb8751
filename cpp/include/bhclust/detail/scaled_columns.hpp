/// @file
/// The cells of a real table in units that keep squares and their products in range.
#pragma once

#include <bhclust/detail/moments.hpp>
#include <bhclust/detail/robust.hpp>
#include <bhclust/detail/simd.hpp>
#include <bhclust/progress.hpp>
#include <bhclust/types.hpp>

#include <cmath>
#include <utility>
#include <vector>

namespace bhclust::detail {

/// √2 σ of each column of a model whose columns have a variance.
template <class Model>
[[nodiscard]] std::vector<double> units_of_noise(const Model& model) {
  std::vector<double> units;
  for (index_t j = 0; j < model.columns(); ++j) {
    units.push_back(std::sqrt(2.0) * std::sqrt(model.column(j).variance));
  }
  return units;
}

/// The means of a model's columns, whose statistics are moments, and the number of rows: 0 where
/// cells are missing, so that columns have means of different numbers of rows.
template <class Model>
[[nodiscard]] double rows_and_means(const Model& model, const double* t, double* mean) {
  const double rows = moments::load(t).n;
  for (index_t j = 0; j < model.columns(); ++j) {
    const auto column = moments::load(t + model.offset(j));
    if (column.n != rows) return 0.0;
    mean[j] = column.mean;
  }
  return rows;
}

/// A table, each column counted from its middle in a unit of its own.
class scaled_columns {
 public:
  scaled_columns(const table_view& X, std::vector<double> unit)
      : middle_(middle_of(X)), unit_(std::move(unit)) {}

  [[nodiscard]] double operator()(index_t j, double x) const noexcept {
    const auto at = static_cast<std::size_t>(j);
    return (x - middle_[at]) / unit_[at];
  }

  /// Whether there is nothing missing, and rows and prior means are so near each other that the
  /// middle need not be known to take them all.
  [[nodiscard]] static bool are_near(const table_view& X, const std::vector<double>& unit,
                                     const std::vector<double>& prior_mean) {
    const auto reach = reaches_of(X, prior_mean);
    for (std::size_t j = 0; j < unit.size(); ++j) {
      if (!(reach[j] / unit[j] < farthest_row)) return false;
    }
    return true;
  }

  /// Eight cells of a column, in place.
  void scale_eight(index_t j, double* cells) const noexcept {
    const auto at = static_cast<std::size_t>(j);
    ((lanes::load(cells) - middle_[at]) / lanes::all(unit_[at])).store(cells);
  }

  /// The mean of some rows, and their sum of squares about it.
  [[nodiscard]] double mean(index_t j, const moments& rows) const noexcept {
    const auto at = static_cast<std::size_t>(j);
    return rows.offset(middle_[at]) / unit_[at];
  }
  [[nodiscard]] double squares(index_t j, const moments& rows) const noexcept {
    const double unit = unit_[static_cast<std::size_t>(j)];
    return rows.squares / unit / unit;
  }

  /// Whether there is nothing missing (unless there may be), no row is so far away that its digits
  /// no longer tell neighbours apart as well as those of x do, and no prior mean so far that
  /// products of squares overflow. Without prior means these are not looked at.
  [[nodiscard]] bool take(const table_view& X, const std::vector<double>& prior_mean,
                          bool with_holes = false) const {
    constexpr double farthest_prior = 1e15;
    pacer pace;
    for (index_t j = 0; j < X.columns(); ++j) {
      pace(4 * X.rows());
      if (!prior_mean.empty()) {
        const double h = (*this)(j, prior_mean[static_cast<std::size_t>(j)]);
        if (!(std::fabs(h) < farthest_prior)) return false;
      }
      for (index_t i = 0; i < X.rows(); ++i) {
        const double x = X.row(i).value(j);
        if (with_holes && is_missing(x)) continue;
        if (!(std::fabs((*this)(j, x)) < farthest_row)) return false;
      }
    }
    return true;
  }

 private:
  static constexpr double farthest_row = 1e6;

  std::vector<double> middle_, unit_;
};

}  // namespace bhclust::detail

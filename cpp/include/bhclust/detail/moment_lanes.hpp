/// @file
/// Centred moments of eight columns at a time.
#pragma once

#include <bhclust/detail/moments.hpp>
#include <bhclust/detail/simd.hpp>
#include <bhclust/types.hpp>

#include <algorithm>
#include <vector>

namespace bhclust::detail {

/// The moments of eight columns; see moments.
struct moment_lanes {
  lanes n, mean, mean_low, squares;

  /// A row; a missing cell is no value.
  [[nodiscard]] static moment_lanes of(const lanes& cells) noexcept {
    const lanes nothing = lanes::all(0.0);
    const lanes there = chunkwise([&](std::size_t i) {
      const chunk x = cells.part[i];
      return x == x ? 1.0 - chunk{} : chunk{};
    });
    return {there, where_zero(there, nothing, cells), nothing, nothing};
  }

  /// mean - x.
  [[nodiscard]] lanes offset(const lanes& x) const noexcept { return (mean - x) + mean_low; }

  void merge(const moment_lanes& s) noexcept {
    const lanes total = n + s.n;
    const lanes share = s.n / at_least(total, 1.0);
    const lanes step = (s.mean - mean) + (s.mean_low - mean_low);
    squares = (squares + s.squares) + step * step * (n * share);
    // high + low += step · share: see add_to_pair
    const lanes change = step * share;
    const lanes sum = mean + change;
    const lanes rest = sum - mean;
    const lanes low = mean_low + ((mean - (sum - rest)) + (change - rest));
    const lanes high = sum + low;
    mean = where_zero(n, s.mean, high);
    mean_low = where_zero(n, s.mean_low, low - (high - sum));
    n = total;
  }
};

/// Statistics of rows of real columns, laid out so that eight columns are read in one go: field by
/// field, columns side by side. What fills up the last eight is a column of zeros, never missing.
class columns_of_moments {
 public:
  explicit columns_of_moments(index_t columns)
      : columns_(columns), stride_((columns + lanes::count - 1) / lanes::count * lanes::count) {}

  [[nodiscard]] index_t columns() const noexcept { return columns_; }
  /// Columns, those that fill up included.
  [[nodiscard]] index_t stride() const noexcept { return stride_; }
  [[nodiscard]] index_t width() const noexcept { return moments::width * stride_; }

  /// The moments of columns j … j + 7, j a multiple of 8.
  [[nodiscard]] moment_lanes load(const double* t, index_t j) const noexcept {
    return {lanes::load(t + j), lanes::load(t + stride_ + j), lanes::load(t + 2 * stride_ + j),
            lanes::load(t + 3 * stride_ + j)};
  }
  void store(const moment_lanes& m, double* t, index_t j) const noexcept {
    m.n.store(t + j);
    m.mean.store(t + stride_ + j);
    m.mean_low.store(t + 2 * stride_ + j);
    m.squares.store(t + 3 * stride_ + j);
  }
  /// The moments of one column.
  void copy(const double* t, index_t j, double* out) const noexcept {
    for (index_t f = 0; f < moments::width; ++f) out[f] = t[f * stride_ + j];
  }

  /// Of a dense row.
  void observe(const row_view& row, double* t) const noexcept {
    for (index_t j = 0; j < stride_; j += lanes::count) {
      const auto own = moment_lanes::of(cells(row, j));
      moment_lanes m = load(t, j);
      const bool empty = bits_at_most(m.n, lanes::all(0.0)) == lanes::every;
      if (!empty) m.merge(own);
      store(empty ? own : m, t, j);
    }
  }

  void merge(double* t, const double* s) const noexcept {
    for (index_t j = 0; j < stride_; j += lanes::count) {
      moment_lanes m = load(t, j);
      m.merge(load(s, j));
      store(m, t, j);
    }
  }

 private:
  [[nodiscard]] lanes cells(const row_view& row, index_t j) const noexcept {
    if (j + lanes::count <= columns_) return lanes::load(row.values() + j);
    double some[lanes::count] = {};
    std::copy_n(row.values() + j, columns_ - j, some);
    return lanes::load(some);
  }

  index_t columns_, stride_;
};

/// A number of each column, filled up to whole lanes.
class column_lanes {
 public:
  template <class Column, class Of>
  column_lanes(const std::vector<Column>& columns, double fill, const Of& of) {
    for (const auto& column : columns) values_.push_back(of(column));
    while (values_.size() % lanes::count != 0) values_.push_back(fill);
  }
  [[nodiscard]] lanes operator[](index_t j) const noexcept {
    return lanes::load(values_.data() + j);
  }

 private:
  std::vector<double> values_;
};

}  // namespace bhclust::detail

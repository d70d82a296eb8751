/// @file
/// Index type, views of the user's data, and the one way to refuse an argument.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <type_traits>

namespace bhclust {

/// Counts, node ids and row numbers: signed 64 bits everywhere, since n(n-1)/2 leaves 32 bits at
/// 65,536 rows.
using index_t = std::int64_t;

/// A contiguous sequence owned by someone else (C++17 has no std::span).
template <class T>
class span {
 public:
  constexpr span() noexcept = default;
  constexpr span(T* data, index_t size) noexcept : data_(data), size_(size) {}
  template <class Container, class = std::enable_if_t<std::is_convertible_v<
                                 decltype(std::declval<Container&>().data()), T*>>>
  constexpr span(Container& c) noexcept  // NOLINT(google-explicit-constructor): a view
      : data_(c.data()), size_(static_cast<index_t>(c.size())) {}

  [[nodiscard]] constexpr T* data() const noexcept { return data_; }
  [[nodiscard]] constexpr index_t size() const noexcept { return size_; }
  [[nodiscard]] constexpr bool empty() const noexcept { return size_ == 0; }
  [[nodiscard]] constexpr T& operator[](index_t i) const noexcept { return data_[i]; }
  [[nodiscard]] constexpr T* begin() const noexcept { return data_; }
  [[nodiscard]] constexpr T* end() const noexcept { return data_ + size_; }

 private:
  T* data_ = nullptr;
  index_t size_ = 0;
};

namespace detail {
/// Out of line, so that a check costs its caller one predictable branch and no code.
[[noreturn, gnu::noinline, gnu::cold]] inline void fail(const std::string& message) {
  throw std::invalid_argument(message);
}
}  // namespace detail

/// Refuses an argument: throws std::invalid_argument (ValueError in Python) unless `condition`.
inline void require(bool condition, const char* message) {
  if (!condition) detail::fail(message);
}

/// As above for messages made of facts; `make_message` runs only when the check fails.
template <class MakeMessage, class = decltype(std::string(std::declval<MakeMessage>()()))>
void require(bool condition, MakeMessage&& make_message) {
  if (!condition) detail::fail(std::string(make_message()));
}

/// The mark of a missing cell in dense tables.
[[nodiscard]] inline bool is_missing(double x) noexcept { return std::isnan(x); }

/// One row of a table: dense (every column has a value), sparse (values at ascending columns, the
/// rest are zero), or a group of rows, whose stored values are its statistics.
class row_view {
 public:
  row_view(const double* values, index_t columns) noexcept
      : values_(values), stored_(columns), columns_(columns) {}
  row_view(const double* values, const index_t* indices, index_t stored, index_t columns) noexcept
      : values_(values),
        indices_(indices),
        stored_(stored),
        columns_(columns),
        kind_(kind::sparse) {}

  /// A group's statistics: `width` values.
  [[nodiscard]] static row_view group(const double* statistics, index_t width,
                                      index_t columns) noexcept {
    row_view made(statistics, columns);
    made.stored_ = width;
    made.kind_ = kind::group;
    return made;
  }

  [[nodiscard]] index_t columns() const noexcept { return columns_; }
  [[nodiscard]] bool sparse() const noexcept { return kind_ == kind::sparse; }
  [[nodiscard]] bool is_group() const noexcept { return kind_ == kind::group; }
  /// Number of stored cells: columns() of a dense row.
  [[nodiscard]] index_t stored() const noexcept { return stored_; }
  /// Value and column of the k-th stored cell.
  [[nodiscard]] double value(index_t k) const noexcept { return values_[k]; }
  [[nodiscard]] index_t column(index_t k) const noexcept { return sparse() ? indices_[k] : k; }

  /// The stored values, one after another.
  [[nodiscard]] const double* values() const noexcept { return values_; }

  /// Calls f(column, value) for every column in ascending order, zeros included.
  template <class F>
  void for_each(F&& f) const {
    if (!sparse()) {
      for (index_t j = 0; j < columns_; ++j) f(j, values_[j]);
      return;
    }
    index_t j = 0;
    for (index_t k = 0; k < stored_; ++k) {
      for (; j < indices_[k]; ++j) f(j, 0.0);
      f(j++, values_[k]);
    }
    for (; j < columns_; ++j) f(j, 0.0);
  }

 private:
  enum class kind : unsigned char { dense, sparse, group };

  const double* values_;
  const index_t* indices_ = nullptr;  ///< null also where no sparse row stores anything
  index_t stored_;
  index_t columns_;
  kind kind_ = kind::dense;
};

/// A table of rows, owned by the caller: dense row-major, or compressed sparse rows with strictly
/// ascending column indices in each row. A row may stand for several: it has a weight, how many. In
/// a table of groups (groups.hpp) each row is the statistics of the rows it stands for.
class table_view {
 public:
  table_view(const double* data, index_t rows, index_t columns, index_t row_stride)
      : data_(data), rows_(rows), columns_(columns), stride_(row_stride) {}
  table_view(const double* data, const index_t* indices, const index_t* indptr, index_t rows,
             index_t columns)
      : data_(data), indices_(indices), indptr_(indptr), rows_(rows), columns_(columns) {}

  [[nodiscard]] index_t rows() const noexcept { return rows_; }
  [[nodiscard]] index_t columns() const noexcept { return columns_; }
  /// The same rows with weights, one a row, each at least 1.
  [[nodiscard]] table_view with_weights(const index_t* weights) const noexcept {
    table_view made = *this;
    made.weights_ = weights;
    return made;
  }
  /// Rows taken for statistics, of `width` values each, of groups of rows of `columns` columns.
  [[nodiscard]] table_view as_groups(index_t columns, index_t width) const noexcept {
    table_view made = *this;
    made.columns_ = columns;
    made.width_ = width;
    made.grouped_ = true;
    return made;
  }

  [[nodiscard]] bool sparse() const noexcept { return indptr_ != nullptr; }
  [[nodiscard]] bool grouped() const noexcept { return grouped_; }
  /// Statistics a group; 0 in tables of rows.
  [[nodiscard]] index_t width() const noexcept { return width_; }
  /// Numbers stored of all rows together.
  [[nodiscard]] index_t cells() const noexcept {
    if (sparse()) return indptr_[rows_] - indptr_[0];
    return rows_ * (grouped() ? width_ : columns_);
  }
  [[nodiscard]] bool weighted() const noexcept { return weights_ != nullptr; }
  /// How many rows the i-th stands for.
  [[nodiscard]] index_t weight(index_t i) const noexcept { return weighted() ? weights_[i] : 1; }
  /// How many rows all stand for. O(rows) where they are weighted.
  [[nodiscard]] index_t total_weight() const noexcept {
    if (!weighted()) return rows_;
    index_t sum = 0;
    for (index_t i = 0; i < rows_; ++i) sum += weights_[i];
    return sum;
  }

  [[nodiscard]] row_view row(index_t i) const noexcept {
    if (grouped()) return row_view::group(data_ + i * stride_, width_, columns_);
    if (!sparse()) return {data_ + i * stride_, columns_};
    const index_t first = indptr_[i];
    return {data_ + first, indices_ + first, indptr_[i + 1] - first, columns_};
  }

 private:
  const double* data_;
  const index_t* indices_ = nullptr;
  const index_t* indptr_ = nullptr;
  index_t rows_;
  index_t columns_;
  index_t stride_ = 0;
  index_t width_ = 0;
  bool grouped_ = false;
  const index_t* weights_ = nullptr;
};

/// n rows of d values, row after row.
[[nodiscard]] inline table_view rows(const double* data, index_t n, index_t d) {
  return {data, n, d, d};
}

/// n groups of rows of d columns: their statistics, `width` values each, group after group, and how
/// many rows each has.
[[nodiscard]] inline table_view groups(const double* statistics, const index_t* weights, index_t n,
                                       index_t width, index_t d) {
  return rows(statistics, n, width).with_weights(weights).as_groups(d, width);
}

/// n sparse rows over d columns in CSR form; row i holds the cells indptr[i] … indptr[i+1]-1.
[[nodiscard]] inline table_view sparse_rows(const double* values, const index_t* indices,
                                            const index_t* indptr, index_t n, index_t d) {
  return {values, indices, indptr, n, d};
}

}  // namespace bhclust

/// @file
/// Lifts a one-column model to rows of independent columns: per-column hyperparameters, missing
/// cells, sparse rows, and fast scores.
///
/// A one-column model has
///
///     index_t width() const;                          // doubles of statistics, 0 when empty
///     void observe(double x, double* t) const;        // t += x
///     double log_marginal(const double* t) const;     // nats
///
/// and optionally merge, remove, potential, divergence as in family.hpp, and
///
///     bool possible(const double* t, index_t rows) const; // whether t can be of cells in a column
///                                     // of so many rows
///     index_t smoothed_means_size() const;            // for faster RBHC: see root_screen.hpp
///     double smoothed_means(const double* t, double* u) const;    // returns n
///     static constexpr index_t hyperparameters;       // for learning: fields of the family
///     void gradient(const double* t, double* g) const;    // ∂ log_marginal / ∂ each of them
///     void predictive_mean(const double* t, double* out) const;   // of one more cell
///     index_t mean_size() const;                      // doubles of that mean  [1]
///     double sample(const double* t, random_source& random) const;    // one more cell
///     void tabulate(function_tables& tables);         // for statistics that are counts: have
///                                     // log_marginal look its functions up where they are small
///     double best_log_likelihood(const double* t) const;  // at the best parameters, nats: lets
///                                     // searches among clusters skip columns
#pragma once

#include <bhclust/detail/function_tables.hpp>
#include <bhclust/detail/independent_store.hpp>
#include <bhclust/detail/root_screen.hpp>
#include <bhclust/detail/screened_store.hpp>
#include <bhclust/detail/store_or.hpp>
#include <bhclust/family.hpp>
#include <bhclust/types.hpp>

#include <memory>
#include <utility>
#include <vector>

namespace bhclust {

namespace detail {

template <class Column>
using column_gradient_t = decltype(std::declval<const Column&>().gradient(
    std::declval<const double*>(), std::declval<double*>()));
template <class Column>
using column_mean_size_t = decltype(std::declval<const Column&>().mean_size());
template <class Column>
using column_sample_t = decltype(std::declval<const Column&>().sample(
    std::declval<const double*>(), std::declval<random_source&>()));
template <class Column>
using smoothed_means_t = decltype(std::declval<const Column&>().smoothed_means(
    std::declval<const double*>(), std::declval<double*>()));

template <class Column>
using sparse_store_t = typename Column::sparse_evidence_store;

/// Some columns have a store of their own for sparse tables.
template <class Column, class Score, class = void>
struct plain_store_of_columns {
  using type = independent_store<Column, Score>;
};
template <class Column, class Score>
struct plain_store_of_columns<
    Column, Score,
    std::enable_if_t<has<sparse_store_t, Column> && Score::kind == score_kind::evidence>> {
  using type = store_or<sparse_store_t<Column>, independent_store<Column, Score>, true>;
};

/// Columns with smoothed means (root_screen.hpp) are searched by these.
template <class Column, class Score, class = void>
struct store_of_columns : plain_store_of_columns<Column, Score> {};
template <class Column, class Score>
struct store_of_columns<Column, Score, std::void_t<smoothed_means_t<Column>>> {
  using type = store_of_screen<independent<Column>, root_screen<independent<Column>>, Score,
                               typename plain_store_of_columns<Column, Score>::type>;
};

template <class Column>
using tabulate_t = decltype(std::declval<Column&>().tabulate(std::declval<function_tables&>()));

}  // namespace detail

/// The model of rows whose columns are independent given the cluster. Statistics: the columns',
/// one after another; a missing cell (NaN) is not observed.
template <class Column>
class independent {
 public:
  template <class Score>
  using store = typename detail::store_of_columns<Column, Score>::type;

  explicit independent(std::vector<Column> columns) : columns_(std::move(columns)), offset_{0} {
    for (const auto& column : columns_) offset_.push_back(offset_.back() + column.width());
  }

  [[nodiscard]] index_t columns() const noexcept { return static_cast<index_t>(columns_.size()); }
  [[nodiscard]] const Column& column(index_t j) const noexcept { return columns_[at(j)]; }
  /// Where the statistics of column j begin.
  [[nodiscard]] index_t offset(index_t j) const noexcept { return offset_[at(j)]; }
  [[nodiscard]] index_t width() const noexcept { return offset_.back(); }

  /// Speeds log_marginal up for as long as the tables live; its values may differ in the last bits.
  void tabulate(detail::function_tables& tables) {
    if constexpr (detail::has<detail::tabulate_t, Column>) {
      for (index_t j = 0; j < columns(); ++j) {
        tables.enter_column(j);
        columns_[at(j)].tabulate(tables);
      }
      tables.leave_column();
      tables.complete();
    } else {
      static_cast<void>(tables);
    }
  }

  /// Tables of its own, for clusters of a table of so many rows; copies share them.
  void prepare(index_t rows) {
    if constexpr (detail::has<detail::tabulate_t, Column>) {
      auto tables = std::make_shared<detail::function_tables>(
          detail::function_tables::short_ones(columns(), rows));
      tabulate(*tables);
      own_tables_ = std::move(tables);
    } else {
      static_cast<void>(rows);
    }
  }

  void observe(const row_view& row, double* t) const {
    row.for_each([&](index_t j, double x) {
      if (!is_missing(x)) column(j).observe(x, t + offset(j));
    });
  }

  [[nodiscard]] double log_marginal(const double* t) const {
    double sum = 0.0;
    for (index_t j = 0; j < columns(); ++j) sum += column(j).log_marginal(t + offset(j));
    return sum;
  }

  [[nodiscard]] bool possible(const double* t, index_t rows) const {
    for (index_t j = 0; j < columns(); ++j) {
      if (!detail::are_possible(column(j), t + offset(j), rows)) return false;
    }
    return true;
  }

  void merge(double* t, const double* s) const {
    for (index_t j = 0; j < columns(); ++j) {
      detail::merge_statistics(column(j), t + offset(j), s + offset(j));
    }
  }

  void remove(double* t, const double* s) const {
    for (index_t j = 0; j < columns(); ++j) {
      detail::remove_statistics(column(j), t + offset(j), s + offset(j));
    }
  }

  template <class C = Column, class = detail::potential_t<C>>
  [[nodiscard]] double potential(const double* t) const {
    double sum = 0.0;
    for (index_t j = 0; j < columns(); ++j) sum += column(j).potential(t + offset(j));
    return sum;
  }

  template <class C = Column, class = std::enable_if_t<detail::relaxable<C>>>
  [[nodiscard]] double divergence(const double* t, const double* s) const {
    double sum = 0.0;
    double scratch[max_column_width];
    for (index_t j = 0; j < columns(); ++j) {
      sum += detail::divergence_of(column(j), t + offset(j), s + offset(j), scratch);
    }
    return sum;
  }

  /// The columns', one after another, when none has missing cells; the number of rows.
  template <class C = Column, class = detail::smoothed_means_t<C>>
  double smoothed_means(const double* t, double* u) const {
    double rows = 0.0;
    for (index_t j = 0; j < columns(); ++j) {
      rows = column(j).smoothed_means(t + offset(j), u);
      u += column(j).smoothed_means_size();
    }
    return rows;
  }
  template <class C = Column, class = detail::smoothed_means_t<C>>
  [[nodiscard]] index_t smoothed_means_size() const {
    index_t size = 0;
    for (const auto& c : columns_) size += c.smoothed_means_size();
    return size;
  }

  template <class C = Column, class = detail::column_gradient_t<C>>
  [[nodiscard]] index_t gradient_size() const noexcept {
    return C::hyperparameters * columns();
  }
  template <class C = Column, class = detail::column_gradient_t<C>>
  void add_gradient(const double* t, double weight, double* g) const {
    double own[C::hyperparameters];
    for (index_t j = 0; j < columns(); ++j) {
      column(j).gradient(t + offset(j), own);
      for (index_t f = 0; f < C::hyperparameters; ++f) g[f * columns() + j] += weight * own[f];
    }
  }

  [[nodiscard]] index_t mean_size(index_t j) const {
    if constexpr (detail::has<detail::column_mean_size_t, Column>) {
      return column(j).mean_size();
    } else {
      return 1;
    }
  }
  template <class C = Column, class = detail::predictive_mean_t<C>>
  void predictive_mean(const double* t, double* out) const {
    for (index_t j = 0; j < columns(); ++j) {
      column(j).predictive_mean(t + offset(j), out);
      out += mean_size(j);
    }
  }

  template <class C = Column, class = detail::column_sample_t<C>>
  void sample(const double* t, detail::random_source& random, double* row) const {
    for (index_t j = 0; j < columns(); ++j) row[j] = column(j).sample(t + offset(j), random);
  }

  /// No column knows of the others: the order does not matter.
  void column_terms(const double* t, const index_t* /*order*/, double* out) const {
    for (index_t j = 0; j < columns(); ++j) out[j] = column(j).log_marginal(t + offset(j));
  }

 private:
  /// Columns with more statistics than this bring their own divergence.
  static constexpr index_t max_column_width = 8;

  [[nodiscard]] static std::size_t at(index_t j) noexcept { return static_cast<std::size_t>(j); }

  std::vector<Column> columns_;
  std::vector<index_t> offset_;
  std::shared_ptr<const detail::function_tables> own_tables_;  ///< what prepare made, if anything
};

}  // namespace bhclust

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
///     index_t smoothed_means_size() const;            // for faster RBHC: see root_screen.hpp
///     double smoothed_means(const double* t, double* u) const;    // returns n
///     static constexpr index_t hyperparameters;       // for learning: fields of the family
///     void gradient(const double* t, double* g) const;    // ∂ log_marginal / ∂ each of them
///     void predictive_mean(const double* t, double* out) const;   // of one more cell
///     index_t mean_size() const;                      // doubles of that mean  [1]
///     double sample(const double* t, random_source& random) const;    // one more cell
///     void tabulate(function_tables& tables);         // for statistics that are counts: have
///                                     // log_marginal look its functions up where they are small
#pragma once

#include <bhclust/detail/cluster_store.hpp>
#include <bhclust/detail/coded_table.hpp>
#include <bhclust/detail/function_tables.hpp>
#include <bhclust/detail/root_screen.hpp>
#include <bhclust/detail/score.hpp>
#include <bhclust/detail/screened_store.hpp>
#include <bhclust/family.hpp>
#include <bhclust/progress.hpp>
#include <bhclust/types.hpp>

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

namespace bhclust {

template <class Column>
class independent;

namespace detail {

template <class Column, class Score>
class independent_store;

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

/// Columns with smoothed means (root_screen.hpp) are searched by these.
template <class Column, class Score, class = void>
struct store_of_columns {
  using type = independent_store<Column, Score>;
};
template <class Column, class Score>
struct store_of_columns<Column, Score, std::void_t<smoothed_means_t<Column>>> {
  using type = store_of_screen<independent<Column>, root_screen<independent<Column>>, Score,
                               independent_store<Column, Score>>;
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
      for (auto& column : columns_) column.tabulate(tables);
    } else {
      static_cast<void>(tables);
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
};

namespace detail {

/// Rows against a cluster by look-up. A row's gain is a sum over columns, and a column's term
/// depends on the row only through its value: so the terms are computed once a query for each value
/// that the column takes, and a score is one addition a group of columns (coded_table.hpp).
/// Clusters against clusters are computed from their statistics.
template <class Column, class Score>
class independent_store {
 public:
  struct query {
    std::vector<double> statistics;
    double self = 0.0;
    gain_table gains;
  };

  independent_store(const independent<Column>& model, const table_view& X)
      : tables_(model.columns()), model_(model), rows_(X), clusters_(model.width()) {
    model_.tabulate(tables_);
    level_offset_.push_back(0);
    pacer pace;
    for (index_t j = 0; j < model_.columns(); ++j) {
      const auto& column = model_.column(j);
      const auto& levels = rows_.levels(j);
      pace(work_a_level * static_cast<index_t>(levels.size() * width_of(j)));
      level_statistics_.resize(level_statistics_.size() + levels.size() * width_of(j), 0.0);
      for (std::size_t v = 0; v < levels.size(); ++v) {
        double* t = level_statistics_.data() + level_offset_.back() + v * width_of(j);
        if (!is_missing(levels[v])) column.observe(levels[v], t);
        level_self_.push_back(Score::self(column, t));
      }
      level_offset_.push_back(level_statistics_.size());
    }
  }

  [[nodiscard]] index_t slots() const noexcept { return rows_.size() + clusters_.size(); }

  void load(query& q, index_t slot) const {
    q.statistics.assign(static_cast<std::size_t>(model_.width()), 0.0);
    if (slot < rows_.size()) {
      rows_.for_each_level(slot, [&](index_t j, index_t v) {
        std::copy_n(level(j, v), model_.column(j).width(), q.statistics.data() + model_.offset(j));
      });
    } else {
      std::copy_n(clusters_[slot - rows_.size()], model_.width(), q.statistics.data());
    }
    q.self = Score::self(model_, q.statistics.data());
    if (rows_.size() > 0) fill(q);
  }

  void row(const query& q, index_t begin, index_t end, double* out) const {
    const index_t split = std::clamp(rows_.size(), begin, end);
    sum_rows(q, begin, split, out);
    if (split == end) return;
    std::vector<double> scratch(q.statistics.size());
    pacer pace;
    for (index_t s = split; s < end; ++s) {
      pace(work_a_level * model_.width());
      const index_t c = s - rows_.size();
      out[s - begin] = Score::gain(model_, q.statistics.data(), clusters_[c], q.self,
                                   self_[static_cast<std::size_t>(c)], scratch.data());
    }
  }

  index_t merge(index_t a, index_t b) {
    double* t = clusters_.append();
    add(t, a);
    add(t, b);
    self_.push_back(Score::self(model_, t));
    return slots() - 1;
  }

  void keep(const std::vector<index_t>& kept) {
    const auto split = std::lower_bound(kept.begin(), kept.end(), rows_.size());
    std::vector<index_t> kept_clusters(split, kept.end());
    for (auto& c : kept_clusters) c -= rows_.size();
    clusters_.keep(kept_clusters);
    keep_entries(self_, kept_clusters);
    rows_.keep({kept.begin(), split});
  }

 private:
  /// What a function of a column's statistics costs for each of them, for pacers.
  static constexpr index_t work_a_level = 32;

  void sum_rows(const query& q, index_t begin, index_t end, double* out) const {
    const index_t step = rows_.rows_a_pulse();
    for (; end - begin > step; begin += step, out += step) {
      rows_.sum(q.gains, begin, begin + step, out);
      pulse();
    }
    rows_.sum(q.gains, begin, end, out);
  }

  [[nodiscard]] std::size_t width_of(index_t j) const {
    return static_cast<std::size_t>(model_.column(j).width());
  }
  [[nodiscard]] const double* level(index_t j, index_t v) const {
    return level_statistics_.data() + level_offset_[static_cast<std::size_t>(j)] +
           static_cast<std::size_t>(v) * width_of(j);
  }

  /// t ∪= the cluster in a slot.
  void add(double* t, index_t slot) const {
    if (slot >= rows_.size()) {
      model_.merge(t, clusters_[slot - rows_.size()]);
      return;
    }
    rows_.for_each_level(slot, [&](index_t j, index_t v) {
      merge_statistics(model_.column(j), t + model_.offset(j), level(j, v));
    });
  }

  void fill(query& q) const {
    std::vector<double> scratch(static_cast<std::size_t>(model_.width()));
    constexpr index_t many_levels = 32768;
    const bool paced = rows_.total_levels() > many_levels;
    std::size_t flat = 0;
    pacer pace;
    rows_.begin_fill(q.gains);
    for (index_t j = 0; j < model_.columns(); ++j) {
      const auto& column = model_.column(j);
      if (paced) pace(work_a_level * static_cast<index_t>(rows_.levels(j).size()));
      const double* t = q.statistics.data() + model_.offset(j);
      const double self = Score::self(column, t);
      for (std::size_t v = 0; v < rows_.levels(j).size(); ++v, ++flat) {
        q.gains.of_level[flat] = Score::gain(column, t, level(j, static_cast<index_t>(v)), self,
                                             level_self_[flat], scratch.data());
      }
    }
    rows_.end_fill(q.gains);
  }

  function_tables tables_;
  independent<Column> model_;
  coded_table rows_;
  std::vector<double> level_statistics_, level_self_;
  std::vector<std::size_t> level_offset_;
  statistics_block clusters_;
  std::vector<double> self_;
};

}  // namespace detail
}  // namespace bhclust

/// @file
/// Missing cells from a tree's posterior: their expected values, and the probabilities of levels.
#pragma once

#include <bhclust/detail/node_statistics.hpp>
#include <bhclust/detail/parallel.hpp>
#include <bhclust/family.hpp>
#include <bhclust/inference/posterior.hpp>
#include <bhclust/inference/predictive.hpp>
#include <bhclust/progress.hpp>
#include <bhclust/tree.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <vector>

namespace bhclust {
namespace detail {

/// Where the means of each column lie in a model's predictive mean.
class mean_layout {
 public:
  template <class Model>
  explicit mean_layout(const Model& model) {
    for (index_t j = 0; j < model.columns(); ++j) {
      first_.push_back(first_.back() + model.mean_size(j));
    }
  }
  [[nodiscard]] index_t size() const noexcept { return first_.back(); }
  [[nodiscard]] index_t first(index_t column) const noexcept {
    return first_[static_cast<std::size_t>(column)];
  }
  [[nodiscard]] index_t size(index_t column) const noexcept {
    return first(column + 1) - first(column);
  }

 private:
  std::vector<index_t> first_{0};
};

/// The missing cells of a dense table, row after row, each with room for its mean.
class missing_cells {
 public:
  /// Those of all columns, or of column `only`.
  missing_cells(const mean_layout& layout, const table_view& X, index_t only = -1) {
    first_.push_back(0);
    for (index_t i = 0; i < X.rows(); ++i) {
      const row_view row = X.row(i);
      for (index_t j = 0; !row.sparse() && j < X.columns(); ++j) {
        if (!is_missing(row.value(j)) || (only >= 0 && j != only)) continue;
        columns_.push_back(j);
        place_.push_back(place_.back() + layout.size(j));
      }
      if (static_cast<index_t>(columns_.size()) > first_.back()) rows_.push_back(i);
      first_.push_back(static_cast<index_t>(columns_.size()));
    }
    mean_.assign(static_cast<std::size_t>(place_.back()), 0.0);
  }

  /// The rows that have any, ascending.
  [[nodiscard]] const std::vector<index_t>& rows() const noexcept { return rows_; }

  /// Calls f(column, mean) for the missing cells of a row.
  template <class F>
  void for_each(index_t row, const F& f) {
    const auto i = static_cast<std::size_t>(row);
    for (index_t c = first_[i]; c < first_[i + 1]; ++c) {
      f(columns_[static_cast<std::size_t>(c)], mean_.data() + place_[static_cast<std::size_t>(c)]);
    }
  }

 private:
  std::vector<index_t> rows_, first_, columns_, place_{0};
  std::vector<double> mean_;
};

/// The columns that any of the missing cells are in, ascending.
[[nodiscard]] inline std::vector<index_t> columns_of(missing_cells& missing, index_t columns) {
  std::vector<unsigned char> any(static_cast<std::size_t>(columns), 0);
  for (const index_t i : missing.rows()) {
    missing.for_each(i, [&](index_t j, double*) { any[static_cast<std::size_t>(j)] = 1; });
  }
  std::vector<index_t> found;
  for (index_t j = 0; j < columns; ++j) {
    if (any[static_cast<std::size_t>(j)] != 0) found.push_back(j);
  }
  return found;
}

/// For each node its probability, and that times the means of some columns: sums over the node and
/// all above it.
class path_sums {
 public:
  path_sums(const mean_layout& layout, span<const index_t> columns, index_t nodes)
      : layout_(layout), columns_(columns) {
    for (const index_t j : columns) {
      place_.resize(static_cast<std::size_t>(j) + 1, -1);
      place_.back() = stride_;
      stride_ += layout.size(j);
    }
    sums_.assign(static_cast<std::size_t>(nodes * stride_), 0.0);
  }

  void set(index_t node, double omega, const double* mean) {
    double* sum = sums_.data() + node * stride_;
    *sum++ = omega;
    for (const index_t j : columns_) {
      for (index_t m = layout_.first(j); m < layout_.first(j + 1); ++m) *sum++ = omega * mean[m];
    }
  }

  /// From the roots down, so that depth costs nothing.
  void accumulate(const tree& t) {
    for (index_t k = t.nodes() - 1; k >= 0; --k) {
      const index_t up = t.parent(k);
      if (up < 0) continue;
      const double* above = sums_.data() + up * stride_;
      double* sum = sums_.data() + k * stride_;
      for (index_t s = 0; s < stride_; ++s) sum[s] += above[s];
    }
  }

  /// The means of the missing cells of a row that are in the columns.
  void fill(missing_cells& missing, index_t row) const {
    const double* sum = sums_.data() + row * stride_;
    missing.for_each(row, [&](index_t j, double* out) {
      if (j >= static_cast<index_t>(place_.size())) return;
      const index_t place = place_[static_cast<std::size_t>(j)];
      if (place < 0) return;
      for (index_t m = 0; m < layout_.size(j); ++m) out[m] = sum[place + m] / sum[0];
    });
  }

 private:
  const mean_layout& layout_;
  span<const index_t> columns_;
  std::vector<index_t> place_;  ///< of a column's means, -1 where it has none
  index_t stride_ = 1;          ///< the probability comes first
  std::vector<double> sums_;
};

/// The means of the fitted rows: over the nodes above a row, each with the probability that it is
/// the row's cluster. As many columns at a time as have `room` doubles a node.
template <class Model>
void fill_fitted(const tree& t, const tree_posterior& p, const table_view& X, const Model& model,
                 const mean_layout& layout, missing_cells& missing, index_t room,
                 progress_meter& progress) {
  const std::vector<index_t> columns = columns_of(missing, X.columns());
  std::vector<double> mean(static_cast<std::size_t>(layout.size()));
  for (std::size_t begin = 0, end = 0; begin < columns.size(); begin = end) {
    index_t size = layout.size(columns[end++]);
    while (end < columns.size() && size + layout.size(columns[end]) <= room) {
      size += layout.size(columns[end++]);
    }
    path_sums sums(layout, {columns.data() + begin, static_cast<index_t>(end - begin)}, t.nodes());
    for_each_node_statistics(t, X, model, [&](index_t k, const double* statistics) {
      progress.tick();
      const double omega = p.omega[static_cast<std::size_t>(k)];
      if (omega <= 0.0) return;
      model.predictive_mean(statistics, mean.data());
      sums.set(k, omega, mean.data());
    });
    sums.accumulate(t);
    for (const index_t i : missing.rows()) sums.fill(missing, i);
  }
}

/// About as many doubles a node as keep those of all nodes within the size of the table.
[[nodiscard]] inline index_t room_for_sums(const tree& t, const table_view& X) noexcept {
  constexpr index_t little = 1048576;  // doubles
  return std::max(little, X.rows() * X.columns()) / t.nodes();
}

/// The means of new rows: over all nodes and a new cluster, each with the probability that the row
/// belongs to it given its observed cells.
template <class Model>
class fresh_means {
 public:
  fresh_means(const Model& model, const table_view& fresh, const mean_layout& layout,
              missing_cells& missing)
      : model_(model),
        layout_(layout),
        missing_(missing),
        observed_(model.width()),
        largest_(missing.rows().size(), -std::numeric_limits<double>::infinity()),
        weights_(missing.rows().size(), 0.0) {
    for (const index_t i : missing.rows()) model.observe(fresh.row(i), observed_.append());
  }

  static constexpr index_t chunk = 64;
  [[nodiscard]] index_t chunks() const noexcept { return (observed_.size() + chunk - 1) / chunk; }

  /// Adds a cluster to the means of one chunk of rows. Weights are relative to the row's largest so
  /// far.
  void add(double log_weight, const double* cluster, double log_marginal, index_t which) {
    std::vector<double> joined(static_cast<std::size_t>(model_.width()));
    std::vector<double> mean(static_cast<std::size_t>(layout_.size()));
    const index_t end = std::min(observed_.size(), (which + 1) * chunk);
    for (index_t i = which * chunk; i < end; ++i) {
      std::copy_n(cluster, model_.width(), joined.data());
      model_.merge(joined.data(), observed_[i]);
      const double log_w = log_weight + (model_.log_marginal(joined.data()) - log_marginal);
      double& largest = largest_[static_cast<std::size_t>(i)];
      double& weights = weights_[static_cast<std::size_t>(i)];
      const double w = std::exp(std::min(0.0, log_w - largest));
      if (w == 0.0) continue;
      model_.predictive_mean(joined.data(), mean.data());
      const double kept = log_w > largest ? std::exp(largest - log_w) : 1.0;
      largest = std::max(largest, log_w);
      weights = kept * weights + w;
      missing_.for_each(row(i), [&](index_t j, double* out) {
        for (index_t m = 0; m < layout_.size(j); ++m) {
          const double before = kept == 0.0 ? 0.0 : kept * out[m];
          out[m] = before + w * mean[static_cast<std::size_t>(layout_.first(j) + m)];
        }
      });
    }
  }

  void finish() {
    for (index_t i = 0; i < observed_.size(); ++i) {
      missing_.for_each(row(i), [&](index_t j, double* out) {
        for (index_t m = 0; m < layout_.size(j); ++m) {
          out[m] /= weights_[static_cast<std::size_t>(i)];
        }
      });
    }
  }

 private:
  [[nodiscard]] index_t row(index_t i) const {
    return missing_.rows()[static_cast<std::size_t>(i)];
  }

  const Model& model_;
  const mean_layout& layout_;
  missing_cells& missing_;
  statistics_block observed_;
  std::vector<double> largest_, weights_;
};

template <class Model>
void fill_fresh(const tree& t, const tree_posterior& p, const table_view& X, const Model& model,
                const table_view& fresh, const mean_layout& layout, missing_cells& missing,
                int n_threads, progress_meter& progress) {
  if (missing.rows().empty()) return;
  fresh_means<Model> means(model, fresh, layout, missing);
  thread_team team(n_threads);
  const double total = static_cast<double>(p.n_rows(t)) + p.alpha;
  const auto add = [&](double log_weight, const double* cluster, double log_marginal) {
    team.run(
        means.chunks(), [&](int, index_t c) { means.add(log_weight, cluster, log_marginal, c); },
        [&] { progress.tick(); });
    progress.advance(1);
  };
  const std::vector<double> nothing(static_cast<std::size_t>(model.width()), 0.0);
  add(std::log(p.alpha / total), nothing.data(), 0.0);
  for_each_node_statistics(t, X, model, [&](index_t k, const double* statistics) {
    const double omega = p.omega[static_cast<std::size_t>(k)];
    if (omega > 0.0) {
      add(std::log(omega) + std::log(static_cast<double>(p.n_rows(t, k)) / total), statistics,
          p.log_marginal[static_cast<std::size_t>(k)]);
    }
  });
  means.finish();
}

/// A row's mean as one cell: the expected value, or the most probable level.
[[nodiscard]] inline double imputed_cell(const double* mean, index_t size) noexcept {
  if (size == 1) return *mean;
  return static_cast<double>(std::max_element(mean, mean + size) - mean);
}

[[noreturn, gnu::cold]] inline void refuse_infinite_mean(const std::string& family, index_t row,
                                                         index_t column) {
  throw cell_error(row, column,
                   "is missing, and its expected value is infinite under " + family +
                       ": its prior is too wide for a mean; narrow it");
}

/// The rows with their missing cells filled in.
inline std::vector<double> filled(const table_view& rows, const std::string& family,
                                  const mean_layout& layout, missing_cells& missing) {
  std::vector<double> cells(static_cast<std::size_t>(rows.rows() * rows.columns()), 0.0);
  for (index_t i = 0; i < rows.rows(); ++i) {
    const row_view row = rows.row(i);
    for (index_t k = 0; k < row.stored(); ++k) {
      cells[static_cast<std::size_t>(i * rows.columns() + row.column(k))] = row.value(k);
    }
  }
  for (const index_t i : missing.rows()) {
    missing.for_each(i, [&](index_t j, const double* mean) {
      const double x = imputed_cell(mean, layout.size(j));
      if (std::isinf(x)) refuse_infinite_mean(family, i, j);
      cells[static_cast<std::size_t>(i * rows.columns() + j)] = x;
    });
  }
  return cells;
}

/// Probabilities of the levels of a column: of an observed cell all on its level.
inline std::vector<double> level_probabilities(const table_view& rows, index_t column,
                                               index_t levels, missing_cells& missing) {
  std::vector<double> result(static_cast<std::size_t>(rows.rows() * levels), 0.0);
  for (index_t i = 0; i < rows.rows(); ++i) {
    rows.row(i).for_each([&](index_t j, double x) {
      if (j != column || is_missing(x)) return;
      result[static_cast<std::size_t>(i * levels + static_cast<index_t>(x))] = 1.0;
    });
  }
  for (const index_t i : missing.rows()) {
    missing.for_each(i, [&](index_t, const double* mean) {
      std::copy_n(mean, levels, result.data() + i * levels);
    });
  }
  return result;
}

inline void require_levels(const mean_layout& layout, index_t column, index_t columns) {
  require(column >= 0 && column < columns, [&] {
    return "column is " + std::to_string(column) + "; X has the columns 0 to " +
           std::to_string(columns - 1);
  });
  require(layout.size(column) > 1, [&] {
    return "column " + std::to_string(column) +
           " holds numbers, which have no levels; impute gives their expected values";
  });
}

/// What the functions below share: binds and checks, fills the missing cells (of one column, or -1:
/// of all) of the fitted rows or of others, and hands them to finish(layout, missing, rows).
template <class Family, class Finish>
[[nodiscard]] std::vector<double> impute_by(const tree& t, const tree_posterior& p,
                                            const table_view& X, const Family& family,
                                            const table_view* fresh, index_t column,
                                            const predictive_options& options,
                                            const Finish& finish) {
  const auto model = bind(family, X);
  require_leaves(t, X.rows());
  if (fresh != nullptr) {
    require_columns(X, *fresh);
    check_data(family, *fresh);
  }
  require(fresh != nullptr || !X.grouped(),
          "the leaves are groups of rows, whose cells are not known; give X_new");
  const table_view& rows = fresh == nullptr ? X : *fresh;
  const mean_layout layout(model);
  if (column != -1) require_levels(layout, column, X.columns());
  missing_cells missing(layout, rows, column);
  progress_meter progress(options.progress, t.nodes() + 1);
  if (fresh == nullptr) {
    fill_fitted(t, p, X, model, layout, missing, room_for_sums(t, X), progress);
  } else {
    fill_fresh(t, p, X, model, *fresh, layout, missing, options.n_threads, progress);
  }
  std::vector<double> result = finish(layout, missing, rows);
  progress.finish();
  return result;
}

/// impute of the fitted rows (fresh == nullptr) or of others.
template <class Family>
[[nodiscard]] std::vector<double> impute_rows(const tree& t, const tree_posterior& p,
                                              const table_view& X, const Family& family,
                                              const table_view* fresh,
                                              const predictive_options& options) {
  return impute_by(t, p, X, family, fresh, -1, options,
                   [&](const mean_layout& layout, missing_cells& missing, const table_view& rows) {
                     return filled(rows, family_name(family), layout, missing);
                   });
}

/// impute_levels of the fitted rows (fresh == nullptr) or of others.
template <class Family>
[[nodiscard]] std::vector<double> impute_levels_of(const tree& t, const tree_posterior& p,
                                                   const table_view& X, const Family& family,
                                                   const table_view* fresh, index_t column,
                                                   const predictive_options& options) {
  return impute_by(t, p, X, family, fresh, column, options,
                   [&](const mean_layout& layout, missing_cells& missing, const table_view& rows) {
                     return level_probabilities(rows, column, layout.size(column), missing);
                   });
}

}  // namespace detail

/// X (rows × columns, row after row) with each missing cell at its expected value, given all
/// observed cells: the mean over the nodes above its row, weighed by the probability that the node
/// is the row's cluster. Bits get their probability of a one, codes the most probable level.
/// Refuses a cell whose mean is infinite. O(nodes · width) whatever the tree's depth.
template <class Family>
[[nodiscard]] std::vector<double> impute(const tree& t, const tree_posterior& p,
                                         const table_view& X, const Family& family,
                                         const predictive_options& options = {}) {
  return detail::impute_rows(t, p, X, family, nullptr, options);
}

/// The same for new rows: the mean over all nodes and a new cluster, weighed by the probability
/// that the row belongs to it given its observed cells (the terms of log_predictive).
/// O(nodes · rows with missing cells · width).
template <class Family>
[[nodiscard]] std::vector<double> impute(const tree& t, const tree_posterior& p,
                                         const table_view& X, const Family& family,
                                         const table_view& fresh,
                                         const predictive_options& options = {}) {
  return detail::impute_rows(t, p, X, family, &fresh, options);
}

/// Probabilities of the levels of a column of codes, (rows of X) × levels: 1 for the level of an
/// observed cell, for a missing one from the mixture of impute.
template <class Family>
[[nodiscard]] std::vector<double> impute_levels(const tree& t, const tree_posterior& p,
                                                const table_view& X, const Family& family,
                                                index_t column,
                                                const predictive_options& options = {}) {
  return detail::impute_levels_of(t, p, X, family, nullptr, column, options);
}

/// The same for new rows.
template <class Family>
[[nodiscard]] std::vector<double> impute_levels(const tree& t, const tree_posterior& p,
                                                const table_view& X, const Family& family,
                                                const table_view& fresh, index_t column,
                                                const predictive_options& options = {}) {
  return detail::impute_levels_of(t, p, X, family, &fresh, column, options);
}

}  // namespace bhclust

/// @file
/// The gains of a cluster and one cell, for each value that a column of a table takes.
#pragma once

#include <bhclust/detail/coded_table.hpp>
#include <bhclust/detail/score.hpp>
#include <bhclust/family.hpp>
#include <bhclust/progress.hpp>
#include <bhclust/types.hpp>

#include <algorithm>
#include <cstddef>
#include <type_traits>
#include <utility>
#include <vector>

namespace bhclust::detail {

template <class Column>
using gains_of_bits_t = decltype(std::declval<const Column&>().gains_of_bits(
    std::declval<const double*>(), 0.0, std::declval<const double*>(), std::declval<double*>()));

/// The statistics of a cell of each level of a coded_table, and the terms that levels add to gains:
/// what gain_table::of_level holds. `Model` is independent<Column>. A column may have
///     bool gains_of_bits(const double* t, double self, const double* selves, double* out) const;
///                                     // evidence_score::gain of t and the cells 0 and 1, whose
///                                     // scores are `selves`; false if it did nothing
template <class Model, class Score>
class level_terms {
 public:
  level_terms(const Model& model, const coded_table& rows) {
    offset_.push_back(0);
    pacer pace;
    for (index_t j = 0; j < model.columns(); ++j) {
      const auto& column = model.column(j);
      const auto& levels = rows.levels(j);
      const std::size_t width = width_of(model, j);
      pace(work_a_level * static_cast<index_t>(levels.size() * width));
      statistics_.resize(statistics_.size() + levels.size() * width, 0.0);
      for (std::size_t v = 0; v < levels.size(); ++v) {
        double* t = statistics_.data() + offset_.back() + v * width;
        if (!is_missing(levels[v])) column.observe(levels[v], t);
        self_.push_back(Score::self(column, t));
      }
      offset_.push_back(statistics_.size());
    }
  }

  /// t ∪= a row.
  void add_row(const Model& model, const coded_table& rows, index_t row, double* t) const {
    rows.for_each_level(row, [&](index_t j, index_t v) {
      merge_statistics(model.column(j), t + model.offset(j), level(model, j, v));
    });
  }

  /// A row's statistics; its score.
  double load_row(const Model& model, const coded_table& rows, index_t row, double* t) const {
    double self = 0.0;
    rows.for_each_level(row, [&](index_t j, index_t v) {
      self += self_[static_cast<std::size_t>(rows.level_start(j) + v)];
      std::copy_n(level(model, j, v), model.column(j).width(), t + model.offset(j));
    });
    return self;
  }

  /// The terms of a row, which depend on its levels alone.
  void fill_row(const Model& model, const coded_table& rows, index_t row, double* out) const {
    const double* pairs = pairs_.data();
    std::vector<double> scratch(static_cast<std::size_t>(model.width()));
    rows.for_each_level(row, [&](index_t j, index_t v) {
      const auto n = static_cast<index_t>(rows.levels(j).size());
      if (pairs_.empty()) {
        const double self = self_[static_cast<std::size_t>(rows.level_start(j) + v)];
        fill_column(model, rows, j, level(model, j, v), self, scratch.data(), out);
      } else {
        std::copy_n(pairs + v * n, n, out);
        pairs += n * n;
      }
      out += n;
    });
  }

  /// The terms of statistics t.
  void fill(const Model& model, const coded_table& rows, const double* t, double* out) const {
    std::vector<double> scratch(static_cast<std::size_t>(model.width()));
    constexpr index_t many_levels = 32768;
    const bool paced = rows.total_levels() > many_levels;
    pacer pace;
    for (index_t j = 0; j < model.columns(); ++j) {
      if (paced) pace(work_a_level * static_cast<index_t>(rows.levels(j).size()));
      fill_terms(model, rows, j, t, scratch.data(), out);
    }
  }

  /// The same of some columns, where `out` has the terms of the others.
  void fill_some(const Model& model, const coded_table& rows, const std::vector<index_t>& columns,
                 const double* t, double* out) const {
    std::vector<double> scratch(static_cast<std::size_t>(model.width()));
    pacer pace;
    for (const index_t j : columns) {
      pace(work_a_level * static_cast<index_t>(rows.levels(j).size()));
      fill_terms(model, rows, j, t, scratch.data(), out);
    }
  }

  /// The terms of all rows, column by column, level by level; empty if they are very many.
  [[nodiscard]] const std::vector<double>& pairs() const noexcept { return pairs_; }
  void drop_pairs() noexcept { pairs_ = {}; }
  void tabulate_pairs(const Model& model, const coded_table& rows) {
    constexpr index_t most = 131072;
    index_t pairs = 0;
    for (index_t j = 0; j < model.columns(); ++j) {
      const auto n = static_cast<index_t>(rows.levels(j).size());
      pairs += n * n;
      if (pairs > std::min(most, 64 * rows.size())) return;
    }
    pairs_.resize(static_cast<std::size_t>(pairs));
    std::vector<double> scratch(static_cast<std::size_t>(model.width()));
    double* out = pairs_.data();
    for (index_t j = 0; j < model.columns(); ++j) {
      const auto n = static_cast<index_t>(rows.levels(j).size());
      for (index_t v = 0; v < n; ++v, out += n) {
        const double self = self_[static_cast<std::size_t>(rows.level_start(j) + v)];
        fill_column(model, rows, j, level(model, j, v), self, scratch.data(), out);
      }
    }
  }

 private:
  /// Statistics of so many numbers have a place of their own on the stack, which compilers keep in
  /// registers where a column's width is known.
  static constexpr index_t narrow = 4;
  /// What a function of a column's statistics costs for each of them, for pacers.
  static constexpr index_t work_a_level = 32;

  [[nodiscard]] static std::size_t width_of(const Model& model, index_t j) {
    return static_cast<std::size_t>(model.column(j).width());
  }
  [[nodiscard]] const double* level(const Model& model, index_t j, index_t v) const {
    return statistics_.data() + offset_[static_cast<std::size_t>(j)] +
           static_cast<std::size_t>(v) * width_of(model, j);
  }

  void fill_terms(const Model& model, const coded_table& rows, index_t j, const double* t,
                  double* scratch, double* out) const {
    const double* own = t + model.offset(j);
    const double self = Score::self(model.column(j), own);
    double* to = out + rows.level_start(j);
    if (!fill_bits(model, rows, j, own, self, to)) {
      fill_column(model, rows, j, own, self, scratch, to);
    }
  }

  /// As fill_column, if the levels are 0 and 1.
  bool fill_bits(const Model& model, const coded_table& rows, index_t j, const double* t,
                 double self, double* out) const {
    using column = std::decay_t<decltype(model.column(j))>;
    if constexpr (Score::kind == score_kind::evidence && has<gains_of_bits_t, column>) {
      const auto& levels = rows.levels(j);
      if (levels.size() != 2 || levels[0] != 0.0 || levels[1] != 1.0) return false;
      return model.column(j).gains_of_bits(t, self, self_.data() + rows.level_start(j), out);
    } else {
      return false;
    }
  }

  /// out[v] = the gain of a column's statistics t and its level v.
  void fill_column(const Model& model, const coded_table& rows, index_t j, const double* t,
                   double self, double* scratch, double* out) const {
    const auto n = static_cast<index_t>(rows.levels(j).size());
    const double* selves = self_.data() + rows.level_start(j);
    const auto& column = model.column(j);
    const index_t width = column.width();
    double here[narrow];
    double* sum = width <= narrow ? here : scratch;
    const double* s = level(model, j, 0);
    for (index_t v = 0; v < n; ++v, s += width) {
      out[v] = Score::gain(column, t, s, self, selves[v], sum);
    }
  }

  std::vector<double> statistics_, self_;
  std::vector<std::size_t> offset_;  ///< where a column's statistics begin
  std::vector<double> pairs_;
};

}  // namespace bhclust::detail

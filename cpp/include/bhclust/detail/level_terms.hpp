/// @file
/// The gains of a cluster and one cell, for each value that a column of a table takes.
#pragma once

#include <bhclust/detail/coded_table.hpp>
#include <bhclust/family.hpp>
#include <bhclust/progress.hpp>
#include <bhclust/types.hpp>

#include <algorithm>
#include <cstddef>
#include <vector>

namespace bhclust::detail {

/// The statistics of a cell of each level of a coded_table, and the terms that levels add to gains:
/// what gain_table::of_level holds. `Model` is independent<Column>.
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
      const auto levels = static_cast<index_t>(rows.levels(j).size());
      if (paced) pace(work_a_level * levels);
      const double* own = t + model.offset(j);
      fill_column(model, rows, j, own, Score::self(model.column(j), own), scratch.data(),
                  out + rows.level_start(j));
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
  /// What a function of a column's statistics costs for each of them, for pacers.
  static constexpr index_t work_a_level = 32;

  [[nodiscard]] static std::size_t width_of(const Model& model, index_t j) {
    return static_cast<std::size_t>(model.column(j).width());
  }
  [[nodiscard]] const double* level(const Model& model, index_t j, index_t v) const {
    return statistics_.data() + offset_[static_cast<std::size_t>(j)] +
           static_cast<std::size_t>(v) * width_of(model, j);
  }

  /// out[v] = the gain of a column's statistics t and its level v.
  void fill_column(const Model& model, const coded_table& rows, index_t j, const double* t,
                   double self, double* scratch, double* out) const {
    const auto n = static_cast<index_t>(rows.levels(j).size());
    const double* selves = self_.data() + rows.level_start(j);
    for (index_t v = 0; v < n; ++v) {
      out[v] = Score::gain(model.column(j), t, level(model, j, v), self, selves[v], scratch);
    }
  }

  std::vector<double> statistics_, self_;
  std::vector<std::size_t> offset_;  ///< where a column's statistics begin
  std::vector<double> pairs_;
};

}  // namespace bhclust::detail

/// @file
/// Categories in independent columns: codes 0 … K-1 with probabilities ~ Dirichlet(a, …, a).
#pragma once

#include <bhclust/detail/beta.hpp>
#include <bhclust/detail/bregman.hpp>
#include <bhclust/detail/draws.hpp>
#include <bhclust/detail/possible.hpp>
#include <bhclust/detail/special.hpp>
#include <bhclust/independent.hpp>
#include <bhclust/parameter.hpp>
#include <bhclust/progress.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

namespace bhclust {

namespace detail {

/// Statistics: the count of each level.
struct categorical_dirichlet_column {
  double concentration;
  index_t levels;
  function_table gamma{}, total_gamma{};

  /// Not for strong priors, whose terms cancel.
  void tabulate(function_tables& tables) {
    const double total_concentration = concentration * static_cast<double>(levels);
    if (total_concentration > 1e4) return;
    gamma = tables.gamma_ratio_of_rows(concentration);
    total_gamma = tables.gamma_ratio_of_rows(total_concentration);
  }

  [[nodiscard]] index_t width() const noexcept { return levels; }

  static void observe(double x, double* t) noexcept { t[static_cast<index_t>(x)] += 1.0; }

  [[nodiscard]] bool possible(const double* t, index_t rows) const noexcept {
    const auto most = static_cast<double>(rows);
    return total(t) <= most &&
           std::all_of(t, t + levels, [most](double count) { return is_count(count, most); });
  }

  /// The most frequent level against the rest first: that part does not cancel when it has nearly
  /// all of the counts. The other counts then follow Pólya's scheme among themselves.
  [[nodiscard]] double log_marginal(const double* t) const noexcept {
    if (levels == 1) return 0.0;
    const double n = total(t);
    if (gamma.covers(n)) {
      double sum = -total_gamma(n);
      for (index_t k = 0; k < levels; ++k) sum += gamma(t[k]);
      return sum;
    }
    const double* top = std::max_element(t, t + levels);
    const double prior_rest = concentration * static_cast<double>(levels - 1);
    double rest = 0.0;
    double sum = 0.0;
    for (const double* count = t; count != t + levels; ++count) {
      if (count == top || *count == 0.0) continue;
      rest += *count;
      sum += log_gamma_ratio(concentration, *count);
    }
    return log_beta_ratio(concentration, prior_rest, *top, rest) +
           (sum - log_gamma_ratio(prior_rest, rest));
  }

  [[nodiscard]] double best_log_likelihood(const double* t) const noexcept {
    const double n = total(t);
    double sum = 0.0;
    for (index_t k = 0; k < levels; ++k) sum += t[k] > 0.0 ? t[k] * std::log(t[k] / n) : 0.0;
    return sum;
  }

  static constexpr index_t hyperparameters = 2;

  /// The number of levels is given: its derivative is 0.
  void gradient(const double* t, double* g) const noexcept {
    const auto k = static_cast<double>(levels);
    g[0] = -k * digamma_ratio(k * concentration, total(t));
    for (index_t v = 0; v < levels; ++v) g[0] += digamma_ratio(concentration, t[v]);
    g[1] = 0.0;
  }

  [[nodiscard]] index_t mean_size() const noexcept { return levels; }

  /// The levels' probabilities; of one level its code.
  void predictive_mean(const double* t, double* out) const noexcept {
    const double all = concentration * static_cast<double>(levels) + total(t);
    for (index_t k = 0; k < levels; ++k) out[k] = (concentration + t[k]) / all;
    if (levels == 1) *out = 0.0;
  }

  [[nodiscard]] double sample(const double* t, random_source& random) const {
    const double all = concentration * static_cast<double>(levels) + total(t);
    return static_cast<double>(
        draw_index(random, levels, all, [&](index_t k) { return concentration + t[k]; }));
  }

  [[nodiscard]] double potential(const double* t) const noexcept {
    return count_potential(t, levels, 1, total(t));
  }

  [[nodiscard]] index_t smoothed_means_size() const noexcept { return levels; }
  double smoothed_means(const double* t, double* u) const noexcept {
    smoothed_shares(t, levels, 1, total(t), u);
    return total(t);
  }

  [[nodiscard]] double divergence(const double* t, const double* s) const noexcept {
    return count_divergence(t, s, levels, 1, total(t), total(s));
  }

 private:
  [[nodiscard]] double total(const double* t) const noexcept {
    double sum = 0.0;
    for (index_t k = 0; k < levels; ++k) sum += t[k];
    return sum;
  }
};

}  // namespace detail

/// Level codes with a symmetric Dirichlet prior on each column's probabilities.
struct CategoricalDirichlet {
  parameter concentration = 1.0;
  parameter levels = 0.0;

  /// The statistics of a column take up to levels² doubles, so an identifier must not pass for a
  /// category.
  static constexpr double most_levels = 4096.0;

  static constexpr const char* doc =
      "Categories in independent columns, given as codes 0, 1, ..., levels - 1: a symmetric "
      "Dirichlet(concentration) prior on each column's probabilities. Codes that do not occur are "
      "fine. Tables may have missing cells (NaN).";

  [[nodiscard]] static const char* name() { return "CategoricalDirichlet"; }
  [[nodiscard]] static domain takes() { return {cell::code, true, false}; }
  [[nodiscard]] static std::array<parameter_field<CategoricalDirichlet>, 2> parameters() {
    return {{{"concentration", &CategoricalDirichlet::concentration, range::positive,
              shape::per_column, "prior number of times each level was seen"},
             {"levels", &CategoricalDirichlet::levels, range::whole, shape::per_column,
              "number of levels of the columns"}}};
  }

  /// As many levels as the largest code needs, at least 2. The prior of a column is worth half a
  /// row for each level that is in real use beyond the first, counted as 1 / Σ share² (with one
  /// more row spread evenly), and a twentieth of a row at least: the rarer a column's other levels,
  /// the purer are the clusters in it.
  [[nodiscard]] static CategoricalDirichlet from_data(const table_view& X) {
    check_table(X, takes(), name());
    std::vector<double> concentrations;
    std::vector<double> numbers;
    for (const auto& counts : count_levels(X)) {
      const auto number = static_cast<double>(counts.size());
      double n = 0.0;
      double squares = 0.0;
      for (const double count : counts) {
        n += count;
        squares += count * count;
      }
      const double purity = ((n > 0.0 ? squares / n : 0.0) + 1.0 / number) / (n + 1.0);
      concentrations.push_back(0.5 * (1.0 / purity - 0.9) / number);
      numbers.push_back(number);
    }
    return {std::move(concentrations), std::move(numbers)};
  }

  /// Refuses codes beyond the levels.
  void check(const table_view& X) const {
    require(levels != parameter(0.0),
            "levels is not given; CategoricalDirichlet needs the number of levels of the columns "
            "(from_data(X) counts them)");
    check_parameters(*this, X.columns());
    detail::pacer pace;
    for (index_t i = 0; i < X.rows(); ++i) {
      pace(2 * X.columns());
      X.row(i).for_each([&](index_t j, double x) {
        if (x < levels[j] || is_missing(x)) return;
        throw cell_error(i, j,
                         "is " + detail::number(x) + ", but levels is " +
                             detail::number(levels[j]) +
                             " there: raise levels, or renumber the "
                             "codes from 0");
      });
    }
  }

  [[nodiscard]] auto bind(index_t columns) const {
    std::vector<detail::categorical_dirichlet_column> all;
    for (index_t j = 0; j < columns; ++j) {
      require(levels[j] <= most_levels, [&] {
        return (levels.rank() == 0 ? "levels" : "levels[" + std::to_string(j) + "]") + " is " +
               detail::number(levels[j]) + "; " + too_many();
      });
      all.push_back({concentration[j], static_cast<index_t>(levels[j]), {}, {}});
    }
    return independent<detail::categorical_dirichlet_column>(std::move(all));
  }

 private:
  [[nodiscard]] static std::string too_many() {
    return "CategoricalDirichlet takes at most " + detail::number(most_levels) +
           " levels a column: renumber the codes from 0, join rare levels, or drop the column if "
           "it is an identifier";
  }

  /// How often each level of each column occurs.
  [[nodiscard]] static std::vector<std::vector<double>> count_levels(const table_view& X) {
    std::vector<std::vector<double>> counts(static_cast<std::size_t>(X.columns()), {0.0, 0.0});
    detail::pacer pace;
    for (index_t i = 0; i < X.rows(); ++i) {
      pace(4 * X.columns());
      X.row(i).for_each([&](index_t j, double x) {
        if (is_missing(x)) return;
        if (x >= most_levels) throw cell_error(i, j, "is " + detail::number(x) + "; " + too_many());
        auto& column = counts[static_cast<std::size_t>(j)];
        const auto level = static_cast<std::size_t>(x);
        if (level >= column.size()) column.resize(level + 1, 0.0);
        column[level] += 1.0;
      });
    }
    return counts;
  }
};

}  // namespace bhclust

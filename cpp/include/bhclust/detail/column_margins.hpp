/// @file
/// How much a gain can still grow by columns that have not been looked at.
#pragma once

#include <bhclust/detail/function_tables.hpp>
#include <bhclust/family.hpp>
#include <bhclust/types.hpp>

#include <algorithm>
#include <cmath>
#include <type_traits>
#include <utility>
#include <vector>

namespace bhclust::detail {

template <class Column>
using best_log_likelihood_t =
    decltype(std::declval<const Column&>().best_log_likelihood(std::declval<const double*>()));

/// Whether the last column of the model is the total of all others, with the opposite sign.
template <class Column, class = void>
struct totalled : std::false_type {};
template <class Column>
struct totalled<Column, std::enable_if_t<Column::totalled>> : std::true_type {};

/// The evidence of clusters' first columns, and how much the others may yet add to a gain. For
/// every parameter θ, p(c | q) <= max_θ p(c | θ): so the gain of q and c in some columns, the log
/// of p(c | q) / p(c), is at most c's own regret there, max_θ log p(c | θ) - log p(c); and at most
/// q's. Columns are counted in chunks; a margin is of one chunk's end.
struct column_margin {
  double before;  ///< log marginal likelihood of the columns up to there
  double regret;  ///< of the columns from there on
  double total = 0.0,
         of_total = 0.0;  ///< totalled: counts from there on, ln Γ(A + count) - ln Γ(A)
};

/// Margins of clusters of the model independent<Column>.
template <class Model, class Column>
class column_margins {
 public:
  static constexpr index_t chunk = totalled<Column>::value ? 16 : 8;  ///< columns

  column_margins(const Model& model, function_tables& tables) {
    if constexpr (totalled<Column>::value) {
      double sum = 0.0;
      const index_t counts = model.columns() - 1;
      for (index_t j = counts - 1; j > 0; --j) {
        sum += model.column(j).a;
        if (j % chunk == 0) rest_.push_back({sum, 1.0});
      }
      std::reverse(rest_.begin(), rest_.end());
      for (auto& column : rest_) column.tabulate(tables);
      tables.complete();
      ends_ = std::max<index_t>((counts - 1) / chunk, 0);
    } else {
      static_cast<void>(tables);
      ends_ = std::max<index_t>((model.columns() - 1) / chunk, 0);
    }
  }

  /// Inner ends of chunks: margins a cluster has.
  [[nodiscard]] index_t ends() const noexcept { return ends_; }

  void compute(const Model& model, const double* t, column_margin* margins) const {
    double before = 0.0;
    for (index_t k = 0; k < ends_; ++k) {
      for (index_t j = k * chunk; j < (k + 1) * chunk; ++j) before += own(model, t, j);
      margins[k] = {before, 0.0};
    }
    if constexpr (totalled<Column>::value) {
      totalled_regrets(model, t, margins);
    } else {
      double regret = 0.0;
      index_t j = model.columns();
      for (index_t k = ends_ - 1; k >= 0; --k) {
        while (j > (k + 1) * chunk) {
          --j;
          regret += model.column(j).best_log_likelihood(t + model.offset(j)) - own(model, t, j);
        }
        margins[k].regret = regret;
      }
    }
  }

  /// The most that the columns after chunk k can add to the gain of two clusters.
  [[nodiscard]] double most(index_t k, const column_margin& a, const column_margin& b) const {
    double rest = std::fmin(a.regret, b.regret);
    if constexpr (totalled<Column>::value) {
      const double both[2] = {a.total + b.total, 0.0};
      rest += rest_[static_cast<std::size_t>(k)].log_marginal(both) - (a.of_total + b.of_total);
    }
    return rest;
  }

 private:
  [[nodiscard]] static double own(const Model& model, const double* t, index_t j) {
    return model.column(j).log_marginal(t + model.offset(j));
  }

  /// Of counts given the total from there on. Coefficients of the rows cancel.
  void totalled_regrets(const Model& model, const double* t, column_margin* margins) const {
    double total = 0.0;
    double free = 0.0;
    double bound = 0.0;
    index_t j = model.columns() - 1;
    for (index_t k = ends_ - 1; k >= 0; --k) {
      while (j > (k + 1) * chunk) {
        --j;
        const double m = t[model.offset(j)];
        const double counts[2] = {m, 0.0};
        total += m;
        free += model.column(j).count_log(m);
        bound += model.column(j).log_marginal(counts);
      }
      const double counts[2] = {total, 0.0};
      const double of_total = rest_[static_cast<std::size_t>(k)].log_marginal(counts);
      const double free_total = total > 0.0 ? total * std::log(total) : 0.0;
      margins[k].regret = (free - free_total) - (bound - of_total);
      margins[k].total = total;
      margins[k].of_total = of_total;
    }
  }

  index_t ends_ = 0;
  std::vector<Column> rest_;  ///< totalled: the sum of the columns from each end on
};

}  // namespace bhclust::detail

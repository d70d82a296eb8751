/// @file
/// Clusters of rows with independent columns, searched a few columns at a time.
#pragma once

#include <bhclust/detail/cluster_store.hpp>
#include <bhclust/detail/column_margins.hpp>
#include <bhclust/detail/distinct_rows.hpp>
#include <bhclust/detail/function_tables.hpp>
#include <bhclust/family.hpp>
#include <bhclust/progress.hpp>
#include <bhclust/types.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>
#include <vector>

namespace bhclust::detail {

/// A cluster ready to be scored against others.
struct margin_query {
  std::vector<double> statistics;
  double self = 0.0;
  std::vector<column_margin> margins;
};

/// The statistics, scores and margins of clusters. A search leaves a cluster alone once its margin
/// (column_margins.hpp) shows that the columns still to come cannot make it the cheapest. `Model`
/// is independent<Column>.
template <class Model, class Column, class Score>
class margin_clusters {
  using margins_type = column_margins<Model, Column>;
  static constexpr bool has_margins =
      Score::kind == score_kind::evidence &&
      (has<best_log_likelihood_t, Column> || totalled<Column>::value);

 public:
  margin_clusters(const Model& model, function_tables& tables)
      : margins_(model, tables), statistics_(model.width()) {}

  [[nodiscard]] index_t size() const noexcept { return statistics_.size(); }
  [[nodiscard]] const double* operator[](index_t c) const noexcept { return statistics_[c]; }

  /// Appends an empty cluster, whose statistics are then set and closed by `finish`.
  [[nodiscard]] double* append() { return statistics_.append(); }
  void finish(const Model& model) {
    const double* t = statistics_[size() - 1];
    self_.push_back(Score::self(model, t));
    if constexpr (has_margins) {
      own_margins_.resize(own_margins_.size() + static_cast<std::size_t>(margins_.ends()));
      margins_.compute(model, t, own_margins_.data() + (size() - 1) * margins_.ends());
    }
  }

  void keep(const std::vector<index_t>& kept) {
    statistics_.keep(kept);
    keep_entries(self_, kept);
    if constexpr (has_margins) keep_records(own_margins_, margins_.ends(), kept);
  }

  void load(margin_query& q, index_t c) const {
    q.statistics.assign(statistics_[c], statistics_[c] + width());
    q.self = self_of(c);
    if constexpr (has_margins) {
      const auto first = own_margins_.begin() + static_cast<std::ptrdiff_t>(own_margin(c));
      q.margins.assign(first, first + margins_.ends());
    }
  }

  /// The margins of a query that is not one of the clusters.
  void load_margins(const Model& model, margin_query& q) const {
    if constexpr (has_margins) {
      q.margins.resize(static_cast<std::size_t>(margins_.ends()));
      margins_.compute(model, q.statistics.data(), q.margins.data());
    } else {
      static_cast<void>(model);
      static_cast<void>(q);
    }
  }

  /// out[c - begin] = the gain of the query and cluster c.
  void gains(const Model& model, const margin_query& q, index_t begin, index_t end,
             double* out) const {
    std::vector<double> scratch(q.statistics.size());
    pacer pace;
    for (index_t c = begin; c < end; ++c) {
      pace(work_a_column * model.width());
      out[c - begin] = Score::gain(model, q.statistics.data(), statistics_[c], q.self, self_of(c),
                                   scratch.data());
    }
  }

  /// Among the slots of clusters; cluster 0 is in the slot `first`.
  void search(const Model& model, const margin_query& q, index_t first,
              const slot_search& search) const {
    running run{model, q, search, first, {}, std::vector<double>(q.statistics.size()), {}};
    run.open.reserve(static_cast<std::size_t>(search.end - search.begin));
    for (index_t s = search.begin; s < search.end; ++s) {
      const double own = search.offset(s);
      if (own < std::numeric_limits<double>::infinity()) {
        run.open.push_back({s - first, own, 0.0, total_gain(model, q, s - first)});
      }
    }
    index_t j = 0;
    if constexpr (has_margins) {
      for (index_t k = 0; k < margins_.ends() && !run.open.empty(); ++k) {
        const index_t next = j + margins_type::chunk;
        add_columns(run, j, next);
        if (k < 2) start_from_best(run, k, next);
        close_hopeless(run, k);
        j = next;
      }
    }
    add_columns(run, j, model.columns());
    for (const auto& pair : run.open) take_pair(run, pair);
  }

 private:
  static constexpr index_t work_a_column = 32;  ///< for pacers

  /// A pair of clusters of which the first columns have been looked at.
  struct open_pair {
    index_t cluster;
    double offset;
    double sum;    ///< log marginal likelihood of the union, of those columns
    double total;  ///< the gain of the column of totals, if there is one
  };

  /// A search under way.
  struct running {
    const Model& model;
    const margin_query& q;
    const slot_search& search;
    index_t first;
    std::vector<open_pair> open;
    std::vector<double> scratch;
    pacer pace;
  };

  [[nodiscard]] index_t width() const noexcept { return statistics_.width(); }
  [[nodiscard]] double self_of(index_t c) const { return self_[static_cast<std::size_t>(c)]; }
  [[nodiscard]] std::size_t own_margin(index_t c, index_t k = 0) const {
    return static_cast<std::size_t>(c * margins_.ends() + k);
  }

  void take_pair(const running& run, const open_pair& pair) const {
    run.search.best.take(pair.offset - ((pair.sum - run.q.self) - self_of(pair.cluster)),
                         run.first + pair.cluster);
  }

  void add_columns(running& run, index_t begin, index_t end) const {
    for (auto& pair : run.open) {
      run.pace(work_a_column * (end - begin));
      add_columns(run, begin, end, pair);
    }
  }

  /// In the order of log_marginal, so that the sum over all columns is its value.
  void add_columns(running& run, index_t begin, index_t end, open_pair& pair) const {
    const auto& model = run.model;
    const double* t = statistics_[pair.cluster];
    double* scratch = run.scratch.data();
    for (index_t j = begin; j < end; ++j) {
      const index_t at = model.offset(j);
      std::copy_n(run.q.statistics.data() + at, model.column(j).width(), scratch);
      merge_statistics(model.column(j), scratch, t + at);
      pair.sum += model.column(j).log_marginal(scratch);
    }
  }

  /// The gain of a pair whose columns up to the end of chunk k are summed is at most this.
  [[nodiscard]] double most_gain(const running& run, index_t k, const open_pair& pair) const {
    const auto& a = run.q.margins[static_cast<std::size_t>(k)];
    const auto& b = own_margins_[own_margin(pair.cluster, k)];
    constexpr double rounding = 1e-11;
    const double size = std::fabs(pair.sum) + std::fabs(a.before) + std::fabs(b.before) +
                        std::fabs(pair.total) + std::fabs(run.q.self) +
                        std::fabs(self_of(pair.cluster));
    return ((pair.sum - a.before) - b.before) + pair.total + margins_.most(k, a, b) +
           rounding * size;
  }

  /// The pair of the best prospects is computed at once: a good cost to beat.
  void start_from_best(running& run, index_t k, index_t next) const {
    const auto promise = [&](const open_pair& p) { return p.offset - most_gain(run, k, p); };
    open_pair first =
        *std::min_element(run.open.begin(), run.open.end(),
                          [&](const auto& a, const auto& b) { return promise(a) < promise(b); });
    if (promise(first) > run.search.best.cost) return;
    add_columns(run, next, run.model.columns(), first);
    take_pair(run, first);
  }

  void close_hopeless(running& run, index_t k) const {
    const auto hopeless = [&](const open_pair& p) {
      return p.offset - most_gain(run, k, p) > run.search.best.cost;
    };
    run.open.erase(std::remove_if(run.open.begin(), run.open.end(), hopeless), run.open.end());
  }

  [[nodiscard]] double total_gain(const Model& model, const margin_query& q, index_t c) const {
    if constexpr (totalled<Column>::value) {
      const index_t j = model.columns() - 1;
      const auto of_counts = [&](double m) {
        const double counts[2] = {m, 0.0};
        return model.column(j).log_marginal(counts);
      };
      const double m = q.statistics[static_cast<std::size_t>(model.offset(j))];
      const double n = statistics_[c][model.offset(j)];
      return of_counts(m + n) - of_counts(m) - of_counts(n);
    } else {
      return 0.0;
    }
  }

  margins_type margins_;
  statistics_block statistics_;
  std::vector<double> self_;
  std::vector<column_margin> own_margins_;
};

}  // namespace bhclust::detail

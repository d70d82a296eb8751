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
#include <array>
#include <cmath>
#include <limits>
#include <type_traits>
#include <vector>

namespace bhclust::detail {

/// A cluster ready to be scored against others. For one store, as it knows from which of its
/// clusters the cluster grew.
struct margin_query {
  std::vector<double> statistics;
  double self = 0.0;
  std::vector<column_margin> margins;  ///< empty: to be computed by the searches that need them
  index_t cluster = -1;                ///< its number, -1 if it is none of the store's
  index_t renumbered = 0;              ///< how often clusters were when it had this number
  /// What searches found of the log evidence of its union with each cluster: at most this. Empty
  /// if it is no cluster. Searches that share a query write to what is in their own slots.
  mutable std::vector<double> unions;
};

/// The statistics, scores and margins of clusters. A search leaves a cluster alone once its margin
/// (column_margins.hpp) shows that the columns still to come cannot make it the cheapest. Clusters
/// mostly grow row by row, each searching anew; as rows are no more probable together than some of
/// them are, what one search found of an evidence bounds what the next could find. So most clusters
/// need no look, and the margins of a cluster that has grown on are never computed. `Model` is
/// independent<Column>.
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

  /// Makes room for the clusters that live at once in a table of so many rows, if they are few.
  void reserve(index_t rows) {
    constexpr index_t most_numbers = 131072;
    statistics_.reserve(std::min(rows / 8 + 1, most_numbers / std::max(width(), index_t{1})));
  }

  /// Clusters and queries have margins from now on.
  void prepare_searches(const Model& model) {
    if constexpr (has_margins) {
      searching_ = true;
      own_margins_.resize(own_margin(size()));
      pacer pace;
      for (index_t c = 0; c < size(); ++c) {
        pace(work_a_column * model.width());
        margins_.compute(model, statistics_[c], own_margins_.data() + own_margin(c));
      }
    } else {
      static_cast<void>(model);
    }
  }

  /// Appends an empty cluster, whose statistics are then set and closed by `finish`.
  [[nodiscard]] double* append() { return statistics_.append(); }
  /// The cluster is a union of these; what is below 0 is a row.
  void finish(const Model& model, index_t a, index_t b) {
    self_.push_back(Score::self(model, statistics_[size() - 1]));
    if constexpr (has_margins) {
      if (!searching_) return;
      if (bare_ >= 0 && bare_ != a && bare_ != b) {
        margins_.compute(model, statistics_[bare_], own_margins_.data() + own_margin(bare_));
      }
      own_margins_.resize(own_margins_.size() + static_cast<std::size_t>(margins_.ends()));
      bare_ = size() - 1;
      parts_ = {a, b};
    }
  }

  void keep(const std::vector<index_t>& kept) {
    const bool keeps_bare = bare_ >= 0 && !kept.empty() && kept.back() == bare_;
    statistics_.keep(kept);
    keep_entries(self_, kept);
    if (searching_) keep_records(own_margins_, margins_.ends(), kept);
    bare_ = keeps_bare ? size() - 1 : -1;
    parts_ = {-1, -1};
    ++renumbered_;
  }

  /// Whether cluster c is the one that the query was, and something besides.
  [[nodiscard]] bool has_grown(const margin_query& q, index_t c) const noexcept {
    return q.cluster >= 0 && q.renumbered == renumbered_ && c == size() - 1 &&
           (q.cluster == parts_[0] || q.cluster == parts_[1]);
  }

  void load(margin_query& q, index_t c) const {
    q.statistics.assign(statistics_[c], statistics_[c] + width());
    q.self = self_of(c);
    if constexpr (has_margins) {
      if (!searching_) return;
      if (!has_grown(q, c)) q.unions.clear();
      q.unions.resize(static_cast<std::size_t>(size()), infinite);
      q.cluster = c;
      q.renumbered = renumbered_;
      const auto first = own_margins_.begin() + static_cast<std::ptrdiff_t>(own_margin(c));
      q.margins.assign(first, first + (c == bare_ ? 0 : margins_.ends()));
    }
  }

  /// The margins of a query that is not one of the clusters.
  void load_margins(const Model& model, margin_query& q) const {
    q.cluster = -1;
    q.unions.clear();
    if constexpr (has_margins) {
      if (!searching_) return;
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
    running run{model, q, search, first, {}, {}, {}, {}, {}};
    open_pairs(run);
    if (run.open.empty()) return;
    run.scratch.resize(q.statistics.size());
    index_t j = 0;
    if constexpr (has_margins) {
      load_bare_margins(run);
      for (index_t k = 0; k < margins_.ends() && !run.open.empty(); ++k) {
        const index_t next = j + margins_type::chunk;
        add_columns(run, j, next);
        for (auto& pair : run.open) pair.least = pair.offset - most_gain(run, k, pair);
        if (k < 2) start_from_best(run, next);
        close_hopeless(run);
        j = next;
      }
    }
    add_columns(run, j, model.columns());
    for (const auto& pair : run.open) take_pair(run, pair);
  }

 private:
  /// Statistics of so many numbers have a place of their own on the stack, which compilers keep in
  /// registers where a column's width is known.
  static constexpr index_t narrow = 4;
  static constexpr index_t work_a_column = 32;  ///< for pacers
  static constexpr double infinite = std::numeric_limits<double>::infinity();

  /// A pair of clusters of which the first columns have been looked at.
  struct open_pair {
    index_t cluster;
    double offset;
    double sum;    ///< log marginal likelihood of the union, of those columns
    double total;  ///< the gain of the column of totals, if there is one
    double least;  ///< its cost is no less
  };

  /// A search under way.
  struct running {
    const Model& model;
    const margin_query& q;
    const slot_search& search;
    index_t first;
    std::vector<open_pair> open;
    std::vector<double> scratch;
    std::vector<column_margin> of_query;  ///< where the query has none
    std::vector<column_margin> of_bare;   ///< where the bare cluster is open
    pacer pace;
  };

  /// All pairs that are not known to be too dear.
  void open_pairs(running& run) const {
    const auto& search = run.search;
    for (index_t s = search.begin; s < search.end; ++s) {
      const double own = search.offset(s);
      const index_t c = s - run.first;
      if (!(own < infinite) || own - known_gain(run.q, c) > search.best.cost) continue;
      if (run.open.empty()) run.open.reserve(static_cast<std::size_t>(search.end - s));
      run.open.push_back({c, own, 0.0, total_gain(run.model, run.q, c), 0.0});
    }
  }

  /// The gain of the query and cluster c is at most this, by searches before.
  [[nodiscard]] double known_gain(const margin_query& q, index_t c) const {
    if (q.unions.empty()) return infinite;
    constexpr double rounding = 1e-9;
    const double both = q.unions[static_cast<std::size_t>(c)];
    const double apart = q.self + self_of(c);
    return (both - apart) + rounding * (std::fabs(both) + std::fabs(apart));
  }
  /// Takes down that it is no more.
  void note_gain(const running& run, index_t c, double gain) const {
    if (run.q.unions.empty()) return;
    double& known = run.q.unions[static_cast<std::size_t>(c)];
    known = std::fmin(known, gain + (run.q.self + self_of(c)));
  }

  void load_bare_margins(running& run) const {
    const auto size = static_cast<std::size_t>(margins_.ends());
    if (run.q.margins.empty()) {
      run.of_query.resize(size);
      margins_.compute(run.model, run.q.statistics.data(), run.of_query.data());
    }
    if (run.open.back().cluster == bare_) {
      run.of_bare.resize(size);
      margins_.compute(run.model, statistics_[bare_], run.of_bare.data());
    }
  }

  [[nodiscard]] index_t width() const noexcept { return statistics_.width(); }
  [[nodiscard]] double self_of(index_t c) const { return self_[static_cast<std::size_t>(c)]; }
  [[nodiscard]] std::size_t own_margin(index_t c, index_t k = 0) const {
    return static_cast<std::size_t>(c * margins_.ends() + k);
  }

  void take_pair(const running& run, const open_pair& pair) const {
    const double gain = (pair.sum - run.q.self) - self_of(pair.cluster);
    note_gain(run, pair.cluster, gain);
    run.search.best.take(pair.offset - gain, run.first + pair.cluster);
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
    const double* s = run.q.statistics.data();
    double here[narrow];
    for (index_t j = begin; j < end; ++j) {
      const index_t at = model.offset(j);
      const auto& column = model.column(j);
      const index_t width = column.width();
      double* sum = width <= narrow ? here : run.scratch.data();
      for (index_t i = 0; i < width; ++i) sum[i] = s[at + i];
      merge_statistics(column, sum, t + at);
      pair.sum += column.log_marginal(sum);
    }
  }

  /// The gain of a pair whose columns up to the end of chunk k are summed is at most this.
  [[nodiscard]] double most_gain(const running& run, index_t k, const open_pair& pair) const {
    const auto& of_query = run.of_query.empty() ? run.q.margins : run.of_query;
    const auto& a = of_query[static_cast<std::size_t>(k)];
    const auto& b = pair.cluster == bare_ ? run.of_bare[static_cast<std::size_t>(k)]
                                          : own_margins_[own_margin(pair.cluster, k)];
    constexpr double rounding = 1e-11;
    const double size = std::fabs(pair.sum) + std::fabs(a.before) + std::fabs(b.before) +
                        std::fabs(pair.total) + std::fabs(run.q.self) +
                        std::fabs(self_of(pair.cluster));
    return ((pair.sum - a.before) - b.before) + pair.total + margins_.most(k, a, b) +
           rounding * size;
  }

  /// The pair of the best prospects is computed at once: a good cost to beat.
  void start_from_best(running& run, index_t next) const {
    open_pair first =
        *std::min_element(run.open.begin(), run.open.end(),
                          [](const auto& a, const auto& b) { return a.least < b.least; });
    if (first.least > run.search.best.cost) return;
    add_columns(run, next, run.model.columns(), first);
    take_pair(run, first);
  }

  void close_hopeless(running& run) const {
    const auto hopeless = [&](const open_pair& p) {
      if (!(p.least > run.search.best.cost)) return false;
      note_gain(run, p.cluster, p.offset - p.least);
      return true;
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
  bool searching_ = false;
  index_t bare_ = -1;  ///< the youngest cluster, whose margins were not computed; -1: none
  std::array<index_t, 2> parts_{-1, -1};  ///< the clusters that it is the union of
  index_t renumbered_ = 0;
};

}  // namespace bhclust::detail

/// @file
/// The store of rows with independent columns.
#pragma once

#include <bhclust/detail/bounded_row_search.hpp>
#include <bhclust/detail/cluster_store.hpp>
#include <bhclust/detail/coded_table.hpp>
#include <bhclust/detail/distinct_rows.hpp>
#include <bhclust/detail/function_tables.hpp>
#include <bhclust/detail/level_terms.hpp>
#include <bhclust/detail/margin_clusters.hpp>
#include <bhclust/detail/nibble_sums.hpp>
#include <bhclust/detail/row_bounds.hpp>
#include <bhclust/detail/score.hpp>
#include <bhclust/family.hpp>
#include <bhclust/progress.hpp>
#include <bhclust/types.hpp>

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

namespace bhclust {

template <class Column>
class independent;

namespace detail {

/// Rows against a cluster by look-up. A row's gain is a sum over columns, and a column's term
/// depends on the row only through its value: so the terms are computed once a query for each value
/// that the column takes (level_terms.hpp), and a score is one addition a group of columns
/// (coded_table.hpp). Clusters against clusters are computed from their statistics. Searches
/// compute only what their bounds cannot rule out (row_bounds.hpp, column_margins.hpp), and of
/// equal rows one.
template <class Column, class Score>
class independent_store {
  using model_type = independent<Column>;

 public:
  struct query : margin_query {
    gain_table gains;
    bound_table bounds;
    std::vector<index_t> changed;  ///< columns in which the cluster is not what it was before
  };

  independent_store(const independent<Column>& model, const table_view& X)
      : tables_(model.columns(), X.rows(), sums_of_columns(X)),
        model_(tabulated(model, tables_)),
        rows_(X, searches()),
        clusters_(model_, tables_),
        terms_(model_, rows_.table()) {
    clusters_.reserve(X.rows());
    terms_.tabulate_pairs(model_, rows_.table());
    if (!searches()) tabulate_row_pairs();
  }

  [[nodiscard]] index_t slots() const noexcept { return rows_.slots() + clusters_.size(); }
  [[nodiscard]] index_t query_width() const noexcept {
    return rows().gain_width() + model_.width();
  }

  /// Queries have bounds and margins from now on.
  void prepare_searches() {
    if (!searches() || std::exchange(searching_, true)) return;
    clusters_.prepare_searches(model_);
    if (rows().size() == 0) return;
    if (shuffles_bytes) bounds_ = row_bounds(rows());
    tilt_of_columns();
    tabulate_row_pairs();
  }

  void load(query& q, index_t slot) const {
    rows().begin_fill(q.gains);
    if (slot >= rows_.slots()) {
      load_cluster(q, slot - rows_.slots());
    } else if (row_pairs_ready_) {
      load_row_by_pairs(q, rows_.row_in(slot));
    } else {
      load_row(q, rows_.row_in(slot));
    }
  }

  void row(const query& q, index_t begin, index_t end, double* out) const {
    const index_t split = std::clamp(rows_.slots(), begin, end);
    sum_slots(q, begin, split, out);
    if (split == end) return;
    clusters_.gains(model_, q, split - rows_.slots(), end - rows_.slots(), out + (split - begin));
  }

  [[nodiscard]] static constexpr bool searches() noexcept {
    return Score::kind == score_kind::evidence;
  }

  void search(const query& q, index_t begin, index_t end, const cost_offsets& offset,
              cheapest& best) const {
    const index_t split = std::clamp(rows_.slots(), begin, end);
    if (begin < split) {
      bounded_row_search(rows_, bounds_, q.gains, q.bounds)({begin, split, offset, best});
    }
    if (split < end) clusters_.search(model_, q, rows_.slots(), {split, end, offset, best});
  }

  void retire(index_t slot) {
    if (slot >= rows_.slots()) return;
    if (rows_.retire(slot) && bounds_.usable()) bounds_.retire(rows_.row_in(slot));
  }

  index_t merge(index_t a, index_t b) {
    double* t = clusters_.append();
    add(t, a);
    add(t, b);
    clusters_.finish(model_, a - rows_.slots(), b - rows_.slots());
    return slots() - 1;
  }

  void keep(const std::vector<index_t>& kept) {
    const auto split = std::lower_bound(kept.begin(), kept.end(), rows_.slots());
    std::vector<index_t> kept_clusters(split, kept.end());
    for (auto& c : kept_clusters) c -= rows_.slots();
    clusters_.keep(kept_clusters);
    const auto kept_rows = rows_.keep({kept.begin(), split});
    if (bounds_.usable()) bounds_.keep(kept_rows);
  }

 private:
  [[nodiscard]] static model_type tabulated(model_type model, function_tables& tables) {
    model.tabulate(tables);
    return model;
  }

  [[nodiscard]] const coded_table& rows() const noexcept { return rows_.table(); }

  void load_cluster(query& q, index_t c) const {
    const bool some = clusters_.has_grown(q, c) && find_changed(q, c);
    clusters_.load(q, c);
    if (rows().size() == 0) return;
    if (some) {
      terms_.fill_some(model_, rows(), q.changed, q.statistics.data(), q.gains.of_level.data());
    } else {
      terms_.fill(model_, rows(), q.statistics.data(), q.gains.of_level.data());
    }
    if (some && is_near(q.bounds.slope, slope(q.gains))) {
      bounds_.fill_some(q.gains, q.changed, q.bounds);
    } else {
      end_fill(q);
    }
  }

  /// Whether the query's cluster has grown into c by rows that leave many of its columns as they
  /// were, such as those without counts, and its terms can stay there.
  [[nodiscard]] bool find_changed(query& q, index_t c) const {
    if constexpr (totalled<Column>::value) {
      if (!bounds_.usable() || rows().sparse()) return false;
      q.changed.clear();
      const double* t = clusters_[c];
      for (index_t j = 0; j < model_.columns(); ++j) {
        const index_t first = model_.offset(j);
        const index_t last = model_.offset(j + 1);
        if (!std::equal(t + first, t + last, q.statistics.data() + first)) q.changed.push_back(j);
      }
      return 4 * static_cast<index_t>(q.changed.size()) <= 3 * model_.columns();
    } else {
      static_cast<void>(q);
      static_cast<void>(c);
      return false;
    }
  }

  /// Bounds stay right with the slope that they had, but not close if the cluster's is another.
  [[nodiscard]] static bool is_near(double former, double slope) noexcept {
    constexpr double share = 0.05;
    return std::fabs(slope - former) <= share * std::fabs(slope);
  }

  void load_row(query& q, index_t row) const {
    load_statistics(q, row);
    terms_.fill_row(model_, rows(), row, q.gains.of_level.data());
    end_fill(q);
  }

  /// By the codes of the row alone; its statistics only where there are clusters.
  void load_row_by_pairs(query& q, index_t row) const {
    rows().fill_pairs(row_pairs_, row, q.gains);
    if (bounds_.usable()) {
      bounds_.fill_pairs(rows(), row, q.bounds);
    } else {
      rows().end_fill(q.gains);
    }
    if (clusters_.size() > 0) load_statistics(q, row);
  }

  void load_statistics(query& q, index_t row) const {
    q.statistics.assign(static_cast<std::size_t>(model_.width()), 0.0);
    q.self = terms_.load_row(model_, rows(), row, q.statistics.data());
    if (clusters_.size() > 0) clusters_.load_margins(model_, q);
  }

  void end_fill(query& q) const {
    if (bounds_.usable()) bounds_.fill(q.gains, slope(q.gains), q.bounds);
    if (!bounds_.usable() || rows().sparse()) rows().end_fill(q.gains);
  }

  void sum_slots(const query& q, index_t begin, index_t end, double* out) const {
    if (rows_.one_each()) {
      sum_rows(q, begin, end, out);
      return;
    }
    pacer pace;
    for (index_t s = begin; s < end; ++s) {
      constexpr index_t work_a_column = 32;
      pace(work_a_column * rows().columns());
      rows().sum(q.gains, rows_.row_in(s), rows_.row_in(s) + 1, out + (s - begin));
    }
  }

  void sum_rows(const query& q, index_t begin, index_t end, double* out) const {
    const index_t step = rows().rows_a_pulse();
    for (; end - begin > step; begin += step, out += step) {
      rows().sum(q.gains, begin, begin + step, out);
      pulse();
    }
    rows().sum(q.gains, begin, end, out);
  }

  /// t ∪= the cluster in a slot.
  void add(double* t, index_t slot) const {
    if (slot >= rows_.slots()) {
      model_.merge(t, clusters_[slot - rows_.slots()]);
    } else {
      terms_.add_row(model_, rows(), rows_.row_in(slot), t);
    }
  }

  /// Terms of counts and of their total rise and fall together: what the total's term changes by a
  /// count may be given to the counts, which brings bounds closer.
  void tilt_of_columns() {
    if constexpr (totalled<Column>::value) {
      for (index_t j = 0; j < model_.columns(); ++j) tilt_.push_back(model_.column(j).sign);
      if (bounds_.usable()) bounds_.set_tilt(rows(), tilt_);
    }
  }
  [[nodiscard]] double slope(const gain_table& gains) const {
    if (tilt_.empty()) return 0.0;
    const auto& totals = rows().levels(model_.columns() - 1);
    const double* term =
        gains.of_level.data() + (rows().total_levels() - static_cast<index_t>(totals.size()));
    const std::size_t low = totals.size() / 4;
    const std::size_t high = totals.size() - 1 - low;
    return low < high ? (term[high] - term[low]) / (totals[high] - totals[low]) : 0.0;
  }

  void tabulate_row_pairs() {
    if (rows().sparse() || terms_.pairs().empty()) return;
    if (bounds_.usable()) {
      bounds_.tabulate_pairs(terms_.pairs(), slope_of_rows());
      if (!bounds_.has_pairs()) return;
    }
    row_pairs_ = rows().pairs_of_codes(terms_.pairs());
    row_pairs_ready_ = true;
    terms_.drop_pairs();
  }

  /// The slope of a row with a middling total.
  [[nodiscard]] double slope_of_rows() const {
    if (tilt_.empty()) return 0.0;
    const auto n = static_cast<index_t>(rows().levels(model_.columns() - 1).size());
    gain_table gains;
    rows().begin_fill(gains);
    std::copy_n(terms_.pairs().end() - n * n + n / 2 * n, n, gains.of_level.end() - n);
    return slope(gains);
  }

  function_tables tables_;
  model_type model_;
  distinct_rows rows_;
  margin_clusters<model_type, Column, Score> clusters_;
  level_terms<model_type, Score> terms_;
  bool searching_ = false;
  row_bounds bounds_;
  pair_terms row_pairs_;
  bool row_pairs_ready_ = false;  ///< row_pairs_ and the bounds' serve in place of the terms' pairs
  std::vector<double> tilt_;      ///< totalled: 1 for counts, -1 for their total
};

}  // namespace detail
}  // namespace bhclust

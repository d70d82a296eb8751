/// @file
/// Sparse rows of counts, searched by the columns that they share with a cluster.
#pragma once

#include <bhclust/detail/cluster_store.hpp>
#include <bhclust/detail/distinct_rows.hpp>
#include <bhclust/detail/rate_sums.hpp>
#include <bhclust/detail/shared_columns.hpp>
#include <bhclust/detail/sparse_counts.hpp>
#include <bhclust/progress.hpp>
#include <bhclust/types.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

namespace bhclust::detail {

/// What a search among rows needs of its cluster.
struct shared_rows_query {
  struct column {
    index_t column, first;  ///< where its levels' terms begin
  };
  std::vector<column> columns;  ///< of a query without sums
  std::vector<double> terms;
  std::vector<double> of_total;  ///< of each level of the totals, at last of retired rows
  const shared_sums* sums = nullptr;
  std::vector<double> rates;  ///< with rate_sums: their part of the gains with rows
  double rounding = 0.0;      ///< of a row's sum
};

/// Rows of a table whose last column is the total of all others. `Model` is independent<Column>,
/// `Rates` rate_sums or no_rate_sums.
/// A row's sum over the columns that it shares with a cluster comes from the cells of these
/// columns, or from the sums that the cluster grew up with; it tells which rows are to be computed.
template <class Model, class Rates>
class shared_rows {
  using cells = std::vector<count_cell>;

 public:
  shared_rows(const Model& model, const table_view& X, Rates rates)
      : rows_(X, true),
        cells_(table()),
        sums_(table().size()),
        rates_(std::move(rates)),
        totals_(model.columns() - 1) {
    pacer pace;
    for (index_t j = 0; j < model.columns(); ++j) {
      pace(work_a_level * static_cast<index_t>(table().levels(j).size()));
      for (const double x : table().levels(j)) {
        double t[2] = {0.0, 0.0};
        model.column(j).observe(x, t);
        level_.push_back({t[0], t[1]});
        level_self_.push_back(log_marginal_of(model, j, level_.back()));
      }
    }
    total_level_.assign(at(table().size()), 0);
    for (index_t s = 0; s < table().size(); ++s) {
      table().for_each_stored_level(s, [&](index_t j, index_t v) {
        if (j == totals_) total_level_[at(s)] = static_cast<std::uint32_t>(v);
      });
    }
    if constexpr (Rates::any) {
      for (index_t s = 0; s < table().size(); ++s) rates_.add_row(counts_of_row(s));
      rates_.end_rows();
    }
  }

  [[nodiscard]] index_t slots() const noexcept { return rows_.slots(); }
  [[nodiscard]] const Rates& rates() const noexcept { return rates_; }
  [[nodiscard]] Rates& rates() noexcept { return rates_; }
  [[nodiscard]] index_t row_in(index_t slot) const noexcept { return rows_.row_in(slot); }

  [[nodiscard]] sparse_counts counts(index_t slot) const {
    return counts_of_row(rows_.row_in(slot));
  }
  [[nodiscard]] sparse_counts counts_of_row(index_t row) const {
    sparse_counts made;
    table().for_each_stored_level(row, [&](index_t j, index_t v) {
      const auto& sums = level_[level(j, v)];
      if (j == totals_) {
        made.total = sums;
      } else {
        made.cells.push_back({static_cast<std::uint32_t>(j), sums});
      }
    });
    return made;
  }

  /// A row's log marginal likelihood.
  [[nodiscard]] double self(index_t slot) const {
    double sum = 0.0;
    table().for_each_stored_level(rows_.row_in(slot),
                                  [&](index_t j, index_t v) { sum += level_self_[level(j, v)]; });
    return sum;
  }

  /// Of a cluster, by its number if it may have sums, -1 otherwise.
  void load(const Model& model, const sparse_counts& own, index_t cluster,
            shared_rows_query& q) const {
    q.sums = cluster < 0 ? nullptr : sums_.find(cluster);
    q.of_total.clear();
    const double size = append_terms(model, totals_, own.total, q.of_total);
    q.of_total.push_back(-std::numeric_limits<double>::infinity());
    q.columns.clear();
    if (q.sums != nullptr) {
      q.rounding = shared_sums::rounding_of(q.sums->updates + 1.0, q.sums->size + size);
    } else {
      load_columns(model, own.cells, size, q);
    }
  }

  /// After load, where there are rates: those of the cluster, and R of it alone.
  void load_rates(const sparse_counts& own, const std::vector<double>& rates, double alone,
                  shared_rows_query& q) const {
    const double n = own.total.count;
    q.rates = n == 1.0 ? rates_.pairs_of_rows() : rates_.terms_of_rows(n);
    const double rise = rates_.about_rise(rates, n, alone);
    for (double& x : q.rates) x += rise;
    q.rounding += rates_.rounding(rates_.counts_of(own) + rates_.largest_row());
  }

  /// The gain of a cluster and the row in a slot.
  [[nodiscard]] double gain(const Model& model, const sparse_counts& own, index_t slot) const {
    return row_gain(model, own, rows_.row_in(slot));
  }

  void search(const Model& model, const sparse_counts& own, const shared_rows_query& q,
              const slot_search& search) const {
    constexpr index_t step = 4096;
    double gains[step];
    auto [first, last] = rows_.rows_in(search.begin, search.end);
    pacer pace;
    for (; first < last; first += step) {
      const index_t count = std::min(step, last - first);
      pace(count * (2 + static_cast<index_t>(q.columns.size()) / 8));
      const double* sums = gains;
      if (q.sums != nullptr) {
        sums = q.sums->of_row.data() + first;
      } else {
        add_columns(q, first, count, gains);
      }
      const std::uint32_t* total = total_level_.data() + first;
      for (index_t i = 0; i < count; ++i) gains[i] = -(sums[i] + q.of_total[total[i]]);
      if constexpr (Rates::any) {
        for (index_t i = 0; i < count; ++i) gains[i] -= q.rates[at(first + i)];
      }
      take_rows({model, own, q, search}, first, count, gains);
    }
  }

  void retire(index_t slot) {
    if (rows_.retire(slot)) total_level_[at(rows_.row_in(slot))] = retired_level();
  }

  /// Sums of the youngest of the clusters, which the clusters a and b (-1: rows) were merged to:
  /// from those of the one for which a new start would cost more, if it has any.
  void grow_sums(const Model& model, const std::vector<sparse_counts>& clusters, index_t a,
                 index_t b) {
    shared_sums sums = a < 0 ? shared_sums{} : sums_.take(a);
    shared_sums other = b < 0 ? shared_sums{} : sums_.take(b);
    if (other.columns > sums.columns) sums = std::move(other);
    const cells& now = clusters.back().cells;
    constexpr double coarse = 1e-4;  // nats
    if (sums.columns == 0 || sums.rounding() > coarse) {
      sums = {};
      sums.of_row.assign(at(table().size()), 0.0);
      add_to_sums(model, {}, now, sums);
    } else {
      add_to_sums(model, clusters[at(sums.cluster)].cells, now, sums);
    }
    sums.cluster = static_cast<index_t>(clusters.size()) - 1;
    sums_.put(std::move(sums));
  }

  /// Keeps the named slots and clusters (ascending).
  void keep(std::vector<index_t> slots, const std::vector<index_t>& clusters) {
    const auto kept = rows_.keep(std::move(slots));
    keep_entries(total_level_, kept);
    if constexpr (Rates::any) rates_.keep_rows(kept);
    cells_ = stored_cells(table());
    sums_.keep(clusters, kept);
  }

 private:
  static constexpr index_t work_a_level = 32;  ///< for pacers

  /// A search under way.
  struct running {
    const Model& model;
    const sparse_counts& own;
    const shared_rows_query& q;
    const slot_search& search;
  };

  [[nodiscard]] static std::size_t at(index_t i) noexcept { return static_cast<std::size_t>(i); }
  [[nodiscard]] const coded_table& table() const noexcept { return rows_.table(); }
  [[nodiscard]] std::uint32_t retired_level() const {
    return static_cast<std::uint32_t>(table().levels(totals_).size());
  }
  [[nodiscard]] std::size_t level(index_t j, index_t v) const {
    return at(table().level_start(j) + v);
  }

  /// The gain of a column's sums, whose score is `self`, and a level.
  [[nodiscard]] double level_gain(const Model& model, index_t j, const count_sums& sums,
                                  double self, index_t v) const {
    return log_marginal_of(model, j, sums + level_[level(j, v)]) - self - level_self_[level(j, v)];
  }

  /// Appends the gains of a column's levels; the largest of their sizes.
  double append_terms(const Model& model, index_t j, const count_sums& sums,
                      std::vector<double>& terms) const {
    const double self = log_marginal_of(model, j, sums);
    double size = 0.0;
    for (index_t v = 0; v < static_cast<index_t>(table().levels(j).size()); ++v) {
      terms.push_back(level_gain(model, j, sums, self, v));
      size = std::fmax(size, std::fabs(terms.back()));
    }
    return size;
  }

  void load_columns(const Model& model, const cells& own, double size, shared_rows_query& q) const {
    q.terms.clear();
    for (const auto& cell : own) {
      const auto j = static_cast<index_t>(cell.column);
      q.columns.push_back({j, static_cast<index_t>(q.terms.size())});
      size += append_terms(model, j, cell.sums, q.terms);
    }
    q.rounding = shared_sums::rounding_of(static_cast<double>(q.columns.size() + 1), size);
  }

  /// Of a cluster that had the cells `before` and has `now`.
  void add_to_sums(const Model& model, const cells& before, const cells& now,
                   shared_sums& sums) const {
    std::vector<double> terms;
    std::vector<double> old_terms;
    pacer pace;
    for_each_column(before, now, [&](std::uint32_t c, const count_sums& old, const count_sums& is) {
      if (is.count == old.count) return;
      const auto j = static_cast<index_t>(c);
      terms.clear();
      sums.size += append_terms(model, j, is, terms);
      if (old.count > 0.0) {
        old_terms.clear();
        sums.size += append_terms(model, j, old, old_terms);
        for (std::size_t v = 0; v < terms.size(); ++v) terms[v] -= old_terms[v];
      }
      sums.columns += old.count > 0.0 ? 0 : 1;
      sums.updates += 1.0;
      const auto held = cells_[j];
      pace(2 * held.size() + work_a_level);
      for (const auto& cell : held) sums.of_row[cell.row] += terms[cell.level];
    });
  }

  /// Sums over shared columns of the rows [first, first + count).
  void add_columns(const shared_rows_query& q, index_t first, index_t count, double* out) const {
    std::fill_n(out, count, 0.0);
    for (const auto& column : q.columns) {
      const auto held = cells_[column.column];
      const double* terms = q.terms.data() + column.first;
      const auto* cell = std::lower_bound(held.begin(), held.end(), first,
                                          [](const stored_cells::cell& c, index_t row) {
                                            return static_cast<index_t>(c.row) < row;
                                          });
      for (; cell != held.end() && static_cast<index_t>(cell->row) < first + count; ++cell) {
        out[static_cast<index_t>(cell->row) - first] += terms[cell->level];
      }
    }
  }

  /// By gains with the opposite sign: nearly right, they tell which are to be computed.
  void take_rows(const running& run, index_t first, index_t count, const double* costs) const {
    constexpr double infinite = std::numeric_limits<double>::infinity();
    const double least = minimum(costs, count);
    const double row = run.search.offset.row();
    const double rounding = run.q.rounding + 4e-16 * std::fabs(row);
    const auto hopeless = [&](double cost) { return row + cost - rounding > run.search.best.cost; };
    if (!(least < infinite) || hopeless(least)) return;
    take_row(run, first + (std::find(costs, costs + count, least) - costs));
    constexpr index_t few = 64;
    for (index_t begin = 0; begin < count; begin += few) {
      const index_t end = std::min(count, begin + few);
      if (hopeless(minimum(costs + begin, end - begin))) continue;
      for (index_t i = begin; i < end; ++i) {
        if (costs[i] < infinite && !hopeless(costs[i])) take_row(run, first + i);
      }
    }
  }

  void take_row(const running& run, index_t row) const {
    rows_.take(run.search, row, row_gain(run.model, run.own, row));
  }

  [[nodiscard]] double row_gain(const Model& model, const sparse_counts& own, index_t row) const {
    if constexpr (Rates::any) {
      return column_gain(model, own, row) + rates_.gain(own, counts_of_row(row));
    } else {
      return column_gain(model, own, row);
    }
  }

  [[nodiscard]] double column_gain(const Model& model, const sparse_counts& own,
                                   index_t row) const {
    auto from = own.cells.begin();
    return table().sum_of_stored(row, [&](index_t j, index_t v) {
      if (j == totals_) {
        return level_gain(model, j, own.total, log_marginal_of(model, j, own.total), v);
      }
      from = std::lower_bound(from, own.cells.end(), j, [](const count_cell& c, index_t k) {
        return static_cast<index_t>(c.column) < k;
      });
      const bool shared = from != own.cells.end() && static_cast<index_t>(from->column) == j;
      if (!shared) return 0.0;
      return level_gain(model, j, from->sums, log_marginal_of(model, j, from->sums), v);
    });
  }

  distinct_rows rows_;
  stored_cells cells_;
  kept_sums sums_;
  Rates rates_;
  index_t totals_;                          ///< the column of totals
  std::vector<count_sums> level_;           ///< of each level, in the order of coded_table::levels
  std::vector<double> level_self_;          ///< its log marginal likelihood
  std::vector<std::uint32_t> total_level_;  ///< of each row; one more than there are if retired
};

}  // namespace bhclust::detail

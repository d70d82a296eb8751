/// @file
/// The store of sparse rows of counts with their totals.
#pragma once

#include <bhclust/detail/cluster_store.hpp>
#include <bhclust/detail/clusters_of_columns.hpp>
#include <bhclust/detail/distinct_rows.hpp>
#include <bhclust/detail/function_tables.hpp>
#include <bhclust/detail/shared_rows.hpp>
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

/// Columns of counts, of which the last is the total of all others with the opposite sign: there
/// the gain of two clusters is a sum over the columns that both have counts in. Searches add these
/// up by the lists of what has counts in a column, and the few pairs that rounding leaves open are
/// computed as log_marginal is. A cluster costs memory for the columns it has, and no others.
/// `Model` is independent<Column>. With `Rates` rate_sums the last column has a 1 in each row, and
/// the gain has a part that these know, besides.
template <class Model, class Rates = no_rate_sums>
class shared_columns_store {
 public:
  struct query {
    sparse_counts counts;
    double self = 0.0;
    double spread = 0.0;                   ///< of the terms, see spread_of
    double counts_sum = 0.0, alone = 0.0;  ///< with rate_sums; R of the cluster alone
    std::vector<double> rates;             ///< with rate_sums: coefficients
    shared_rows_query rows;
  };

  /// Whether rows have cells in few columns.
  [[nodiscard]] static bool takes(const Model&, const table_view& X) { return has_few_cells(X); }
  [[nodiscard]] static bool has_few_cells(const table_view& X) {
    constexpr index_t few = 8;
    if (!X.sparse()) return false;
    index_t stored = 0;
    for (index_t i = 0; i < X.rows(); ++i) stored += X.row(i).stored();
    return few * stored <= X.rows() * X.columns();
  }

  shared_columns_store(const Model& model, const table_view& X, Rates rates = {})
      : tables_(model.columns(), X.rows(), sums_of_columns(X)),
        model_(tabulated(model, tables_)),
        rows_(model_, X, std::move(rates)),
        holders_(totals()) {
    double all = model_.column(totals()).a;
    for (index_t i = 0; i < X.rows(); ++i) {
      const row_view row = X.row(i);
      for (index_t k = 0; k < row.stored(); ++k) all += row.value(k);
    }
    log_of_all_ = std::log(all + 2.0);
    for (index_t j = 0; j < totals(); ++j) {
      log_of_least_ = std::fmax(log_of_least_, -std::log(model_.column(j).a));
    }
  }

  [[nodiscard]] index_t slots() const noexcept { return rows_.slots() + clusters(); }
  [[nodiscard]] static constexpr bool searches() noexcept { return true; }

  void load(query& q, index_t slot) const {
    if (slot < rows_.slots()) {
      q.counts = rows_.counts(slot);
      q.self = rows_.self(slot) + rates_alone(q.counts);
    } else {
      q.counts = clusters_[at(slot - rows_.slots())];
      q.self = self_[at(slot - rows_.slots())];
    }
    q.spread = spread_of(q.counts, q.self);
    rows_.load(model_, q.counts, cluster_in(slot), q.rows);
    if constexpr (Rates::any) load_rates(q, slot);
  }

  void row(const query& q, index_t begin, index_t end, double* out) const {
    const index_t split = std::clamp(rows_.slots(), begin, end);
    constexpr index_t work_a_row = 4096;
    pacer pace;
    for (index_t s = begin; s < split; ++s) {
      pace(work_a_row);
      out[s - begin] = rows_.gain(model_, q.counts, s);
    }
    for (index_t s = split; s < end; ++s) {
      const auto& cells = clusters_[at(s - rows_.slots())].cells;
      pace(4 * static_cast<index_t>(q.counts.cells.size() + cells.size()));
      out[s - begin] = gain(q, s - rows_.slots());
    }
  }

  void search(const query& q, index_t begin, index_t end, const cost_offsets& offset,
              cheapest& best) const {
    const index_t split = std::clamp(rows_.slots(), begin, end);
    if (begin < split) rows_.search(model_, q.counts, q.rows, {begin, split, offset, best});
    if (split < end) search_clusters(q, {split, end, offset, best});
  }

  void retire(index_t slot) {
    agglomerates_ = true;
    if (slot < rows_.slots()) {
      rows_.retire(slot);
    } else {
      holders_.remove(cluster_in(slot), clusters_[at(cluster_in(slot))]);
    }
  }

  index_t merge(index_t a, index_t b) {
    const index_t made = clusters();
    clusters_.push_back(united(counts_of(a), counts_of(b)));
    self_.push_back(log_marginal(clusters_.back(), {}));
    if constexpr (Rates::any) {
      rows_.rates().merge(numbered(a), numbered(b));
      alone_.push_back(-rates_alone(clusters_.back()));
      counts_.push_back(Rates::counts_of(clusters_.back()));
    }
    holders_.add(made, clusters_.back(), [this](index_t j, double m) { return of(j, m); });
    if (agglomerates_) rows_.grow_sums(model_, clusters_, cluster_in(a), cluster_in(b));
    return slots() - 1;
  }

  void keep(const std::vector<index_t>& kept) {
    const auto split = std::lower_bound(kept.begin(), kept.end(), rows_.slots());
    std::vector<index_t> kept_clusters(split, kept.end());
    for (auto& c : kept_clusters) c -= rows_.slots();
    holders_.keep(kept_clusters, clusters());
    keep_entries(self_, kept_clusters);
    if constexpr (Rates::any) {
      rows_.rates().keep_clusters(kept_clusters);
      keep_entries(alone_, kept_clusters);
      keep_entries(counts_, kept_clusters);
    }
    std::vector<sparse_counts> left;
    for (const index_t c : kept_clusters) left.push_back(std::move(clusters_[at(c)]));
    clusters_ = std::move(left);
    rows_.keep({kept.begin(), split}, kept_clusters);
  }

 private:
  [[nodiscard]] static std::size_t at(index_t i) noexcept { return static_cast<std::size_t>(i); }
  [[nodiscard]] static Model tabulated(Model model, function_tables& tables) {
    model.tabulate(tables);
    return model;
  }
  [[nodiscard]] index_t clusters() const noexcept { return static_cast<index_t>(clusters_.size()); }
  /// The number of the cluster in a slot, -1 if there is a row.
  [[nodiscard]] index_t cluster_in(index_t slot) const noexcept {
    return std::max<index_t>(slot - rows_.slots(), -1);
  }
  [[nodiscard]] sparse_counts counts_of(index_t slot) const {
    const index_t c = cluster_in(slot);
    return c < 0 ? rows_.counts(slot) : clusters_[at(c)];
  }
  /// The column of totals.
  [[nodiscard]] index_t totals() const noexcept { return model_.columns() - 1; }

  /// A column's log marginal likelihood of a count, but for what depends on the rows alone.
  [[nodiscard]] double of(index_t j, double count) const {
    return log_marginal_of(model_, j, {count, 0.0});
  }

  /// Of a union, in the order of the columns.
  [[nodiscard]] double log_marginal(const sparse_counts& a, const sparse_counts& b) const {
    double sum = 0.0;
    for_each_column(a.cells, b.cells,
                    [&](std::uint32_t j, const count_sums& s, const count_sums& t) {
                      sum += log_marginal_of(model_, static_cast<index_t>(j), s + t);
                    });
    sum += log_marginal_of(model_, totals(), a.total + b.total);
    if constexpr (Rates::any) sum += rows_.rates().log_marginal(a, b);
    return sum;
  }

  /// A cluster as rate_sums number it.
  [[nodiscard]] index_t numbered(index_t slot) const noexcept {
    return slot < rows_.slots() ? -1 - rows_.row_in(slot) : cluster_in(slot);
  }
  [[nodiscard]] double rates_alone(const sparse_counts& a) const {
    if constexpr (Rates::any) return -rows_.rates().exact(a, a.total.count);
    return 0.0;
  }
  void load_rates(query& q, index_t slot) const {
    q.rates = rows_.rates().of(numbered(slot));
    q.alone = -rates_alone(q.counts);
    q.counts_sum = Rates::counts_of(q.counts);
    rows_.load_rates(q.counts, q.rates, q.alone, q.rows);
  }

  [[nodiscard]] double gain(const query& q, index_t c) const {
    return (log_marginal(q.counts, clusters_[at(c)]) - q.self) - self_[at(c)];
  }

  /// A bound on the sizes of all terms of a cluster, alone or as a part:
  /// |ln Γ(a + m) / Γ(a)| <= m ln(a + m) + |ln a|, and ln Γ(x + 1) <= x ln x.
  [[nodiscard]] double spread_of(const sparse_counts& c, double self) const {
    double counts = c.total.count;
    if constexpr (Rates::any) {
      counts = Rates::counts_of(c);
      self = std::fabs(self) + std::fabs(of(totals(), c.total.count)) +
             counts * rows_.rates().size_of_count();
    }
    return 4.0 * counts * log_of_all_ + static_cast<double>(c.cells.size()) * log_of_least_ +
           std::fabs(self);
  }

  /// The best prospect first: a good cost to beat.
  void search_clusters(const query& q, const slot_search& search) const {
    std::vector<double> costs(at(search.end - search.begin), 0.0);
    const index_t first = search.begin - rows_.slots();
    subtract_shared(q, first, costs);
    for (std::size_t i = 0; i < costs.size(); ++i) {
      const double offset = search.offset(search.begin + static_cast<index_t>(i));
      costs[i] = bound(q, first + static_cast<index_t>(i), offset, costs[i]);
    }
    const auto least = std::min_element(costs.begin(), costs.end()) - costs.begin();
    take(q, search, least, costs[at(least)]);
    for (std::size_t i = 0; i < costs.size(); ++i) {
      if (static_cast<index_t>(i) != least) take(q, search, static_cast<index_t>(i), costs[i]);
    }
  }

  void take(const query& q, const slot_search& search, index_t i, double bound) const {
    constexpr double infinite = std::numeric_limits<double>::infinity();
    if (!(bound < infinite) || bound > search.best.cost) return;
    const index_t slot = search.begin + i;
    search.best.take(search.offset(slot) - gain(q, slot - rows_.slots()), slot);
  }

  /// A lower bound on a cluster's cost, from minus the sum over shared columns.
  [[nodiscard]] double bound(const query& q, index_t c, double offset, double shared) const {
    if (!(offset < std::numeric_limits<double>::infinity())) return offset;
    const auto& counts = clusters_[at(c)];
    const double m = q.counts.total.count;
    const double n = counts.total.count;
    double total = of(totals(), m + n) - of(totals(), m) - of(totals(), n);
    if constexpr (Rates::any) {
      const auto& rates = rows_.rates();
      total += rates.about_gain(q.rates, c, m + n, q.alone + alone_[at(c)]) +
               rates.rounding(q.counts_sum + counts_[at(c)]);
    }
    const double terms = static_cast<double>(q.counts.cells.size() + counts.cells.size()) + 16.0;
    const double size = q.spread + spread_of(counts, self_[at(c)]);
    return (offset + shared) - total - 4e-16 * (terms * size + std::fabs(offset));
  }

  /// costs[c - first] -= the sum over the columns that cluster c shares with the query.
  void subtract_shared(const query& q, index_t first, std::vector<double>& costs) const {
    const auto last = first + static_cast<index_t>(costs.size());
    pacer pace;
    for (const auto& cell : q.counts.cells) {
      const auto& held = holders_[static_cast<index_t>(cell.column)];
      if (held.empty()) continue;
      pace(2 * static_cast<index_t>(held.size()));
      subtract_column(cell, clusters_of_columns::first_from(held, first),
                      clusters_of_columns::first_from(held, last), first, costs);
    }
  }

  /// Functions of counts beyond the tables are computed once for each small count added.
  template <class Entry>
  void subtract_column(const count_cell& cell, Entry begin, Entry end, index_t first,
                       std::vector<double>& costs) const {
    constexpr index_t few = 16;
    double both[few];
    std::uint32_t known = 0;
    const auto j = static_cast<index_t>(cell.column);
    const auto& column = model_.column(j);
    const double own = of(j, cell.sums.count);
    for (auto e = begin; e != end; ++e) {
      const double m = cell.sums.count + e->count;
      double sum = 0.0;
      if (column.gamma.covers(m)) {
        sum = column.gamma(m);
      } else if (e->count < few) {
        const auto k = static_cast<unsigned>(e->count);
        if ((known >> k & 1U) == 0) both[k] = of(j, m);
        known |= 1U << k;
        sum = both[k];
      } else {
        sum = of(j, m);
      }
      costs[at(static_cast<index_t>(e->cluster) - first)] -= (sum - own) - e->own;
    }
  }

  function_tables tables_;
  Model model_;
  shared_rows<Model, Rates> rows_;
  std::vector<sparse_counts> clusters_;
  std::vector<double> self_;
  std::vector<double> alone_, counts_;  ///< with rate_sums: R of each alone, its sum of counts
  clusters_of_columns holders_;
  double log_of_all_ = 0.0;    ///< ln of at least all counts and concentrations together
  double log_of_least_ = 0.0;  ///< |ln| of the least concentration below 1
  bool agglomerates_ = false;  ///< whether unions are searched for: only then have they sums
};

}  // namespace bhclust::detail

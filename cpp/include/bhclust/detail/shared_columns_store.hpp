/// @file
/// The store of sparse rows of counts with their totals.
#pragma once

#include <bhclust/detail/cluster_store.hpp>
#include <bhclust/detail/clusters_of_columns.hpp>
#include <bhclust/detail/distinct_rows.hpp>
#include <bhclust/detail/function_tables.hpp>
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

/// Columns of counts, of which the last is the total of all others with the opposite sign: there
/// the gain of two clusters is a sum over the columns that both have counts in. Searches add these
/// up by the lists of what has counts in a column, and the few pairs that rounding leaves open are
/// computed as log_marginal is. A cluster costs memory for the columns it has, and no others.
template <class Model>
class shared_columns_store {
  using cells = std::vector<count_cell>;

 public:
  struct query {
    sparse_counts counts;
    double self = 0.0;
    double spread = 0.0;  ///< of the terms, see spread_of
    struct column {
      index_t column, first;  ///< where its levels' terms begin
    };
    std::vector<column> columns;  ///< of a query without sums
    std::vector<double> terms;
    std::vector<double> of_total;  ///< of each level of the totals, at last of retired rows
    const shared_sums* sums = nullptr;
    double rounding = 0.0;  ///< of a row's sum
  };

  /// Whether rows have cells in few columns.
  [[nodiscard]] static bool takes(const Model&, const table_view& X) {
    constexpr index_t few = 8;
    if (!X.sparse()) return false;
    index_t stored = 0;
    for (index_t i = 0; i < X.rows(); ++i) stored += X.row(i).stored();
    return few * stored <= X.rows() * X.columns();
  }

  shared_columns_store(const Model& model, const table_view& X)
      : tables_(model.columns(), X.rows()),
        model_(tabulated(model, tables_)),
        rows_(X, true),
        cells_(rows_.table()),
        sums_(rows_.table().size()),
        holders_(totals()) {
    note_levels();
    note_totals(X);
  }

  [[nodiscard]] index_t slots() const noexcept { return rows_.slots() + clusters(); }
  [[nodiscard]] static constexpr bool searches() noexcept { return true; }

  void load(query& q, index_t slot) const {
    const bool row = slot < rows_.slots();
    if (row) {
      load_row(q, rows_.row_in(slot));
    } else {
      q.counts = clusters_[at(slot - rows_.slots())];
      q.self = self_of(slot);
    }
    q.spread = spread_of(q.counts, q.self);
    q.sums = row ? nullptr : sums_.find(slot - rows_.slots());
    const double size = load_totals(q);
    if (q.sums != nullptr) {
      q.rounding = shared_sums::rounding_of(q.sums->updates + 1.0, q.sums->size + size);
    } else {
      load_columns(q, size);
    }
  }

  void row(const query& q, index_t begin, index_t end, double* out) const {
    const index_t split = std::clamp(rows_.slots(), begin, end);
    pacer pace;
    for (index_t s = begin; s < split; ++s) {
      pace(work_a_row);
      out[s - begin] = row_gain(q, rows_.row_in(s));
    }
    for (index_t s = split; s < end; ++s) {
      pace(work_of(q, s));
      out[s - begin] = cluster_gain(q, s);
    }
  }

  void search(const query& q, index_t begin, index_t end, const cost_offsets& offset,
              cheapest& best) const {
    const index_t split = std::clamp(rows_.slots(), begin, end);
    if (begin < split) search_rows(q, {begin, split, offset, best});
    if (split < end) search_clusters(q, {split, end, offset, best});
  }

  void retire(index_t slot) {
    agglomerates_ = true;
    if (slot >= rows_.slots()) {
      const index_t c = slot - rows_.slots();
      holders_.remove(c, clusters_[at(c)]);
    } else if (rows_.retire(slot)) {
      total_level_[at(rows_.row_in(slot))] = retired_level();
    }
  }

  index_t merge(index_t a, index_t b) {
    const index_t made = clusters();
    clusters_.push_back(united(counts_of(a), counts_of(b)));
    self_.push_back(log_marginal(clusters_.back(), {}));
    holders_.add(made, clusters_.back(), [this](index_t j, double m) { return of(j, m); });
    if (agglomerates_) grow_sums(a, b);
    return slots() - 1;
  }

  void keep(const std::vector<index_t>& kept) {
    const auto split = std::lower_bound(kept.begin(), kept.end(), rows_.slots());
    std::vector<index_t> kept_clusters(split, kept.end());
    for (auto& c : kept_clusters) c -= rows_.slots();
    holders_.keep(kept_clusters, clusters());
    keep_entries(self_, kept_clusters);
    std::vector<sparse_counts> left;
    for (const index_t c : kept_clusters) left.push_back(std::move(clusters_[at(c)]));
    clusters_ = std::move(left);
    const auto kept_rows = rows_.keep({kept.begin(), split});
    keep_entries(total_level_, kept_rows);
    cells_ = stored_cells(rows_.table());
    sums_.keep(kept_clusters, kept_rows);
  }

 private:
  static constexpr double eps = 4e-16;
  static constexpr index_t work_a_level = 32;  ///< for pacers
  static constexpr index_t work_a_row = 4096;

  [[nodiscard]] static std::size_t at(index_t i) noexcept { return static_cast<std::size_t>(i); }
  [[nodiscard]] static Model tabulated(Model model, function_tables& tables) {
    model.tabulate(tables);
    return model;
  }
  [[nodiscard]] index_t clusters() const noexcept { return static_cast<index_t>(clusters_.size()); }
  /// The column of totals.
  [[nodiscard]] index_t totals() const noexcept { return model_.columns() - 1; }
  [[nodiscard]] double self_of(index_t slot) const { return self_[at(slot - rows_.slots())]; }

  /// A column's log marginal likelihood.
  [[nodiscard]] double of(index_t j, const count_sums& sums) const {
    const double t[2] = {sums.count, sums.log_factorials};
    return model_.column(j).log_marginal(t);
  }
  [[nodiscard]] double of(index_t j, double count) const { return of(j, {count, 0.0}); }

  /// Of a union, in the order of the columns.
  [[nodiscard]] double log_marginal(const sparse_counts& a, const sparse_counts& b) const {
    double sum = 0.0;
    for_each_column(a.cells, b.cells,
                    [&](std::uint32_t j, const count_sums& s, const count_sums& t) {
                      sum += of(static_cast<index_t>(j), s + t);
                    });
    return sum + of(totals(), a.total + b.total);
  }

  void note_levels() {
    pacer pace;
    for (index_t j = 0; j < model_.columns(); ++j) {
      const auto& levels = rows_.table().levels(j);
      pace(work_a_level * static_cast<index_t>(levels.size()));
      for (const double x : levels) {
        double t[2] = {0.0, 0.0};
        model_.column(j).observe(x, t);
        level_.push_back({t[0], t[1]});
        level_self_.push_back(of(j, level_.back()));
      }
    }
  }

  void note_totals(const table_view& X) {
    total_level_.assign(at(rows_.table().size()), 0);
    for (index_t s = 0; s < rows_.table().size(); ++s) {
      rows_.table().for_each_stored_level(s, [&](index_t j, index_t v) {
        if (j == totals()) total_level_[at(s)] = static_cast<std::uint32_t>(v);
      });
    }
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

  [[nodiscard]] std::uint32_t retired_level() const {
    return static_cast<std::uint32_t>(rows_.table().levels(totals()).size());
  }
  [[nodiscard]] std::size_t level(index_t j, index_t v) const {
    return at(rows_.table().level_start(j) + v);
  }

  [[nodiscard]] sparse_counts counts_of_row(index_t row) const {
    sparse_counts made;
    rows_.table().for_each_stored_level(row, [&](index_t j, index_t v) {
      const auto& sums = level_[level(j, v)];
      if (j == totals()) {
        made.total = sums;
      } else {
        made.cells.push_back({static_cast<std::uint32_t>(j), sums});
      }
    });
    return made;
  }
  [[nodiscard]] sparse_counts counts_of(index_t slot) const {
    return slot < rows_.slots() ? counts_of_row(rows_.row_in(slot))
                                : clusters_[at(slot - rows_.slots())];
  }

  void load_row(query& q, index_t row) const {
    q.counts = counts_of_row(row);
    q.self = 0.0;
    rows_.table().for_each_stored_level(
        row, [&](index_t j, index_t v) { q.self += level_self_[level(j, v)]; });
  }

  /// The gain of a column's sums, whose score is `self`, and a level.
  [[nodiscard]] double level_gain(index_t j, const count_sums& sums, double self, index_t v) const {
    return of(j, sums + level_[level(j, v)]) - self - level_self_[level(j, v)];
  }

  /// Appends the gains of a column's levels; the largest of their sizes.
  double append_terms(index_t j, const count_sums& sums, std::vector<double>& terms) const {
    const double self = of(j, sums);
    double size = 0.0;
    for (index_t v = 0; v < static_cast<index_t>(rows_.table().levels(j).size()); ++v) {
      terms.push_back(level_gain(j, sums, self, v));
      size = std::fmax(size, std::fabs(terms.back()));
    }
    return size;
  }

  double load_totals(query& q) const {
    q.of_total.clear();
    const double size = append_terms(totals(), q.counts.total, q.of_total);
    q.of_total.push_back(-std::numeric_limits<double>::infinity());
    return size;
  }

  void load_columns(query& q, double size) const {
    q.columns.clear();
    q.terms.clear();
    for (const auto& cell : q.counts.cells) {
      const auto j = static_cast<index_t>(cell.column);
      q.columns.push_back({j, static_cast<index_t>(q.terms.size())});
      size += append_terms(j, cell.sums, q.terms);
    }
    q.rounding = shared_sums::rounding_of(static_cast<double>(q.columns.size() + 1), size);
  }

  /// Of the youngest cluster, which slots a and b were merged to: from those of the one for which a
  /// new start would cost more, if it has any.
  void grow_sums(index_t a, index_t b) {
    shared_sums sums = take_sums(a);
    shared_sums other = take_sums(b);
    if (other.columns > sums.columns) sums = std::move(other);
    const cells& now = clusters_.back().cells;
    constexpr double coarse = 1e-4;  // nats
    if (sums.columns == 0 || sums.rounding() > coarse) {
      sums = {};
      sums.of_row.assign(at(rows_.table().size()), 0.0);
      add_to_sums({}, now, sums);
    } else {
      add_to_sums(clusters_[at(sums.cluster)].cells, now, sums);
    }
    sums.cluster = clusters() - 1;
    sums_.put(std::move(sums));
  }

  [[nodiscard]] shared_sums take_sums(index_t slot) {
    return slot < rows_.slots() ? shared_sums{} : sums_.take(slot - rows_.slots());
  }

  /// Of a cluster that had the cells `before` and has `now`.
  void add_to_sums(const cells& before, const cells& now, shared_sums& sums) const {
    std::vector<double> terms;
    std::vector<double> old_terms;
    pacer pace;
    for_each_column(before, now, [&](std::uint32_t c, const count_sums& old, const count_sums& is) {
      if (is.count == old.count) return;
      const auto j = static_cast<index_t>(c);
      terms.clear();
      sums.size += append_terms(j, is, terms);
      if (old.count > 0.0) {
        old_terms.clear();
        sums.size += append_terms(j, old, old_terms);
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
  void add_columns(const query& q, index_t first, index_t count, double* out) const {
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

  void search_rows(const query& q, const slot_search& search) const {
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
      take_rows(q, search, first, count, gains);
    }
  }

  /// By gains with the opposite sign: nearly right, they tell which are to be computed.
  void take_rows(const query& q, const slot_search& search, index_t first, index_t count,
                 const double* costs) const {
    constexpr double infinite = std::numeric_limits<double>::infinity();
    const double least = minimum(costs, count);
    const double row = search.offset.row();
    const double rounding = q.rounding + eps * std::fabs(row);
    const auto hopeless = [&](double cost) { return row + cost - rounding > search.best.cost; };
    if (!(least < infinite) || hopeless(least)) return;
    take_row(q, search, first + (std::find(costs, costs + count, least) - costs));
    constexpr index_t few = 64;
    for (index_t begin = 0; begin < count; begin += few) {
      const index_t end = std::min(count, begin + few);
      if (hopeless(minimum(costs + begin, end - begin))) continue;
      for (index_t i = begin; i < end; ++i) {
        if (costs[i] < infinite && !hopeless(costs[i])) take_row(q, search, first + i);
      }
    }
  }

  void take_row(const query& q, const slot_search& search, index_t row) const {
    rows_.take(search, row, row_gain(q, row));
  }

  [[nodiscard]] double row_gain(const query& q, index_t row) const {
    auto from = q.counts.cells.begin();
    return rows_.table().sum_of_stored(row, [&](index_t j, index_t v) {
      if (j == totals()) return level_gain(j, q.counts.total, of(j, q.counts.total), v);
      from = std::lower_bound(from, q.counts.cells.end(), j, [](const count_cell& c, index_t k) {
        return static_cast<index_t>(c.column) < k;
      });
      const bool shared = from != q.counts.cells.end() && static_cast<index_t>(from->column) == j;
      return shared ? level_gain(j, from->sums, of(j, from->sums), v) : 0.0;
    });
  }

  /// A bound on the sizes of all terms of a cluster: |ln Γ(a + m) / Γ(a)| <= m ln(a + m) + |ln a|.
  [[nodiscard]] double spread_of(const sparse_counts& c, double self) const {
    return 4.0 * c.total.count * log_of_all_ + static_cast<double>(c.cells.size()) * log_of_least_ +
           std::fabs(self);
  }

  [[nodiscard]] double cluster_gain(const query& q, index_t slot) const {
    return (log_marginal(q.counts, clusters_[at(slot - rows_.slots())]) - q.self) - self_of(slot);
  }

  [[nodiscard]] index_t work_of(const query& q, index_t slot) const {
    return 4 * static_cast<index_t>(q.counts.cells.size() +
                                    clusters_[at(slot - rows_.slots())].cells.size());
  }

  void search_clusters(const query& q, const slot_search& search) const {
    std::vector<double> costs(at(search.end - search.begin), 0.0);
    const index_t first = search.begin - rows_.slots();
    subtract_shared(q, first, costs);
    for (std::size_t i = 0; i < costs.size(); ++i) finish_bound(q, search, first, i, costs[i]);
    const auto least = std::min_element(costs.begin(), costs.end());
    take_cluster(q, search, least - costs.begin(), *least);
    for (std::size_t i = 0; i < costs.size(); ++i) {
      take_cluster(q, search, static_cast<index_t>(i), costs[i]);
    }
  }

  void take_cluster(const query& q, const slot_search& search, index_t i, double bound) const {
    constexpr double infinite = std::numeric_limits<double>::infinity();
    if (!(bound < infinite) || bound > search.best.cost) return;
    const index_t slot = search.begin + i;
    search.best.take(search.offset(slot) - cluster_gain(q, slot), slot);
  }

  /// From minus the sum over shared columns to a lower bound on the cost.
  void finish_bound(const query& q, const slot_search& search, index_t first, std::size_t i,
                    double& cost) const {
    const double offset = search.offset(search.begin + static_cast<index_t>(i));
    if (!(offset < std::numeric_limits<double>::infinity())) {
      cost = offset;
      return;
    }
    const auto c = at(first) + i;
    const auto& counts = clusters_[c];
    const double m = q.counts.total.count;
    const double n = counts.total.count;
    const double total = of(totals(), m + n) - of(totals(), m) - of(totals(), n);
    const double terms = static_cast<double>(q.counts.cells.size() + counts.cells.size()) + 16.0;
    const double size = q.spread + spread_of(counts, self_[c]);
    cost = (offset + cost) - total - eps * (terms * size + std::fabs(offset));
  }

  void subtract_shared(const query& q, index_t first, std::vector<double>& costs) const {
    const auto last = first + static_cast<index_t>(costs.size());
    pacer pace;
    for (const auto& cell : q.counts.cells) {
      const auto& held = holders_[static_cast<index_t>(cell.column)];
      if (held.empty()) continue;
      pace(2 * static_cast<index_t>(held.size()));
      subtract_column(cell, clusters_of_columns::first_from(held, first),
                      clusters_of_columns::first_from(held, last), costs.data() - first);
    }
  }

  /// Functions of counts beyond the tables are computed once for each small count added.
  template <class Entry>
  void subtract_column(const count_cell& cell, Entry begin, Entry end, double* costs) const {
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
      costs[e->cluster] -= (sum - own) - e->own;
    }
  }

  function_tables tables_;
  Model model_;
  distinct_rows rows_;
  stored_cells cells_;
  kept_sums sums_;
  std::vector<count_sums> level_;           ///< of each level, in the order of coded_table::levels
  std::vector<double> level_self_;          ///< its log marginal likelihood
  std::vector<std::uint32_t> total_level_;  ///< of each row; one more than there are if retired
  double log_of_all_ = 0.0;    ///< ln of at least all counts and concentrations together
  double log_of_least_ = 0.0;  ///< |ln| of the least concentration below 1
  bool agglomerates_ = false;  ///< whether unions are searched for: only then have they sums
  std::vector<sparse_counts> clusters_;
  std::vector<double> self_;
  clusters_of_columns holders_;
};

}  // namespace bhclust::detail

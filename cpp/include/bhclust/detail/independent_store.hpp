/// @file
/// The store of rows with independent columns.
#pragma once

#include <bhclust/detail/cluster_store.hpp>
#include <bhclust/detail/coded_table.hpp>
#include <bhclust/detail/column_margins.hpp>
#include <bhclust/detail/function_tables.hpp>
#include <bhclust/detail/repeated_rows.hpp>
#include <bhclust/detail/row_bounds.hpp>
#include <bhclust/detail/score.hpp>
#include <bhclust/detail/shared_columns.hpp>
#include <bhclust/family.hpp>
#include <bhclust/progress.hpp>
#include <bhclust/types.hpp>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

namespace bhclust {

template <class Column>
class independent;

namespace detail {

/// Rows against a cluster by look-up. A row's gain is a sum over columns, and a column's term
/// depends on the row only through its value: so the terms are computed once a query for each value
/// that the column takes, and a score is one addition a group of columns (coded_table.hpp).
/// Clusters against clusters are computed from their statistics. Searches compute only what their
/// bounds cannot rule out (row_bounds.hpp, column_margins.hpp), and of equal rows one.
template <class Column, class Score>
class independent_store {
  using model_type = independent<Column>;
  using margins_type = column_margins<model_type, Column>;
  static constexpr bool may_share = totalled<Column>::value;
  static constexpr bool has_margins = has<best_log_likelihood_t, Column> || totalled<Column>::value;

  /// What a query adds to a search among shared columns.
  struct shared_query {
    struct column {
      index_t column, first;  ///< where its levels' terms begin
    };
    std::vector<column> columns;  ///< of a query without sums
    std::vector<double> terms;
    std::vector<double> of_total;  ///< of each level of the totals, at last of retired rows
    const shared_sums* sums = nullptr;
    double rounding = 0.0;
  };

 public:
  struct query {
    std::vector<double> statistics;
    double self = 0.0;
    gain_table gains;
    bound_table bounds;
    std::vector<column_margin> margins;
    shared_query shared;
  };

  independent_store(const independent<Column>& model, const table_view& X)
      : tables_(model.columns(), X.rows()),
        model_(tabulated(model, tables_)),
        rows_(X),
        margins_(model_, tables_),
        clusters_(model.width()) {
    if (searches()) share_equal_rows();
    if (searches()) share_columns();
    if (searches() && shuffles_bytes && !shares_) bounds_ = row_bounds(rows_);
    level_offset_.push_back(0);
    pacer pace;
    for (index_t j = 0; j < model_.columns(); ++j) {
      const auto& column = model_.column(j);
      const auto& levels = rows_.levels(j);
      pace(work_a_level * static_cast<index_t>(levels.size() * width_of(j)));
      level_statistics_.resize(level_statistics_.size() + levels.size() * width_of(j), 0.0);
      for (std::size_t v = 0; v < levels.size(); ++v) {
        double* t = level_statistics_.data() + level_offset_.back() + v * width_of(j);
        if (!is_missing(levels[v])) column.observe(levels[v], t);
        level_self_.push_back(Score::self(column, t));
      }
      level_offset_.push_back(level_statistics_.size());
    }
    tilt_of_columns();
    tabulate_level_pairs();
    tabulate_row_pairs();
  }

  [[nodiscard]] index_t slots() const noexcept { return row_slots() + clusters_.size(); }
  [[nodiscard]] bool queries_last() const noexcept { return !shares_; }

  void load(query& q, index_t slot) const {
    if constexpr (may_share) {
      if (shares_) {
        load_shared(q, slot);
        return;
      }
    }
    rows_.begin_fill(q.gains);
    if (slot < row_slots() && row_pairs_ready_) {
      load_row_by_pairs(q, row_in(slot));
      return;
    }
    q.statistics.assign(static_cast<std::size_t>(model_.width()), 0.0);
    if (slot < row_slots()) {
      load_row(q, row_in(slot));
    } else {
      std::copy_n(clusters_[slot - row_slots()], model_.width(), q.statistics.data());
      q.self = self_of(slot);
      if (rows_.size() > 0) fill(q);
    }
    if (rows_.size() > 0) {
      rows_.end_fill(q.gains);
      if (bounds_.usable()) bounds_.fill(rows_, q.gains, tilt_, slope(q.gains), q.bounds);
    }
    if constexpr (has_margins) {
      if (clusters_.size() == 0 || !searches()) return;
      q.margins.resize(static_cast<std::size_t>(margins_.ends()));
      if (slot < row_slots()) {
        margins_.compute(model_, q.statistics.data(), q.margins.data());
      } else {
        std::copy_n(own_margins_.begin() + static_cast<std::ptrdiff_t>(own_margin(slot)),
                    margins_.ends(), q.margins.begin());
      }
    }
  }

  void row(const query& q, index_t begin, index_t end, double* out) const {
    const index_t split = std::clamp(row_slots(), begin, end);
    sum_slots(q, begin, split, out);
    if (split == end) return;
    std::vector<double> scratch(q.statistics.size());
    pacer pace;
    for (index_t s = split; s < end; ++s) {
      pace(work_a_level * model_.width());
      const index_t c = s - row_slots();
      out[s - begin] = Score::gain(model_, q.statistics.data(), clusters_[c], q.self,
                                   self_[static_cast<std::size_t>(c)], scratch.data());
    }
  }

  [[nodiscard]] static constexpr bool searches() noexcept {
    return Score::kind == score_kind::evidence;
  }

  void search(const query& q, index_t begin, index_t end, const cost_offsets& offset,
              cheapest& best) const {
    const index_t split = std::clamp(row_slots(), begin, end);
    if (begin < split) search_rows({q, begin, split, offset, best});
    if (split < end) search_clusters(q, split, end, offset, best);
  }

  void retire(index_t slot) {
    agglomerates_ = true;
    if (slot >= row_slots()) return;
    const bool last = !repeats_.any() || repeats_.retire(slot);
    if (last && shares_) total_level_[static_cast<std::size_t>(row_in(slot))] = retired_level();
    if (last && bounds_.usable()) bounds_.retire(row_in(slot));
  }

  index_t merge(index_t a, index_t b) {
    double* t = clusters_.append();
    add(t, a);
    add(t, b);
    self_.push_back(Score::self(model_, t));
    if constexpr (may_share) {
      if (shares_ && agglomerates_) grow_sums(a, b);
    }
    if constexpr (has_margins) {
      if (searches()) {
        own_margins_.resize(own_margins_.size() + static_cast<std::size_t>(margins_.ends()));
        margins_.compute(model_, t, own_margins_.data() + (clusters_.size() - 1) * margins_.ends());
      }
    }
    return slots() - 1;
  }

  void keep(const std::vector<index_t>& kept) {
    const auto split = std::lower_bound(kept.begin(), kept.end(), row_slots());
    std::vector<index_t> kept_clusters(split, kept.end());
    for (auto& c : kept_clusters) c -= row_slots();
    clusters_.keep(kept_clusters);
    keep_entries(self_, kept_clusters);
    if constexpr (has_margins) {
      if (searches()) keep_records(own_margins_, margins_.ends(), kept_clusters);
    }
    std::vector<index_t> kept_rows(kept.begin(), split);
    if (repeats_.any()) kept_rows = repeats_.keep(kept_rows);
    rows_.keep(kept_rows);
    if (bounds_.usable()) bounds_.keep(kept_rows);
    if (shares_) {
      keep_entries(total_level_, kept_rows);
      cells_ = stored_cells(rows_);
      sums_.keep(kept_clusters, kept_rows);
    }
  }

 private:
  /// What a function of a column's statistics costs for each of them, for pacers.
  static constexpr index_t work_a_level = 32;

  [[nodiscard]] static model_type tabulated(model_type model, function_tables& tables) {
    model.tabulate(tables);
    return model;
  }

  /// Slots of rows; of fewer rows, if many are equal.
  [[nodiscard]] index_t row_slots() const noexcept {
    return repeats_.any() ? repeats_.slots() : rows_.size();
  }
  [[nodiscard]] index_t row_in(index_t slot) const noexcept {
    return repeats_.any() ? repeats_.row(slot) : slot;
  }

  /// Where it saves a quarter of the rows.
  void share_equal_rows() {
    if (rows_.size() < 2) return;
    std::vector<index_t> row_of = rows_.numbered();
    const index_t different = *std::max_element(row_of.begin(), row_of.end()) + 1;
    if (different > rows_.size() - rows_.size() / 4) return;
    std::vector<index_t> kept;
    for (index_t s = 0; s < rows_.size(); ++s) {
      if (row_of[static_cast<std::size_t>(s)] == static_cast<index_t>(kept.size())) {
        kept.push_back(s);
      }
    }
    rows_.keep(kept);
    repeats_ = repeated_rows(std::move(row_of));
  }

  void sum_slots(const query& q, index_t begin, index_t end, double* out) const {
    if constexpr (may_share) {
      if (shares_) {
        sum_shared(q, begin, end, out);
        return;
      }
    }
    if (!repeats_.any()) {
      sum_rows(q, begin, end, out);
      return;
    }
    pacer pace;
    for (index_t s = begin; s < end; ++s) {
      pace(work_a_level * rows_.columns());
      rows_.sum(q.gains, row_in(s), row_in(s) + 1, out + (s - begin));
    }
  }

  void sum_rows(const query& q, index_t begin, index_t end, double* out) const {
    const index_t step = rows_.rows_a_pulse();
    for (; end - begin > step; begin += step, out += step) {
      rows_.sum(q.gains, begin, begin + step, out);
      pulse();
    }
    rows_.sum(q.gains, begin, end, out);
  }

  /// A search among the slots [begin, end) of rows.
  struct row_search {
    const query& q;
    index_t begin, end;
    const cost_offsets& offset;
    cheapest& best;
  };

  void search_rows(const row_search& search) const {
    const index_t first = repeats_.any() ? 0 : search.begin;
    const index_t last = repeats_.any() ? repeats_.rows_before(search.end) : search.end;
    if constexpr (may_share) {
      if (shares_) {
        search_shared_rows(search, first, last);
        return;
      }
    }
    if (bounds_.usable()) {
      search_bounded_rows(search, first, last);
    } else {
      search_all_rows(search, first, last);
    }
  }

  /// Where rows have cells in few columns, and only columns in which both have some add to a gain.
  void share_columns() {
    if constexpr (may_share) {
      constexpr index_t few = 8;
      shares_ = rows_.sparse() && few * rows_.stored() <= rows_.size() * rows_.columns();
      if (!shares_) return;
      total_level_.assign(static_cast<std::size_t>(rows_.size()), 0);
      for (index_t s = 0; s < rows_.size(); ++s) {
        rows_.for_each_stored_level(s, [&](index_t j, index_t v) {
          if (j + 1 == rows_.columns()) {
            total_level_[static_cast<std::size_t>(s)] = static_cast<std::uint32_t>(v);
          }
        });
      }
      cells_ = stored_cells(rows_);
      sums_ = kept_sums(rows_.size());
    }
  }

  [[nodiscard]] std::uint32_t retired_level() const {
    return static_cast<std::uint32_t>(rows_.levels(rows_.columns() - 1).size());
  }

  /// The gain of statistics t of a column, whose score is `self`, and a level.
  [[nodiscard]] double level_gain(index_t j, const double* t, double self, index_t v,
                                  double* scratch) const {
    return Score::gain(model_.column(j), t, level(j, v), self,
                       level_self_[static_cast<std::size_t>(rows_.level_start(j) + v)], scratch);
  }

  void load_shared(query& q, index_t slot) const {
    if (slot < row_slots()) {
      load_statistics(q, row_in(slot));
    } else {
      const double* t = clusters_[slot - row_slots()];
      q.statistics.assign(t, t + model_.width());
      q.self = self_of(slot);
    }
    load_margins(q, slot);
    auto& shared = q.shared;
    shared.sums = slot < row_slots() ? nullptr : sums_.find(slot - row_slots());
    const double size = load_totals(q);
    if (shared.sums != nullptr) {
      shared.rounding =
          shared_sums::rounding_of(shared.sums->updates + 1.0, shared.sums->size + size);
    } else {
      load_columns(q, size);
    }
  }

  void load_statistics(query& q, index_t row) const {
    q.statistics.assign(static_cast<std::size_t>(model_.width()), 0.0);
    q.self = 0.0;
    rows_.for_each_stored_level(row, [&](index_t j, index_t v) {
      q.self += level_self_[static_cast<std::size_t>(rows_.level_start(j) + v)];
      std::copy_n(level(j, v), model_.column(j).width(), q.statistics.data() + model_.offset(j));
    });
  }

  void load_margins(query& q, index_t slot) const {
    if (clusters_.size() == 0) return;
    q.margins.resize(static_cast<std::size_t>(margins_.ends()));
    if (slot < row_slots()) {
      margins_.compute(model_, q.statistics.data(), q.margins.data());
    } else {
      std::copy_n(own_margins_.begin() + static_cast<std::ptrdiff_t>(own_margin(slot)),
                  margins_.ends(), q.margins.begin());
    }
  }

  /// The terms of the totals; the largest of their sizes.
  double load_totals(query& q) const {
    const index_t j = model_.columns() - 1;
    const double* t = q.statistics.data() + model_.offset(j);
    const double self = Score::self(model_.column(j), t);
    double size = 0.0;
    q.shared.of_total.clear();
    double scratch[2] = {0.0, 0.0};
    for (index_t v = 0; v < static_cast<index_t>(rows_.levels(j).size()); ++v) {
      q.shared.of_total.push_back(level_gain(j, t, self, v, scratch));
      size = std::fmax(size, std::fabs(q.shared.of_total.back()));
    }
    q.shared.of_total.push_back(-std::numeric_limits<double>::infinity());
    return size;
  }

  void load_columns(query& q, double size) const {
    auto& shared = q.shared;
    shared.columns.clear();
    shared.terms.clear();
    for (index_t j = 0; j + 1 < model_.columns(); ++j) {
      const double* t = q.statistics.data() + model_.offset(j);
      if (t[0] == 0.0) continue;
      shared.columns.push_back({j, static_cast<index_t>(shared.terms.size())});
      size += append_terms(j, t, shared.terms);
    }
    shared.rounding =
        shared_sums::rounding_of(static_cast<double>(shared.columns.size() + 1), size);
  }

  /// Appends the terms of a column's levels; the largest of their sizes.
  double append_terms(index_t j, const double* t, std::vector<double>& terms) const {
    const double self = Score::self(model_.column(j), t);
    double size = 0.0;
    double scratch[2] = {0.0, 0.0};
    for (index_t v = 0; v < static_cast<index_t>(rows_.levels(j).size()); ++v) {
      terms.push_back(level_gain(j, t, self, v, scratch));
      size = std::fmax(size, std::fabs(terms.back()));
    }
    return size;
  }

  /// Of the youngest cluster, which slots a and b were merged to: from those of the one for which a
  /// new start would cost more, if it has any.
  void grow_sums(index_t a, index_t b) {
    shared_sums sums = take_sums(a);
    shared_sums other = take_sums(b);
    if (other.columns > sums.columns) sums = std::move(other);
    const index_t made = clusters_.size() - 1;
    constexpr double coarse = 1e-4;  // nats
    if (sums.columns == 0 || sums.rounding() > coarse) {
      sums = {};
      sums.of_row.assign(static_cast<std::size_t>(rows_.size()), 0.0);
      add_to_sums(nullptr, clusters_[made], sums);
    } else {
      add_to_sums(clusters_[sums.cluster], clusters_[made], sums);
    }
    sums.cluster = made;
    sums_.put(std::move(sums));
  }

  [[nodiscard]] shared_sums take_sums(index_t slot) {
    return slot < row_slots() ? shared_sums{} : sums_.take(slot - row_slots());
  }

  /// Of a cluster that had the statistics `before`, or none, and has `now`.
  void add_to_sums(const double* before, const double* now, shared_sums& sums) const {
    std::vector<double> terms;
    std::vector<double> old_terms;
    pacer pace;
    for (index_t j = 0; j + 1 < model_.columns(); ++j) {
      const index_t at = model_.offset(j);
      const bool new_column = before == nullptr || before[at] == 0.0;
      if (now[at] == (new_column ? 0.0 : before[at])) continue;
      terms.clear();
      sums.size += append_terms(j, now + at, terms);
      if (!new_column) {
        old_terms.clear();
        sums.size += append_terms(j, before + at, old_terms);
        for (std::size_t v = 0; v < terms.size(); ++v) terms[v] -= old_terms[v];
      }
      sums.columns += new_column ? 1 : 0;
      sums.updates += 1.0;
      const auto cells = cells_[j];
      pace(2 * cells.size() + work_a_level);
      for (const auto& cell : cells) sums.of_row[cell.row] += terms[cell.level];
    }
  }

  /// Sums over shared columns of the rows [first, first + count).
  void add_columns(const shared_query& shared, index_t first, index_t count, double* out) const {
    std::fill_n(out, count, 0.0);
    for (const auto& column : shared.columns) {
      const auto cells = cells_[column.column];
      const double* terms = shared.terms.data() + column.first;
      const auto* cell = std::lower_bound(cells.begin(), cells.end(), first,
                                          [](const stored_cells::cell& c, index_t row) {
                                            return static_cast<index_t>(c.row) < row;
                                          });
      for (; cell != cells.end() && static_cast<index_t>(cell->row) < first + count; ++cell) {
        out[static_cast<index_t>(cell->row) - first] += terms[cell->level];
      }
    }
  }

  void search_shared_rows(const row_search& search, index_t first, index_t last) const {
    constexpr index_t step = 4096;
    double gains[step];
    const auto& shared = search.q.shared;
    pacer pace;
    for (; first < last; first += step) {
      const index_t count = std::min(step, last - first);
      pace(count * (2 + static_cast<index_t>(shared.columns.size()) / 8));
      const double* sums = gains;
      if (shared.sums != nullptr) {
        sums = shared.sums->of_row.data() + first;
      } else {
        add_columns(shared, first, count, gains);
      }
      const std::uint32_t* level = total_level_.data() + first;
      for (index_t i = 0; i < count; ++i) gains[i] = -(sums[i] + shared.of_total[level[i]]);
      take_shared_rows(search, first, count, gains);
    }
  }

  /// By gains with the opposite sign: nearly right, they tell which are to be computed.
  void take_shared_rows(const row_search& search, index_t first, index_t count,
                        const double* costs) const {
    constexpr double infinite = std::numeric_limits<double>::infinity();
    const double least = minimum(costs, count);
    const double row = search.offset.row();
    const double rounding = search.q.shared.rounding + 4e-16 * std::fabs(row);
    const auto hopeless = [&](double cost) { return row + cost - rounding > search.best.cost; };
    if (!(least < infinite) || hopeless(least)) return;
    take_shared_row(search, first + (std::find(costs, costs + count, least) - costs));
    constexpr index_t few = 64;
    for (index_t begin = 0; begin < count; begin += few) {
      const index_t end = std::min(count, begin + few);
      if (hopeless(minimum(costs + begin, end - begin))) continue;
      for (index_t i = begin; i < end; ++i) {
        if (costs[i] < infinite && !hopeless(costs[i])) take_shared_row(search, first + i);
      }
    }
  }

  void take_shared_row(const row_search& search, index_t row) const {
    take_gain(search, row, shared_gain(search.q, row));
  }

  [[nodiscard]] double shared_gain(const query& q, index_t row) const {
    double scratch[2] = {0.0, 0.0};
    return rows_.sum_of_stored(row, [&](index_t j, index_t v) {
      const double* t = q.statistics.data() + model_.offset(j);
      return level_gain(j, t, Score::self(model_.column(j), t), v, scratch);
    });
  }

  /// Of many rows, by the terms of all levels.
  void sum_shared(const query& q, index_t begin, index_t end, double* out) const {
    constexpr index_t cheaper = 32;
    if ((end - begin) * cheaper < rows_.total_levels()) {
      for (index_t s = begin; s < end; ++s) out[s - begin] = shared_gain(q, row_in(s));
      return;
    }
    query filled;
    filled.statistics = q.statistics;
    rows_.begin_fill(filled.gains);
    fill(filled);
    rows_.end_fill(filled.gains);
    pacer pace;
    for (index_t s = begin; s < end; ++s) {
      pace(work_a_level);
      rows_.sum(filled.gains, row_in(s), row_in(s) + 1, out + (s - begin));
    }
  }

  void search_all_rows(const row_search& search, index_t first, index_t last) const {
    constexpr index_t step = 256;
    double gains[step];
    for (; first < last; first += step) {
      const index_t stop = std::min(last, first + step);
      sum_rows(search.q, first, stop, gains);
      for (index_t row = first; row < stop; ++row) take_gain(search, row, gains[row - first]);
    }
  }

  /// Penalties of about a thousand rows first. The row of the least is a good one to start from.
  void search_bounded_rows(const row_search& search, index_t begin, index_t end) const {
    constexpr index_t blocks = 32;
    constexpr index_t step = blocks * nibbles::rows;
    const auto& bounds = search.q.bounds;
    std::uint16_t penalty[step];
    pacer pace;
    for (index_t first = begin - begin % nibbles::rows; first < end; first += step) {
      const index_t stop = std::min(end, first + step);
      pace(step / 16 * static_cast<index_t>(bounds.penalties.size()) / nibbles::entries);
      for (index_t s = first; s < stop; s += nibbles::rows) {
        bounds_.block(bounds, s / nibbles::rows, penalty + (s - first));
      }
      const index_t count = stop - first;
      if (begin > first) std::fill_n(penalty, begin - first, row_bounds::never);
      std::fill_n(penalty + count, (nibbles::rows - count % nibbles::rows) % nibbles::rows,
                  row_bounds::never);
      take_rows(search, first, count, penalty);
    }
  }

  void take_rows(const row_search& search, index_t first, index_t count,
                 const std::uint16_t* penalty) const {
    const index_t blocks = (count + nibbles::rows - 1) / nibbles::rows;
    std::uint16_t least = row_bounds::never;
    for (index_t i = 0; i < blocks * nibbles::rows; ++i) least = std::min(least, penalty[i]);
    if (least > limit(search)) return;
    take_row(search, first + (std::find(penalty, penalty + count, least) - penalty));
    std::uint16_t most = limit(search);
    for (index_t b = 0; b < blocks; ++b, penalty += nibbles::rows, first += nibbles::rows) {
      std::uint32_t open = at_most(penalty, most);
      for (index_t i = 0; open != 0; ++i, open >>= 1U) {
        if ((open & 1U) == 0 || penalty[i] > most) continue;
        take_row(search, first + i);
        most = limit(search);
      }
    }
  }

  [[nodiscard]] static std::uint16_t limit(const row_search& search) {
    return row_bounds::limit(search.q.bounds, search.offset.row() - search.best.cost);
  }

  void take_row(const row_search& search, index_t row) const {
    double gain = 0.0;
    rows_.sum(search.q.gains, row, row + 1, &gain);
    take_gain(search, row, gain);
  }

  /// A lower bound first: few rows are worth asking for their offset.
  void take_gain(const row_search& search, index_t row, double gain) const {
    if (search.offset.row() - gain > search.best.cost) return;
    if (!repeats_.any()) {
      search.best.take(search.offset(row) - gain, row);
      return;
    }
    for (index_t s = repeats_.first(row); s >= 0 && s < search.end; s = repeats_.next(s)) {
      if (s < search.begin) continue;
      const double offset = search.offset(s);
      search.best.take(offset - gain, s);
      if (offset < std::numeric_limits<double>::infinity()) return;
    }
  }

  /// A pair of clusters of which the first columns have been looked at.
  struct open_pair {
    index_t slot;
    double offset;
    double sum;    ///< log marginal likelihood of the union, of those columns
    double total;  ///< the gain of the column of totals, if there is one
  };

  void search_clusters(const query& q, index_t begin, index_t end, const cost_offsets& offset,
                       cheapest& best) const {
    std::vector<open_pair> open;
    open.reserve(static_cast<std::size_t>(end - begin));
    for (index_t s = begin; s < end; ++s) {
      const double own = offset(s);
      if (own < std::numeric_limits<double>::infinity()) {
        open.push_back({s, own, 0.0, total_gain(q, s)});
      }
    }
    std::vector<double> scratch(q.statistics.size());
    pacer pace;
    index_t j = 0;
    if constexpr (has_margins) {
      for (index_t k = 0; k < margins_.ends() && !open.empty(); ++k) {
        const index_t next = j + margins_type::chunk;
        add_columns(q, j, next, open, scratch.data(), pace);
        if (k < 2) start_from_best(q, k, next, open, scratch.data(), best);
        close_hopeless(q, k, open, best);
        j = next;
      }
    }
    add_columns(q, j, model_.columns(), open, scratch.data(), pace);
    for (const auto& pair : open) take_pair(q, pair, best);
  }

  void take_pair(const query& q, const open_pair& pair, cheapest& best) const {
    best.take(pair.offset - ((pair.sum - q.self) - self_of(pair.slot)), pair.slot);
  }

  void add_columns(const query& q, index_t begin, index_t end, std::vector<open_pair>& open,
                   double* scratch, pacer& pace) const {
    for (auto& pair : open) {
      pace(work_a_level * (end - begin));
      add_columns(q, begin, end, pair, scratch);
    }
  }

  /// In the order of log_marginal, so that the sum over all columns is its value.
  void add_columns(const query& q, index_t begin, index_t end, open_pair& pair,
                   double* scratch) const {
    const double* t = clusters_[pair.slot - row_slots()];
    for (index_t j = begin; j < end; ++j) {
      const index_t at = model_.offset(j);
      std::copy_n(q.statistics.data() + at, model_.column(j).width(), scratch);
      merge_statistics(model_.column(j), scratch, t + at);
      pair.sum += model_.column(j).log_marginal(scratch);
    }
  }

  [[nodiscard]] std::size_t own_margin(index_t slot, index_t k = 0) const {
    return static_cast<std::size_t>((slot - row_slots()) * margins_.ends() + k);
  }

  /// The gain of a pair whose columns up to the end of chunk k are summed is at most this.
  [[nodiscard]] double most_gain(const query& q, index_t k, const open_pair& pair) const {
    const auto& a = q.margins[static_cast<std::size_t>(k)];
    const auto& b = own_margins_[own_margin(pair.slot, k)];
    constexpr double rounding = 1e-11;
    const double size = std::fabs(pair.sum) + std::fabs(a.before) + std::fabs(b.before) +
                        std::fabs(pair.total) + std::fabs(q.self) + std::fabs(self_of(pair.slot));
    return ((pair.sum - a.before) - b.before) + pair.total + margins_.most(k, a, b) +
           rounding * size;
  }

  /// The pair of the best prospects is computed at once: a good cost to beat.
  void start_from_best(const query& q, index_t k, index_t next, const std::vector<open_pair>& open,
                       double* scratch, cheapest& best) const {
    const auto promise = [&](const open_pair& p) { return p.offset - most_gain(q, k, p); };
    open_pair first =
        *std::min_element(open.begin(), open.end(),
                          [&](const auto& a, const auto& b) { return promise(a) < promise(b); });
    if (promise(first) > best.cost) return;
    add_columns(q, next, model_.columns(), first, scratch);
    take_pair(q, first, best);
  }

  void close_hopeless(const query& q, index_t k, std::vector<open_pair>& open,
                      const cheapest& best) const {
    open.erase(std::remove_if(
                   open.begin(), open.end(),
                   [&](const open_pair& p) { return p.offset - most_gain(q, k, p) > best.cost; }),
               open.end());
  }

  [[nodiscard]] double self_of(index_t slot) const {
    return self_[static_cast<std::size_t>(slot - row_slots())];
  }

  [[nodiscard]] double total_gain(const query& q, index_t slot) const {
    if constexpr (totalled<Column>::value) {
      const index_t j = model_.columns() - 1;
      const double* t = q.statistics.data() + model_.offset(j);
      const double* s = clusters_[slot - row_slots()] + model_.offset(j);
      const auto of_counts = [&](double m) {
        const double counts[2] = {m, 0.0};
        return model_.column(j).log_marginal(counts);
      };
      return of_counts(t[0] + s[0]) - of_counts(t[0]) - of_counts(s[0]);
    } else {
      static_cast<void>(q);
      static_cast<void>(slot);
      return 0.0;
    }
  }

  /// Terms of counts and of their total rise and fall together: what the total's term changes by a
  /// count may be given to the counts, which brings bounds closer.
  void tilt_of_columns() {
    if constexpr (totalled<Column>::value) {
      for (index_t j = 0; j < model_.columns(); ++j) tilt_.push_back(model_.column(j).sign);
    }
  }
  [[nodiscard]] double slope(const gain_table& gains) const {
    if (tilt_.empty()) return 0.0;
    const auto& totals = rows_.levels(model_.columns() - 1);
    const double* term =
        gains.of_level.data() + (rows_.total_levels() - static_cast<index_t>(totals.size()));
    const std::size_t low = totals.size() / 4;
    const std::size_t high = totals.size() - 1 - low;
    return low < high ? (term[high] - term[low]) / (totals[high] - totals[low]) : 0.0;
  }

  [[nodiscard]] std::size_t width_of(index_t j) const {
    return static_cast<std::size_t>(model_.column(j).width());
  }
  [[nodiscard]] const double* level(index_t j, index_t v) const {
    return level_statistics_.data() + level_offset_[static_cast<std::size_t>(j)] +
           static_cast<std::size_t>(v) * width_of(j);
  }

  /// t ∪= the cluster in a slot.
  void add(double* t, index_t slot) const {
    if (slot >= row_slots()) {
      model_.merge(t, clusters_[slot - row_slots()]);
      return;
    }
    rows_.for_each_level(row_in(slot), [&](index_t j, index_t v) {
      merge_statistics(model_.column(j), t + model_.offset(j), level(j, v));
    });
  }

  /// A row's terms depend on its levels alone.
  void load_row(query& q, index_t row) const {
    double* out = q.gains.of_level.data();
    const double* pairs = level_pairs_.data();
    std::vector<double> scratch(static_cast<std::size_t>(model_.width()));
    const double* selves = level_self_.data();
    q.self = 0.0;
    rows_.for_each_level(row, [&](index_t j, index_t v) {
      const auto n = static_cast<index_t>(rows_.levels(j).size());
      q.self += selves[v];
      std::copy_n(level(j, v), model_.column(j).width(), q.statistics.data() + model_.offset(j));
      if (level_pairs_.empty()) {
        fill_column(j, level(j, v), selves[v], selves, scratch.data(), out);
      } else {
        std::copy_n(pairs + v * n, n, out);
        pairs += n * n;
      }
      out += n;
      selves += n;
    });
  }

  /// By the codes of the row alone; its statistics only where there are clusters.
  void load_row_by_pairs(query& q, index_t row) const {
    rows_.fill_pairs(row_pairs_, row, q.gains);
    if (bounds_.usable()) bounds_.fill_pairs(rows_, row, q.bounds);
    if (clusters_.size() == 0) return;
    q.statistics.resize(static_cast<std::size_t>(model_.width()));
    q.self = 0.0;
    const double* selves = level_self_.data();
    rows_.for_each_level(row, [&](index_t j, index_t v) {
      q.self += selves[v];
      selves += rows_.levels(j).size();
      std::copy_n(level(j, v), model_.column(j).width(), q.statistics.data() + model_.offset(j));
    });
    if constexpr (has_margins) {
      if (!searches()) return;
      q.margins.resize(static_cast<std::size_t>(margins_.ends()));
      margins_.compute(model_, q.statistics.data(), q.margins.data());
    }
  }

  void tabulate_row_pairs() {
    if (rows_.sparse() || level_pairs_.empty()) return;
    if (bounds_.usable()) {
      bounds_.tabulate_pairs(rows_, level_pairs_, tilt_, slope_of_rows());
      if (!bounds_.has_pairs()) return;
    }
    row_pairs_ = rows_.pairs_of_codes(level_pairs_);
    row_pairs_ready_ = true;
    level_pairs_ = {};
  }

  /// The slope of a row with a middling total.
  [[nodiscard]] double slope_of_rows() const {
    if (tilt_.empty()) return 0.0;
    const auto n = static_cast<index_t>(rows_.levels(model_.columns() - 1).size());
    gain_table gains;
    rows_.begin_fill(gains);
    std::copy_n(level_pairs_.end() - n * n + n / 2 * n, n, gains.of_level.end() - n);
    return slope(gains);
  }

  void tabulate_level_pairs() {
    if (shares_) return;
    constexpr index_t most = 131072;
    index_t pairs = 0;
    for (index_t j = 0; j < model_.columns(); ++j) {
      const auto n = static_cast<index_t>(rows_.levels(j).size());
      pairs += n * n;
      if (pairs > std::min(most, 64 * rows_.size())) return;
    }
    level_pairs_.resize(static_cast<std::size_t>(pairs));
    std::vector<double> scratch(static_cast<std::size_t>(model_.width()));
    double* out = level_pairs_.data();
    const double* selves = level_self_.data();
    for (index_t j = 0; j < model_.columns(); ++j) {
      const auto n = static_cast<index_t>(rows_.levels(j).size());
      for (index_t v = 0; v < n; ++v, out += n) {
        fill_column(j, level(j, v), selves[v], selves, scratch.data(), out);
      }
      selves += n;
    }
  }

  /// out[v] = the gain of a column's statistics t and its level v.
  void fill_column(index_t j, const double* t, double self, const double* selves, double* scratch,
                   double* out) const {
    const auto n = static_cast<index_t>(rows_.levels(j).size());
    for (index_t v = 0; v < n; ++v) {
      out[v] = Score::gain(model_.column(j), t, level(j, v), self, selves[v], scratch);
    }
  }

  void fill(query& q) const {
    std::vector<double> scratch(static_cast<std::size_t>(model_.width()));
    constexpr index_t many_levels = 32768;
    const bool paced = rows_.total_levels() > many_levels;
    index_t flat = 0;
    pacer pace;
    for (index_t j = 0; j < model_.columns(); ++j) {
      const auto levels = static_cast<index_t>(rows_.levels(j).size());
      if (paced) pace(work_a_level * levels);
      const double* t = q.statistics.data() + model_.offset(j);
      fill_column(j, t, Score::self(model_.column(j), t), level_self_.data() + flat, scratch.data(),
                  q.gains.of_level.data() + flat);
      flat += levels;
    }
  }

  function_tables tables_;
  independent<Column> model_;
  coded_table rows_;
  repeated_rows repeats_;
  bool shares_ = false;  ///< whether rows are searched by shared columns
  stored_cells cells_;
  kept_sums sums_;
  bool agglomerates_ = false;  ///< whether unions are searched for: only then have they sums
  std::vector<std::uint32_t> total_level_;  ///< of each row; one more than there are if retired
  row_bounds bounds_;
  margins_type margins_;
  std::vector<double> level_statistics_, level_self_;
  std::vector<std::size_t> level_offset_;
  std::vector<double> level_pairs_;  ///< of rows: column by column, level by level, their gains
  coded_table::pair_terms row_pairs_;
  bool row_pairs_ready_ = false;  ///< row_pairs_ and the bounds' serve in place of level_pairs_
  std::vector<double> tilt_;      ///< totalled: 1 for counts, -1 for their total
  statistics_block clusters_;
  std::vector<double> self_;
  std::vector<column_margin> own_margins_;
};

}  // namespace detail
}  // namespace bhclust

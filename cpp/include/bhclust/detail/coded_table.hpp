/// @file
/// A table as codes of its distinct cells, so that a sum of one term a column becomes a few
/// look-ups a row.
#pragma once

#include <bhclust/detail/cluster_store.hpp>
#include <bhclust/detail/sorting.hpp>
#include <bhclust/progress.hpp>
#include <bhclust/types.hpp>

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

namespace bhclust::detail {

/// The sums of a group's terms for rows against rows: by the code of the one, then of the other.
/// Dense tables only.
struct pair_terms {
  std::vector<double> of_code;
  std::vector<index_t> start;  ///< of each group
};

/// One term for each level of each column, and what coded_table makes of them; or, of the terms of
/// a row of the table with all others, that row.
struct gain_table {
  std::vector<double> of_level;      ///< column after column, in the order of coded_table::levels
  std::vector<double> of_code;       ///< the terms of groups of columns, ready for look-up
  bool coded = false;                ///< whether of_code is ready: a few sums do without
  double base = 0.0;                 ///< sparse rows: the sum over columns of the term of zero
  std::vector<const double*> pairs;  ///< in place of of_level: where each group's terms begin
};

/// Live rows of a table in slots 0 … size()-1. Dense: neighbouring columns whose joint levels are
/// at most 16 form a group with one code, an index into gain_table::of_code. Sparse: one code a
/// stored cell. NaN is a level of its own; sparse columns always have the level zero, their first.
class coded_table {
 public:
  explicit coded_table(const table_view& X) : sparse_(X.sparse()), size_(X.rows()) {
    find_levels(X);
    form_groups();
    if (!sparse_) list_levels_of_codes();
    code_rows(X);
  }

  [[nodiscard]] index_t size() const noexcept { return size_; }
  /// So many rows are summed in about a millisecond.
  [[nodiscard]] index_t rows_a_pulse() const noexcept {
    constexpr index_t look_ups = 1000000;
    return sparse_ ? 1024 : look_ups / (groups() + 1) + 1;
  }
  [[nodiscard]] bool sparse() const noexcept { return sparse_; }
  [[nodiscard]] index_t columns() const noexcept { return static_cast<index_t>(levels_.size()); }
  [[nodiscard]] index_t total_levels() const noexcept { return level_start_.back(); }
  [[nodiscard]] const std::vector<double>& levels(index_t j) const noexcept {
    return levels_[at(j)];
  }

  /// Calls f(column, level) for each column of a row, ascending.
  template <class F>
  void for_each_level(index_t slot, F&& f) const {
    if (sparse_) {
      for_each_sparse_level(slot, f);
      return;
    }
    for (index_t g = 0; g < groups(); ++g) {
      const std::uint32_t* level = levels_of(g, codes_[at(slot * groups() + g)]);
      for (index_t j = group_column_[at(g)]; j < group_column_[at(g) + 1]; ++j, ++level) {
        f(j, static_cast<index_t>(*level) - level_start_[at(j)]);
      }
    }
  }

  /// `level_pairs` has column by column, level by level, the terms of all levels.
  [[nodiscard]] pair_terms pairs_of_codes(const std::vector<double>& level_pairs) const {
    pair_terms made;
    gain_table gains;
    begin_fill(gains);
    gains.of_code.resize(at(group_start_.back()));
    const double* pairs = level_pairs.data();
    for (index_t g = 0; g < groups(); ++g) {
      made.start.push_back(static_cast<index_t>(made.of_code.size()));
      const index_t size = codes_of_group(g);
      const double* next = pairs;
      for (index_t own = 0; own < size; ++own) {
        next = pairs;
        split_code(g, static_cast<code>(own), [&](index_t j, index_t v) {
          const auto n = static_cast<index_t>(levels(j).size());
          std::copy_n(next + v * n, n, gains.of_level.data() + level_start_[at(j)]);
          next += n * n;
        });
        fill_group(g, gains);
        const double* filled = gains.of_code.data() + group_start_[at(g)];
        made.of_code.insert(made.of_code.end(), filled, filled + size);
      }
      pairs = next;
    }
    return made;
  }

  /// As for_each_level, of the stored cells of a sparse row.
  template <class F>
  void for_each_stored_level(index_t slot, F&& f) const {
    const auto [begin, end] = codes_of(slot);
    for (index_t k = begin; k < end; ++k) {
      const code c = codes_[at(k)];
      const index_t j = column_of(c);
      f(j, static_cast<index_t>(c) - group_start_[at(j)]);
    }
  }
  [[nodiscard]] index_t stored() const noexcept { return static_cast<index_t>(codes_.size()); }
  /// Where the levels of a column begin in gain_table::of_level.
  [[nodiscard]] index_t level_start(index_t j) const noexcept { return level_start_[at(j)]; }

  /// The sum of a sparse row as `sum` makes it where base is 0, with term(column, level) in place
  /// of gain_table::of_code.
  template <class F>
  [[nodiscard]] double sum_of_stored(index_t slot, F&& term) const {
    return sum_codes(slot, 0.0, [&](code c) {
      const index_t j = column_of(c);
      return term(j, static_cast<index_t>(c) - group_start_[at(j)]);
    });
  }

  /// Numbers in a gain_table.
  [[nodiscard]] index_t gain_width() const noexcept {
    return total_levels() + (by_levels() ? 0 : group_start_.back());
  }

  void begin_fill(gain_table& gains) const {
    gains.of_level.resize(at(level_start_.back()));
    gains.coded = false;
    gains.pairs.clear();
  }
  /// In place of it, for the terms of a row with all others.
  void fill_pairs(const pair_terms& pairs, index_t row, gain_table& gains) const {
    gains.coded = false;
    gains.pairs.clear();
    for (index_t g = 0; g < groups(); ++g) {
      const index_t own =
          static_cast<index_t>(codes_[at(row * groups() + g)]) - group_start_[at(g)];
      gains.pairs.push_back(pairs.of_code.data() + pairs.start[at(g)] + own * codes_of_group(g));
    }
  }

  /// Whether sums are look-ups already.
  [[nodiscard]] bool ready(const gain_table& gains) const noexcept {
    return gains.coded || codes_are_levels(gains);
  }

  /// Makes of_code where it is of use. What is not sparse is summed without as well, and a few rows
  /// sooner.
  void end_fill(gain_table& gains) const {
    if (codes_are_levels(gains)) return;
    gains.of_code.resize(at(group_start_.back()));
    gains.coded = true;
    if (sparse_) {
      fill_sparse(gains);
    } else if (!gains.pairs.empty()) {
      for (index_t g = 0; g < groups(); ++g) {
        std::copy_n(gains.pairs[at(g)], codes_of_group(g),
                    gains.of_code.data() + group_start_[at(g)]);
      }
    } else {
      for (index_t g = 0; g < groups(); ++g) fill_group(g, gains);
    }
  }

  /// out[s - begin] = the sum of a row's terms, for the rows in slots [begin, end).
  void sum(const gain_table& gains, index_t begin, index_t end, double* out) const {
    if (sparse_) {
      sum_sparse(gains, begin, end, out);
    } else if (gains.coded) {
      sum_dense(gains.of_code.data(), begin, end, out);
    } else if (ready(gains)) {
      sum_dense(gains.of_level.data(), begin, end, out);
    } else {
      for (index_t s = begin; s < end; ++s) {
        out[s - begin] = gains.pairs.empty() ? sum_of_levels(gains, s) : sum_of_pairs(gains, s);
      }
    }
  }

  /// For each row the number of the row it equals, different rows numbered as they first occur.
  [[nodiscard]] std::vector<index_t> numbered() const {
    std::size_t places = 16;
    while (places < 2 * at(size_)) places *= 2;
    std::vector<index_t> first(places, -1);  // by hash, the next free place on collision
    std::vector<index_t> number(at(size_));
    index_t count = 0;
    pacer pace;
    for (index_t s = 0; s < size_; ++s) {
      const auto [begin, end] = codes_of(s);
      pace(4 * (end - begin));
      std::size_t place = hash(begin, end) & (places - 1);
      while (first[place] >= 0 && !equal(first[place], s)) place = (place + 1) & (places - 1);
      if (first[place] < 0) {
        first[place] = s;
        number[at(s)] = count++;
      } else {
        number[at(s)] = number[at(first[place])];
      }
    }
    return number;
  }

  void keep(const std::vector<index_t>& kept) {
    std::size_t to = 0;
    std::vector<index_t> start{0};
    for (const index_t slot : kept) {
      const auto [first, last] = codes_of(slot);
      for (index_t k = first; k < last; ++k) codes_[to++] = codes_[at(k)];
      if (sparse_) start.push_back(static_cast<index_t>(to));
    }
    codes_.resize(to);
    if (sparse_) row_start_ = std::move(start);
    size_ = static_cast<index_t>(kept.size());
  }

 private:
  /// Searches sum few of the rows: groups are small, so that terms are quickly filled in.
  static constexpr index_t max_group = 16;
  using code = std::uint32_t;

  [[nodiscard]] static std::size_t at(index_t i) noexcept { return static_cast<std::size_t>(i); }
  [[nodiscard]] index_t groups() const noexcept {
    return static_cast<index_t>(group_column_.size()) - 1;
  }
  /// Whether each column has codes of its own: its levels.
  [[nodiscard]] bool by_levels() const noexcept { return !sparse_ && groups() == columns(); }
  [[nodiscard]] bool codes_are_levels(const gain_table& gains) const noexcept {
    return by_levels() && gains.pairs.empty();
  }

  /// Where the codes of a row begin and end.
  [[nodiscard]] std::pair<index_t, index_t> codes_of(index_t slot) const noexcept {
    if (sparse_) return {row_start_[at(slot)], row_start_[at(slot) + 1]};
    return {slot * groups(), (slot + 1) * groups()};
  }
  [[nodiscard]] bool equal(index_t a, index_t b) const {
    const auto [begin_a, end_a] = codes_of(a);
    const auto [begin_b, end_b] = codes_of(b);
    return std::equal(codes_.begin() + begin_a, codes_.begin() + end_a, codes_.begin() + begin_b,
                      codes_.begin() + end_b);
  }
  [[nodiscard]] std::size_t hash(index_t begin, index_t end) const noexcept {
    std::uint64_t h = 0;
    for (index_t k = begin; k < end; ++k) h = (h ^ codes_[at(k)]) * 0x9E3779B97F4A7C15U;
    return static_cast<std::size_t>(h >> 32U);
  }

  /// NaN after all numbers.
  [[nodiscard]] static bool before(double a, double b) noexcept {
    return is_missing(b) ? !is_missing(a) : a < b;
  }
  [[nodiscard]] static bool same(double a, double b) noexcept {
    return a == b || (is_missing(a) && is_missing(b));
  }

  void find_levels(const table_view& X) {
    levels_.resize(at(X.columns()));
    if (sparse_) {
      for (auto& column : levels_) column.push_back(0.0);
    }
    pacer pace;
    for (index_t i = 0; i < X.rows(); ++i) {
      const row_view row = X.row(i);
      pace(8 * row.stored());
      for (index_t k = 0; k < row.stored(); ++k)
        add_level(levels_[at(row.column(k))], row.value(k));
    }
    level_start_.push_back(0);
    for (auto& column : levels_) {
      sort_values(column, before);
      pace(4 * static_cast<index_t>(column.size()));
      column.erase(std::unique(column.begin(), column.end(), same), column.end());
      column.shrink_to_fit();
      level_start_.push_back(level_start_.back() + static_cast<index_t>(column.size()));
    }
  }

  /// Columns of few levels hold few at any time; those of many are sorted in the end.
  static void add_level(std::vector<double>& column, double x) {
    constexpr std::size_t few = 16;
    const std::size_t seen = std::min(column.size(), few);
    for (std::size_t k = 0; k < seen; ++k) {
      if (column[k] == x) return;
    }
    column.push_back(x);
  }

  /// Group g holds columns group_column_[g] … group_column_[g+1]-1, its codes begin at
  /// group_start_[g]; sparse columns are groups of their own.
  void form_groups() {
    group_column_.push_back(0);
    group_start_.push_back(0);
    index_t joint = 1;
    for (index_t j = 0; j < static_cast<index_t>(levels_.size()); ++j) {
      const auto here = static_cast<index_t>(levels(j).size());
      const bool closes = j > 0 && (sparse_ || joint * here > max_group);
      if (closes) {
        close_group(j, joint);
        joint = 1;
      }
      joint *= here;
    }
    close_group(static_cast<index_t>(levels_.size()), joint);
    constexpr index_t most_codes = 4294967296;  // 2^32, the range of `code`
    require(group_start_.back() < most_codes,
            "X has more than 2^32 distinct cells; round its values or split the table");
    if (!sparse_) return;
    for (index_t j = 0; j < groups(); ++j) {
      column_of_code_.resize(at(group_start_[at(j) + 1]), static_cast<std::uint32_t>(j));
    }
  }

  void list_levels_of_codes() {
    for (index_t g = 0; g < groups(); ++g) {
      level_of_code_start_.push_back(static_cast<index_t>(level_of_code_.size()) -
                                     group_start_[at(g)] * width_of(g));
      for (index_t c = 0; c < codes_of_group(g); ++c) {
        split_code(g, static_cast<code>(c), [&](index_t j, index_t v) {
          level_of_code_.push_back(static_cast<std::uint32_t>(level_start_[at(j)] + v));
        });
      }
    }
  }

  void close_group(index_t end_column, index_t joint) {
    group_column_.push_back(end_column);
    group_start_.push_back(group_start_.back() + joint);
  }

  [[nodiscard]] index_t level_of(index_t j, double x) const {
    const auto& column = levels(j);
    constexpr std::size_t few = 8;
    if (column.size() <= few && !is_missing(column.back())) {
      index_t below = 0;
      for (const double level : column) below += static_cast<index_t>(level < x);
      return below;
    }
    return std::lower_bound(column.begin(), column.end(), x, before) - column.begin();
  }

  void code_rows(const table_view& X) {
    pacer pace;
    if (sparse_) {
      row_start_.push_back(0);
    } else {
      codes_.reserve(at(X.rows() * groups()));
    }
    for (index_t i = 0; i < X.rows(); ++i) {
      const row_view row = X.row(i);
      pace(64 * row.stored());
      if (sparse_) {
        for (index_t k = 0; k < row.stored(); ++k) {
          const index_t j = row.column(k);
          if (row.value(k) == 0.0) continue;  // as if it were not stored
          push_code(group_start_[at(j)] + level_of(j, row.value(k)));
        }
        row_start_.push_back(static_cast<index_t>(codes_.size()));
        continue;
      }
      for (index_t g = 0; g < groups(); ++g) {
        index_t joint = 0;
        for (index_t j = group_column_[at(g) + 1] - 1; j >= group_column_[at(g)]; --j) {
          joint = joint * static_cast<index_t>(levels(j).size()) + level_of(j, row.value(j));
        }
        push_code(group_start_[at(g)] + joint);
      }
    }
  }

  void push_code(index_t c) { codes_.push_back(static_cast<code>(c)); }

  /// f(column, level) of the columns of a group.
  template <class F>
  void split_code(index_t g, code rest, F&& f) const {
    for (index_t j = group_column_[at(g)]; j < group_column_[at(g) + 1]; ++j) {
      const auto radix = static_cast<code>(levels(j).size());
      f(j, static_cast<index_t>(rest % radix));
      rest /= radix;
    }
  }

  template <class F>
  void for_each_sparse_level(index_t slot, F&& f) const {
    index_t j = 0;
    for (index_t k = row_start_[at(slot)]; k < row_start_[at(slot) + 1]; ++k) {
      const auto c = static_cast<index_t>(codes_[at(k)]);
      while (group_start_[at(j) + 1] <= c) f(j++, index_t{0});
      f(j, c - group_start_[at(j)]);
      ++j;
    }
    for (; j < static_cast<index_t>(levels_.size()); ++j) f(j, index_t{0});
  }

  void fill_group(index_t g, gain_table& gains) const {
    double* out = gains.of_code.data() + group_start_[at(g)];
    index_t filled = 1;
    out[0] = 0.0;
    for (index_t j = group_column_[at(g)]; j < group_column_[at(g) + 1]; ++j) {
      const double* term = gains.of_level.data() + level_start_[at(j)];
      for (auto v = static_cast<index_t>(levels(j).size()) - 1; v >= 0; --v) {
        for (index_t u = 0; u < filled; ++u) out[v * filled + u] = out[u] + term[v];
      }
      filled *= static_cast<index_t>(levels(j).size());
    }
  }

  void fill_sparse(gain_table& gains) const {
    gains.base = 0.0;
    for (index_t j = 0; j < groups(); ++j) {
      const index_t first = level_start_[at(j)];
      const double zero = gains.of_level[at(first)];
      gains.base += zero;
      for (index_t c = first; c < level_start_[at(j) + 1]; ++c) {
        gains.of_code[at(c)] = gains.of_level[at(c)] - zero;
      }
    }
  }

  [[nodiscard]] index_t width_of(index_t g) const noexcept {
    return group_column_[at(g) + 1] - group_column_[at(g)];
  }
  /// The places in gain_table::of_level of the levels that a code of a group stands for.
  [[nodiscard]] const std::uint32_t* levels_of(index_t g, code c) const noexcept {
    return level_of_code_.data() + level_of_code_start_[at(g)] +
           static_cast<index_t>(c) * width_of(g);
  }
  [[nodiscard]] index_t codes_of_group(index_t g) const noexcept {
    return group_start_[at(g) + 1] - group_start_[at(g)];
  }
  [[nodiscard]] double sum_of_pairs(const gain_table& gains, index_t slot) const noexcept {
    const code* c = codes_.data() + slot * groups();
    double sum = 0.0;
    for (index_t g = 0; g < groups(); ++g) {
      sum += gains.pairs[at(g)][static_cast<index_t>(c[g]) - group_start_[at(g)]];
    }
    return sum;
  }

  /// Groups one by one, as fill_group adds up their terms.
  [[nodiscard]] double sum_of_levels(const gain_table& gains, index_t slot) const noexcept {
    const double* term = gains.of_level.data();
    const code* c = codes_.data() + slot * groups();
    double sum = 0.0;
    for (index_t g = 0; g < groups(); ++g) {
      const std::uint32_t* level = levels_of(g, c[g]);
      const index_t width = width_of(g);
      double own = 0.0;
      for (index_t k = 0; k < width; ++k) own += term[level[k]];
      sum += own;
    }
    return sum;
  }

  /// Four rows at a time hide the latency of the additions; each row's order stays the same.
  void sum_dense(const double* term, index_t begin, index_t end, double* out) const {
    const index_t per_row = groups();
    index_t s = begin;
    for (; s + 4 <= end; s += 4) {
      const code* c = codes_.data() + s * per_row;
      double sums[4] = {0.0, 0.0, 0.0, 0.0};
      for (index_t g = 0; g < per_row; ++g) {
        sums[0] += term[c[g]];
        sums[1] += term[c[g + per_row]];
        sums[2] += term[c[g + 2 * per_row]];
        sums[3] += term[c[g + 3 * per_row]];
      }
      std::copy_n(sums, 4, out + (s - begin));
    }
    for (; s < end; ++s) {
      double sum = 0.0;
      for (index_t g = 0; g < per_row; ++g) sum += term[codes_[at(s * per_row + g)]];
      out[s - begin] = sum;
    }
  }

  /// Of a sparse code.
  [[nodiscard]] index_t column_of(code c) const noexcept { return column_of_code_[c]; }

  void sum_sparse(const gain_table& gains, index_t begin, index_t end, double* out) const {
    const double* term = gains.of_code.data();
    for (index_t s = begin; s < end; ++s) {
      out[s - begin] = sum_codes(s, gains.base, [term](code c) { return term[c]; });
    }
  }

  /// Four sums at a time for the same reason, in an order that depends on the row alone.
  template <class F>
  [[nodiscard]] double sum_codes(index_t slot, double base, F&& term) const {
    const code* c = codes_.data() + row_start_[at(slot)];
    const code* last = codes_.data() + row_start_[at(slot) + 1];
    double sums[4] = {base, 0.0, 0.0, 0.0};
    for (; last - c >= 4; c += 4) {
      for (int k = 0; k < 4; ++k) sums[k] += term(c[k]);
    }
    for (; c < last; ++c) sums[0] += term(*c);
    return (sums[0] + sums[1]) + (sums[2] + sums[3]);
  }

  bool sparse_;
  index_t size_;
  std::vector<std::vector<double>> levels_;
  std::vector<index_t> level_start_;
  std::vector<index_t> group_column_, group_start_;
  std::vector<code> codes_;
  std::vector<index_t> row_start_;
  std::vector<std::uint32_t> column_of_code_;  ///< sparse
  /// Dense: code by code, the places in gain_table::of_level of its columns' levels; where a
  /// group's begin, less what codes below its own would take.
  std::vector<std::uint32_t> level_of_code_;
  std::vector<index_t> level_of_code_start_;
};

}  // namespace bhclust::detail

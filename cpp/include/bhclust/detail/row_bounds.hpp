/// @file
/// Upper bounds of sums of one term a column, for all rows of a table at a fraction of the sums'
/// own time: rows that cannot win a search need no exact sum.
#pragma once

#include <bhclust/detail/coded_table.hpp>
#include <bhclust/detail/nibble_sums.hpp>
#include <bhclust/detail/nibbles.hpp>
#include <bhclust/progress.hpp>
#include <bhclust/types.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

namespace bhclust::detail {

/// What row_bounds makes of a gain_table. sum of a row <= top - step (penalty of the row - 1), the
/// one for the rounding of the sum.
struct bound_table {
  std::vector<double> tilted;        ///< the terms as row_bounds tilts them
  std::vector<double> below;         ///< of each class: how far it lies below its column's largest
  std::vector<std::uint16_t> parts;  ///< the same in 256ths of a step
  std::vector<index_t> place;        ///< of a row: where its levels' parts begin
  std::vector<std::uint8_t> penalties;  ///< 16 a group
  double slope = 0.0;                   ///< of the tilt
  std::vector<double> most, least;  ///< of each column: the largest term, the least of a class's
  double top = 0.0;
  double step = 0.0;  ///< 0: no bounds, because a term was not finite
};

/// The rows of a coded_table once more, in four bits a group of neighbouring columns: a column's
/// levels fall into classes, of which a group has 16 at most together. A class stands for the
/// largest of its levels' terms. Terms become penalties below the largest of their column, those of
/// a group are added up to whole steps, rounded down, so that a row's bound is a sum of small whole
/// numbers.
class row_bounds {
 public:
  static constexpr std::uint16_t never = 65535;  ///< the penalty of rows that were retired

  row_bounds() = default;
  explicit row_bounds(const coded_table& rows) {
    if (rows.total_levels() > most_levels * rows.columns()) return;
    choose_classes(rows);
    form_groups();
    if (!usable()) return;
    retired_.assign(at(blocks_for(rows.size()) * nibbles::rows), never);
    std::fill_n(retired_.begin(), rows.size(), std::uint16_t{0});
    code_rows(rows);
  }

  /// Tables of very many columns, or of columns of very many levels, are left to the exact sums.
  [[nodiscard]] bool usable() const noexcept { return groups_ > 0 && groups_ <= most_groups; }

  /// From now on `tilt[j]` times a slope and a level of column j are added to the level's term.
  /// This must not change any row's sum.
  void set_tilt(const coded_table& rows, const std::vector<double>& tilt) {
    for (std::size_t j = 0; j < tilt.size(); ++j) {
      for (const double level : rows.levels(static_cast<index_t>(j)))
        tilt_.push_back(tilt[j] * level);
    }
  }

  /// Fills `bounds` from gains.of_level.
  void fill(const gain_table& gains, double slope, bound_table& bounds) const {
    bounds.slope = slope;
    bounds.tilted.resize(tilt_.size());
    bounds.below.resize(class_start_.size());
    bounds.most.resize(at(columns()));
    bounds.least.resize(at(columns()));
    fill_columns(0, columns(), gains, bounds);
    finish_fill(bounds);
  }

  /// The same, with the same slope, where the terms of some columns alone are new.
  void fill_some(const gain_table& gains, const std::vector<index_t>& some,
                 bound_table& bounds) const {
    for (const index_t j : some) fill_columns(j, j + 1, gains, bounds);
    finish_fill(bounds);
  }

  /// Makes fill_pairs ready for queries that are rows. `level_pairs` has column by column, level by
  /// level, the terms of all levels; the tilt's slope is one for all.
  void tabulate_pairs(const std::vector<double>& level_pairs, double slope) {
    place_pairs();
    std::vector<double> below(at(pair_place_.back()));
    pair_most_.resize(at(level_start_.back()));
    std::vector<double> term(pair_most_.size());
    std::vector<double> of_class(class_start_.size());
    scale of_all;
    const double* pairs = level_pairs.data();
    for (index_t g = 0; g < groups_; ++g) {
      double range = 0.0;
      for_each_column(g, [&](index_t j) {
        double widest = 0.0;
        double largest_size = 0.0;
        const index_t first = level_start_[at(j)];
        const index_t n = level_start_[at(j) + 1] - first;
        for (index_t v = first; v < first + n; ++v, pairs += n) {
          std::copy_n(pairs, n, term.begin() + first);
          if (!tilt_.empty()) tilt_terms(at(first), at(first + n), term.data(), slope, term.data());
          take_largest(j, j + 1, term.data(), of_class.data());
          const auto seen = measure_down(j, of_class.data());
          std::copy_n(of_class.begin() + class_begin_[at(j)], classes(j),
                      below.begin() + pair_place_[at(v)]);
          pair_most_[at(v)] = seen.most;
          widest = std::fmax(widest, seen.most - seen.least);
          largest_size = std::fmax(largest_size, std::fabs(seen.most) + std::fabs(seen.least));
        }
        range += widest;
        of_all.size += largest_size;
      });
      of_all.range = std::fmax(of_all.range, range);
    }
    pair_step_ = step_of(of_all, of_all.size);
    if (pair_step_ > 0.0) into_parts(below, pair_step_, pair_parts_);
  }
  [[nodiscard]] bool has_pairs() const noexcept { return !pair_parts_.empty(); }

  /// As fill, for a query that is a row.
  void fill_pairs(const coded_table& rows, index_t row, bound_table& bounds) const {
    bounds.place.resize(at(columns()));
    bounds.top = 0.0;
    bounds.step = pair_step_;
    rows.for_each_level(row, [&](index_t j, index_t v) {
      const index_t level = level_start_[at(j)] + v;
      bounds.top += pair_most_[at(level)];
      bounds.place[at(j)] = pair_place_[at(level)];
    });
    add_up(pair_parts_.data(), bounds.place.data(), bounds);
  }

  /// The largest penalty of rows whose sum may reach `least`.
  [[nodiscard]] static std::uint16_t limit(const bound_table& bounds, double least) noexcept {
    constexpr double none = never - 1;
    if (bounds.step == 0.0) return never - 1;
    const double steps = (bounds.top - least) / bounds.step + 1.0;
    if (!(steps < none)) return never - 1;
    return steps < 0.0 ? 0 : static_cast<std::uint16_t>(steps);
  }

  /// Penalties of the 32 rows from slot 32 block on; `never` of retired rows.
  void block(const bound_table& bounds, index_t block, std::uint16_t* out) const noexcept {
    nibble_sums(codes_.data() + block * nibbles::bytes(groups_), bounds.penalties.data(), groups_,
                retired_.data() + block * nibbles::rows, out);
  }

  void retire(index_t slot) noexcept { retired_[at(slot)] = never; }

  void keep(const std::vector<index_t>& kept) {
    const auto size = static_cast<index_t>(kept.size());
    for (index_t s = 0; s < size; s += nibbles::rows) {
      keep_block(kept.data() + s, std::min(nibbles::rows, size - s), s / nibbles::rows);
    }
    retired_.resize(at(blocks_for(size) * nibbles::rows));
    codes_.resize(at(blocks_for(size) * nibbles::bytes(groups_)));
    for (auto s = size; s < static_cast<index_t>(retired_.size()); ++s) retire(s);
  }

 private:
  static constexpr index_t most_groups = 4096;
  static constexpr index_t most_levels = 512;
  /// Nats that penalties of a group resolve at most; lower terms count as this much below the top.
  static constexpr double deepest = 12.0;

  [[nodiscard]] static std::size_t at(index_t i) noexcept { return static_cast<std::size_t>(i); }
  [[nodiscard]] static index_t blocks_for(index_t rows) noexcept {
    return (rows + nibbles::rows - 1) / nibbles::rows;
  }
  /// Of all terms: the largest range of a group's sums, and the sum of sizes.
  struct scale {
    double range = 0.0, size = 1.0;
  };
  /// The largest and the least of a column's classes.
  struct extremes {
    double most, least;
  };

  [[nodiscard]] index_t columns() const noexcept { return static_cast<index_t>(group_.size()); }
  [[nodiscard]] index_t classes(index_t j) const noexcept {
    return class_begin_[at(j) + 1] - class_begin_[at(j)] - 1;
  }
  /// 0 where there are no bounds.
  [[nodiscard]] double step_of(const scale& of_all, double top) const noexcept {
    const double step = std::fmax(std::fmin(of_all.range, deepest) / cap(), 1e-12 * of_all.size);
    return std::isfinite(top) && std::isfinite(step) ? step : 0.0;
  }
  /// The largest penalty of a group.
  [[nodiscard]] std::uint16_t cap() const noexcept {
    return static_cast<std::uint16_t>(std::min<index_t>(255, (never - 1) / groups_));
  }

  template <class F>
  void for_each_column(index_t g, F&& f) const {
    if (g + 1 >= static_cast<index_t>(group_column_.size())) return;  // fills up to even
    for (index_t j = group_column_[at(g)]; j < group_column_[at(g) + 1]; ++j) f(j);
  }
  void choose_classes(const coded_table& rows) {
    std::vector<index_t> counts(at(rows.total_levels()), 0);
    level_start_.push_back(0);
    for (index_t j = 0; j < rows.columns(); ++j) {
      level_start_.push_back(level_start_.back() + static_cast<index_t>(rows.levels(j).size()));
    }
    pacer pace;
    for (index_t s = 0; s < rows.size(); ++s) {
      pace(4 * rows.columns());
      rows.for_each_level(s, [&](index_t j, index_t v) { ++counts[at(level_start_[at(j)] + v)]; });
    }
    class_.resize(counts.size());
    for (index_t j = 0; j < rows.columns(); ++j) {
      class_begin_.push_back(static_cast<index_t>(class_start_.size()));
      divide(counts.data() + level_start_[at(j)], level_start_[at(j) + 1] - level_start_[at(j)],
             rows.size(), class_.data() + level_start_[at(j)]);
    }
    class_begin_.push_back(static_cast<index_t>(class_start_.size()));
    list_levels();
  }

  void list_levels() {
    first_level_.reserve(class_start_.size());
    for (index_t j = 0; j + 1 < static_cast<index_t>(class_begin_.size()); ++j) {
      const index_t* start = class_start_.data() + class_begin_[at(j)];
      const index_t classes = class_begin_[at(j) + 1] - class_begin_[at(j)] - 1;
      further_begin_.push_back(static_cast<index_t>(further_.size()));
      for (index_t k = 0; k < classes; ++k) {
        first_level_.push_back(level_start_[at(j)] + start[k]);
        for (index_t v = start[k] + 1; v < start[k + 1]; ++v)
          further_.emplace_back(level_start_[at(j)] + v, class_begin_[at(j)] + k);
      }
      first_level_.push_back(level_start_[at(j)]);  // any: of no class
    }
    further_begin_.push_back(static_cast<index_t>(further_.size()));
  }

  /// Classes of neighbouring levels, at most 16, none of fewer than a 64th of the rows if it can be
  /// helped; levels of which there are few keep theirs.
  void divide(const index_t* counts, index_t levels, index_t rows, std::uint8_t* of) {
    constexpr index_t few = 4;
    index_t left = rows;
    index_t here = 0;
    index_t k = 0;
    class_start_.push_back(0);
    for (index_t v = 0; v < levels; ++v) {
      of[v] = static_cast<std::uint8_t>(k);
      here += counts[v];
      const bool enough = here * 64 >= rows && here * (nibbles::entries - k) >= left;
      if (v + 1 < levels && (levels <= few || (enough && k + 1 < nibbles::entries))) {
        ++k;
        class_start_.push_back(v + 1);
        left -= here;
        here = 0;
      }
    }
    class_start_.push_back(levels);
  }

  void form_groups() {
    index_t joint = nibbles::entries + 1;  // full: the first column opens the first group
    for (std::size_t j = 0; j + 1 < class_begin_.size(); ++j) {
      const index_t classes = class_begin_[j + 1] - class_begin_[j] - 1;
      if (joint * classes > nibbles::entries) {
        group_column_.push_back(static_cast<index_t>(group_.size()));
        joint = 1;
      }
      group_.push_back(static_cast<index_t>(group_column_.size()) - 1);
      factor_.push_back(joint);
      joint *= classes;
    }
    group_column_.push_back(static_cast<index_t>(group_.size()));
    const auto filled = static_cast<index_t>(group_column_.size()) - 1;
    groups_ = filled + filled % 2;
    for (index_t j = 0; j < columns(); ++j) {
      for (index_t k = 0; k < nibbles::entries; ++k) {
        class_in_code_.push_back(static_cast<std::uint8_t>(k / factor_[at(j)] % classes(j)));
      }
    }
  }

  void code_rows(const coded_table& rows) {
    codes_.assign(at(blocks_for(rows.size()) * nibbles::bytes(groups_)), 0);
    std::vector<std::uint8_t> share(class_.size());  // of a level in its group's code
    for (index_t j = 0; j < columns(); ++j) {
      for (index_t v = level_start_[at(j)]; v < level_start_[at(j) + 1]; ++v) {
        share[at(v)] = static_cast<std::uint8_t>(factor_[at(j)] * class_[at(v)]);
      }
    }
    std::vector<unsigned> code(at(groups_));
    pacer pace;
    for (index_t s = 0; s < rows.size(); ++s) {
      pace(8 * rows.columns());
      std::fill(code.begin(), code.end(), 0U);
      rows.for_each_level(s, [&](index_t j, index_t v) {
        code[at(group_[at(j)])] += share[at(level_start_[at(j)] + v)];
      });
      std::uint8_t* to = codes_.data() + nibbles::byte_of(s, groups_);
      const unsigned shift = nibbles::shift(s % nibbles::rows);
      for (index_t g = 0; g < groups_; ++g, to += 16) {
        *to = static_cast<std::uint8_t>(*to | code[at(g)] << shift);
      }
    }
  }

  /// Fills a block with the codes of rows that come no earlier.
  void keep_block(const index_t* kept, index_t count, index_t block) noexcept {
    index_t from[nibbles::rows] = {};
    unsigned shift[nibbles::rows] = {};
    std::uint16_t retired[nibbles::rows] = {};
    for (index_t i = 0; i < count; ++i) {
      from[i] = nibbles::byte_of(kept[i], groups_);
      shift[i] = nibbles::shift(kept[i] % nibbles::rows);
      retired[i] = retired_[at(kept[i])];
    }
    std::copy_n(retired, nibbles::rows, retired_.begin() + block * nibbles::rows);
    const std::uint8_t* source = codes_.data();
    std::uint8_t* target = codes_.data() + block * nibbles::bytes(groups_);
    for (index_t g = 0; g < groups_; ++g, source += 16, target += 16) {
      std::uint8_t made[16];
      for (index_t i = 0; i < 16; ++i) {
        const unsigned low = (unsigned{source[from[i]]} >> shift[i]) & 15U;
        const unsigned high = (unsigned{source[from[16 + i]]} >> shift[16 + i]) & 15U;
        made[i] = static_cast<std::uint8_t>(low | high << 4U);
      }
      std::copy_n(made, 16, target);
    }
  }

  void fill_columns(index_t begin, index_t end, const gain_table& gains,
                    bound_table& bounds) const {
    const double* term = gains.of_level.data();
    if (!tilt_.empty()) {
      tilt_terms(at(level_start_[at(begin)]), at(level_start_[at(end)]), term, bounds.slope,
                 bounds.tilted.data());
      term = bounds.tilted.data();
    }
    take_largest(begin, end, term, bounds.below.data());
    for (index_t j = begin; j < end; ++j) {
      const auto seen = measure_down(j, bounds.below.data());
      bounds.most[at(j)] = seen.most;
      bounds.least[at(j)] = seen.least;
    }
  }

  /// Penalties of all columns.
  void finish_fill(bound_table& bounds) const {
    scale of_all;
    bounds.top = 0.0;
    for (index_t g = 0; g < groups_; ++g) {
      double range = 0.0;
      for_each_column(g, [&](index_t j) {
        const extremes seen{bounds.most[at(j)], bounds.least[at(j)]};
        bounds.top += seen.most;
        range += seen.most - seen.least;
        of_all.size += std::fabs(seen.most) + std::fabs(seen.least);
      });
      of_all.range = std::fmax(of_all.range, range);
    }
    bounds.step = step_of(of_all, bounds.top);
    if (bounds.step == 0.0) return;
    into_parts(bounds.below, bounds.step, bounds.parts);
    add_up(bounds.parts.data(), class_begin_.data(), bounds);
  }

  void tilt_terms(std::size_t begin, std::size_t end, const double* term, double slope,
                  double* out) const noexcept {
    const double* tilt = tilt_.data();
    for (std::size_t v = begin; v < end; ++v) out[v] = term[v] + slope * tilt[v];
  }

  /// The largest term of each class of the columns [begin, end), -inf if none is a number.
  void take_largest(index_t begin, index_t end, const double* term, double* of_class) const {
    constexpr double infinite = std::numeric_limits<double>::infinity();
    const index_t* first = first_level_.data();
    for (index_t c = class_begin_[at(begin)]; c < class_begin_[at(end)]; ++c) {
      of_class[c] = larger(term[first[c]], -infinite);
    }
    for (index_t i = further_begin_[at(begin)]; i < further_begin_[at(end)]; ++i) {
      const auto [level, c] = further_[at(i)];
      of_class[c] = larger(term[level], of_class[c]);
    }
  }

  /// From the largest terms of a column's classes to how far they lie below their largest; what is
  /// no number lies as far as can be told.
  extremes measure_down(index_t j, double* of_class) const noexcept {
    constexpr double infinite = std::numeric_limits<double>::infinity();
    extremes seen{-infinite, infinite};
    const index_t last = class_begin_[at(j) + 1] - 1;
    for (index_t c = class_begin_[at(j)]; c < last; ++c) {
      seen.most = larger(of_class[c], seen.most);
      seen.least = of_class[c] < seen.least ? of_class[c] : seen.least;
    }
    for (index_t c = class_begin_[at(j)]; c < last; ++c) of_class[c] = seen.most - of_class[c];
    of_class[last] = 0.0;  // no class, the end of the column's
    return seen;
  }
  /// The second where the first is no number.
  [[nodiscard]] static double larger(double first, double second) noexcept {
    return first > second ? first : second;
  }

  /// Rounded down.
  static void into_parts(const std::vector<double>& below, double step,
                         std::vector<std::uint16_t>& parts) {
    constexpr double limit = 65535.0;
    const double parts_a_nat = 256.0 / step;
    const std::size_t count = below.size();
    parts.resize(count + nibbles::entries);  // sums_of_values reads on
    const double* from = below.data();
    std::uint16_t* to = parts.data();
    for (std::size_t i = 0; i < count; ++i) {
      const double all = from[i] * parts_a_nat;
      to[i] = static_cast<std::uint16_t>(static_cast<std::int32_t>(all < limit ? all : limit));
    }
  }

  void place_pairs() {
    pair_place_.assign(1, 0);
    for (index_t j = 0; j < columns(); ++j) {
      for (index_t v = level_start_[at(j)]; v < level_start_[at(j) + 1]; ++v) {
        pair_place_.push_back(pair_place_.back() + classes(j));
      }
    }
  }

  /// Penalties of groups' codes; place[j] is where those of column j begin.
  void add_up(const std::uint16_t* parts, const index_t* place, bound_table& bounds) const {
    bounds.penalties.resize(at(groups_ * nibbles::entries));
    std::uint8_t* out = bounds.penalties.data();
    const index_t* first = group_column_.data();
    const auto filled = static_cast<index_t>(group_column_.size()) - 1;
    const std::uint8_t* index = class_in_code_.data();
    const std::uint16_t most = cap();
    for (index_t g = 0; g < filled; ++g) {
      sums_of_values(parts, place + first[g], index + first[g] * nibbles::entries,
                     first[g + 1] - first[g], most, out + g * nibbles::entries);
    }
    std::fill_n(out + filled * nibbles::entries, (groups_ - filled) * nibbles::entries,
                std::uint8_t{0});  // fills up to even
  }

  std::vector<index_t> level_start_;  ///< of each column
  std::vector<std::uint8_t> class_;   ///< of each level
  std::vector<index_t> class_begin_;  ///< of each column, in class_start_
  std::vector<index_t> class_start_;  ///< the first level of each class, and the end
  std::vector<index_t> first_level_;  ///< of each class, counted through all columns
  std::vector<std::pair<index_t, index_t>> further_;  ///< other levels, and the class of each
  std::vector<index_t> further_begin_;                ///< of each column
  std::vector<double> tilt_;                          ///< of each level; empty: none
  std::vector<index_t> group_, factor_;  ///< of each column: its group, its radix there
  std::vector<index_t> group_column_;    ///< the first column of each group
  index_t groups_ = 0;
  std::vector<std::uint8_t> codes_;
  std::vector<std::uint16_t> retired_;
  std::vector<std::uint8_t> class_in_code_;  ///< 16 a column: its class in each code of its group
  std::vector<double> pair_most_;            ///< of each level with all others of its column
  std::vector<index_t> pair_place_;          ///< where its parts begin
  std::vector<std::uint16_t> pair_parts_;
  double pair_step_ = 0.0;
};

}  // namespace bhclust::detail

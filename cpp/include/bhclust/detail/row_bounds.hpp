/// @file
/// Upper bounds of sums of one term a column, for all rows of a table at a fraction of the sums'
/// own time: rows that cannot win a search need no exact sum.
#pragma once

#include <bhclust/detail/coded_table.hpp>
#include <bhclust/detail/nibble_sums.hpp>
#include <bhclust/progress.hpp>
#include <bhclust/types.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

namespace bhclust::detail {

/// What row_bounds makes of a gain_table. sum of a row <= top - step (penalty of the row - 1), the
/// one for the rounding of the sum.
struct bound_table {
  std::vector<double> values;           ///< 16 a group
  std::vector<std::uint8_t> penalties;  ///< 16 a group
  std::vector<double> most;             ///< the largest of a group's values
  double top = 0.0;
  double step = 0.0;  ///< 0: no bounds, because a term was not finite
};

/// The rows of a coded_table once more, in four bits a group of neighbouring columns: a column's
/// levels fall into classes, of which a group has 16 at most together. A class stands for the
/// largest of its levels' terms. A group's terms become whole penalties below its largest, rounded
/// down, so that a row's bound is a sum of small whole numbers.
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
    codes_.assign(at(blocks_for(rows.size()) * nibbles::bytes(groups_)), 0);
    pacer pace;
    for (index_t s = 0; s < rows.size(); ++s) {
      pace(8 * rows.columns());
      retired_[at(s)] = 0;
      rows.for_each_level(s, [&](index_t j, index_t v) { add_code(s, j, class_of(j, v)); });
    }
  }

  /// Tables of very many columns, or of columns of very many levels, are left to the exact sums.
  [[nodiscard]] bool usable() const noexcept { return groups_ > 0 && groups_ <= most_groups; }

  /// Fills `bounds` from gains.of_level; `tilt[j] * slope` times a level is added to its term,
  /// which must not change any row's sum. An empty tilt is none.
  void fill(const coded_table& rows, const gain_table& gains, const std::vector<double>& tilt,
            double slope, bound_table& bounds) const {
    bounds.values.assign(at(groups_ * nibbles::entries), -std::numeric_limits<double>::infinity());
    bounds.penalties.resize(at(groups_ * nibbles::entries));
    bounds.most.resize(at(groups_));
    bounds.top = 0.0;
    double size = 1.0;
    double range = 0.0;
    for (index_t g = 0; g < groups_; ++g) {
      double* value = bounds.values.data() + g * nibbles::entries;
      const index_t joint = fill_group(rows, gains, tilt, slope, g, value);
      const double least = smallest_of(value, joint);
      const double most = largest_of(value);
      bounds.most[at(g)] = most;
      bounds.top += most;
      size += std::fabs(most) + std::fabs(least);
      range = std::fmax(range, most - least);
    }
    bounds.step = step_of(range, size);
    if (!std::isfinite(bounds.top) || !std::isfinite(bounds.step)) {
      bounds.step = 0.0;
      return;
    }
    for (index_t g = 0; g < groups_; ++g) {
      penalties(bounds.values.data() + g * nibbles::entries, bounds.most[at(g)], 1.0 / bounds.step,
                bounds.penalties.data() + g * nibbles::entries);
    }
  }

  /// Makes fill_pairs ready for queries that are rows. `level_pairs` has column by column, level by
  /// level, the terms of all levels; the tilt's slope is one for all.
  void tabulate_pairs(const coded_table& rows, const std::vector<double>& level_pairs,
                      const std::vector<double>& tilt, double slope) {
    if (!count_pairs(rows)) return;
    std::vector<double> values(at(pair_start_.back() * nibbles::entries),
                               -std::numeric_limits<double>::infinity());
    pair_most_.resize(at(pair_start_.back()));
    double size = 1.0;
    double range = 0.0;
    gain_table gains;
    rows.begin_fill(gains);
    const double* pairs = level_pairs.data();
    for (index_t g = 0; g < groups_; ++g) {
      double largest_size = 0.0;
      for (index_t p = pair_start_[at(g)]; p < pair_start_[at(g) + 1]; ++p) {
        take_pairs(rows, pairs, g, p - pair_start_[at(g)], gains);
        double* value = values.data() + p * nibbles::entries;
        const index_t joint = fill_group(rows, gains, tilt, slope, g, value);
        const double least = smallest_of(value, joint);
        const double most = largest_of(value);
        pair_most_[at(p)] = most;
        range = std::fmax(range, most - least);
        largest_size = std::fmax(largest_size, std::fabs(most) + std::fabs(least));
      }
      size += largest_size;
      for_each_column(g, [&](index_t j) { pairs += squared_levels(rows, j); });
    }
    pair_step_ = step_of(range, size);
    if (!std::isfinite(size) || !std::isfinite(pair_step_)) return;
    pair_penalties_.resize(values.size());
    for (index_t p = 0; p < pair_start_.back(); ++p) {
      penalties(values.data() + p * nibbles::entries, pair_most_[at(p)], 1.0 / pair_step_,
                pair_penalties_.data() + p * nibbles::entries);
    }
  }
  [[nodiscard]] bool has_pairs() const noexcept { return !pair_penalties_.empty(); }

  /// As fill, for a query that is a row.
  void fill_pairs(const coded_table& rows, index_t row, bound_table& bounds) const {
    bounds.penalties.resize(at(groups_ * nibbles::entries));
    bounds.top = 0.0;
    bounds.step = pair_step_;
    index_t g = 0;
    index_t p = 0;
    index_t factor = 1;
    const auto close = [&] {
      p += pair_start_[at(g)];
      bounds.top += pair_most_[at(p)];
      std::copy_n(pair_penalties_.data() + p * nibbles::entries, nibbles::entries,
                  bounds.penalties.data() + g * nibbles::entries);
      ++g;
      p = 0;
      factor = 1;
    };
    rows.for_each_level(row, [&](index_t j, index_t v) {
      if (group_[at(j)] != g) close();
      p += factor * v;
      factor *= level_start_[at(j) + 1] - level_start_[at(j)];
    });
    while (g < groups_) close();
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
    index_t to = 0;
    for (const index_t from : kept) move(from, to++);
    retired_.resize(at(blocks_for(to) * nibbles::rows));
    codes_.resize(at(blocks_for(to) * nibbles::bytes(groups_)));
    for (auto s = to; s < static_cast<index_t>(retired_.size()); ++s) retire(s);
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
  [[nodiscard]] double step_of(double range, double size) const noexcept {
    return std::fmax(std::fmin(range, deepest) / cap(), 1e-12 * size);
  }
  /// The largest penalty of a group.
  [[nodiscard]] double cap() const noexcept {
    return static_cast<double>(std::min<index_t>(255, (never - 1) / groups_));
  }

  template <class F>
  void for_each_column(index_t g, F&& f) const {
    if (g + 1 >= static_cast<index_t>(group_column_.size())) return;  // fills up to even
    for (index_t j = group_column_[at(g)]; j < group_column_[at(g) + 1]; ++j) f(j);
  }
  [[nodiscard]] static index_t squared_levels(const coded_table& rows, index_t j) noexcept {
    const auto n = static_cast<index_t>(rows.levels(j).size());
    return n * n;
  }

  /// Whether joint levels of groups are few enough for a table of their own.
  bool count_pairs(const coded_table& rows) {
    const index_t most = std::min<index_t>(65536, 4 * rows.size());
    pair_start_.assign(1, 0);
    for (index_t g = 0; g < groups_; ++g) {
      index_t joint = 1;
      for_each_column(g, [&](index_t j) {
        joint = std::min(most, joint * static_cast<index_t>(rows.levels(j).size()));
      });
      pair_start_.push_back(pair_start_.back() + joint);
    }
    return pair_start_.back() < most;
  }

  /// The terms of the columns of a group with those of its joint level `own`.
  void take_pairs(const coded_table& rows, const double* pairs, index_t g, index_t own,
                  gain_table& gains) const {
    for_each_column(g, [&](index_t j) {
      const auto n = static_cast<index_t>(rows.levels(j).size());
      std::copy_n(pairs + own % n * n, n, gains.of_level.data() + level_start_[at(j)]);
      own /= n;
      pairs += n * n;
    });
  }

  [[nodiscard]] index_t class_of(index_t j, index_t v) const noexcept {
    return class_[at(level_start_[at(j)] + v)];
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
  }

  void add_code(index_t slot, index_t j, index_t k) noexcept {
    const index_t g = group_[at(j)];
    std::uint8_t* block = codes_.data() + slot / nibbles::rows * nibbles::bytes(groups_);
    const index_t row = slot % nibbles::rows;
    nibbles::set(block, g, row,
                 nibbles::get(block, g, row) + static_cast<unsigned>(factor_[at(j)] * k));
  }

  void move(index_t from, index_t to) noexcept {
    if (from == to) return;
    const std::uint8_t* source = codes_.data() + from / nibbles::rows * nibbles::bytes(groups_);
    std::uint8_t* target = codes_.data() + to / nibbles::rows * nibbles::bytes(groups_);
    for (index_t g = 0; g < groups_; ++g) {
      nibbles::set(target, g, to % nibbles::rows, nibbles::get(source, g, from % nibbles::rows));
    }
    retired_[at(to)] = retired_[at(from)];
  }

  /// The largest terms of a group's classes; how many there are.
  index_t fill_group(const coded_table& rows, const gain_table& gains,
                     const std::vector<double>& tilt, double slope, index_t g,
                     double* value) const {
    index_t joint = 1;
    value[0] = 0.0;
    for_each_column(g, [&](index_t j) {
      const double* term = gains.of_level.data() + level_start_[at(j)];
      const double* level = tilt.empty() ? nullptr : rows.levels(j).data();
      const double factor = tilt.empty() ? 0.0 : tilt[at(j)] * slope;
      const index_t* start = class_start_.data() + class_begin_[at(j)];
      const index_t classes = class_begin_[at(j) + 1] - class_begin_[at(j)] - 1;
      for (index_t k = classes - 1; k >= 0; --k) {
        const double most = level == nullptr ? largest(term, start[k], start[k + 1])
                                             : largest(term, level, factor, start[k], start[k + 1]);
        for (index_t u = 0; u < joint; ++u) value[k * joint + u] = value[u] + most;
      }
      joint *= classes;
    });
    return joint;
  }

  /// The largest of a group's 16 values; of NaN or another.
  [[nodiscard]] static double largest_of(const double* value) noexcept {
    double most[lanes::count];
    larger(lanes::load(value + lanes::count), lanes::load(value)).store(most);
    for (index_t k = 0; k < 4; ++k) most[k] = most[k] > most[k + 4] ? most[k] : most[k + 4];
    const double first = most[0] > most[1] ? most[0] : most[1];
    const double second = most[2] > most[3] ? most[2] : most[3];
    return first > second ? first : second;
  }
  [[nodiscard]] static double smallest_of(const double* value, index_t count) noexcept {
    double least[4] = {value[0], value[0], value[0], value[0]};
    for (index_t k = 0; k < count; ++k) {
      least[k % 4] = value[k] < least[k % 4] ? value[k] : least[k % 4];
    }
    const double first = least[0] < least[1] ? least[0] : least[1];
    const double second = least[2] < least[3] ? least[2] : least[3];
    return first < second ? first : second;
  }

  /// The largest of term[begin … end-1]; NaN, which is no row's best, is passed over.
  [[nodiscard]] static double largest(const double* term, index_t begin, index_t end) noexcept {
    double most = term[begin];
    for (index_t v = begin + 1; v < end; ++v) most = term[v] > most ? term[v] : most;
    return most;
  }
  /// The same of term + factor * level.
  [[nodiscard]] static double largest(const double* term, const double* level, double factor,
                                      index_t begin, index_t end) noexcept {
    double most = term[begin] + factor * level[begin];
    for (index_t v = begin + 1; v < end; ++v) {
      const double here = term[v] + factor * level[v];
      most = here > most ? here : most;
    }
    return most;
  }

  /// Whole steps that a group's values lie below its largest.
  void penalties(const double* value, double most, double steps_a_nat,
                 std::uint8_t* penalty) const noexcept {
    const double limit = cap();
    // three loops, each of which the compiler turns into vectors
    double steps[nibbles::entries];
    std::int32_t whole[nibbles::entries];
    for (index_t k = 0; k < nibbles::entries; ++k) {
      const double all = (most - value[k]) * steps_a_nat;
      steps[k] = all < limit ? all : limit;
    }
    for (index_t k = 0; k < nibbles::entries; ++k) whole[k] = static_cast<std::int32_t>(steps[k]);
    for (index_t k = 0; k < nibbles::entries; ++k) penalty[k] = static_cast<std::uint8_t>(whole[k]);
  }

  std::vector<index_t> level_start_;     ///< of each column
  std::vector<std::uint8_t> class_;      ///< of each level
  std::vector<index_t> class_begin_;     ///< of each column, in class_start_
  std::vector<index_t> class_start_;     ///< the first level of each class, and the end
  std::vector<index_t> group_, factor_;  ///< of each column: its group, its radix there
  std::vector<index_t> group_column_;    ///< the first column of each group
  index_t groups_ = 0;
  std::vector<std::uint8_t> codes_;
  std::vector<std::uint16_t> retired_;
  std::vector<index_t> pair_start_;  ///< of each group, in the joint levels of all
  std::vector<double> pair_most_;
  std::vector<std::uint8_t> pair_penalties_;
  double pair_step_ = 0.0;
};

}  // namespace bhclust::detail

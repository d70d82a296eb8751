/// @file
/// Rows of a table that are equal, so that searches look at each different row once.
#pragma once

#include <bhclust/detail/cluster_store.hpp>
#include <bhclust/types.hpp>

#include <algorithm>
#include <utility>
#include <vector>

namespace bhclust::detail {

/// The slots of rows, and which of the different rows each holds. Of the live slots of one row the
/// earliest stands for all: they cost the same, and it wins their ties.
class repeated_rows {
 public:
  /// Every row is different from all others.
  repeated_rows() = default;
  /// `row_of[slot]`: the different rows numbered in the order in which they first occur.
  explicit repeated_rows(std::vector<index_t> row_of)
      : row_(std::move(row_of)), live_(row_.size(), 1) {
    link();
  }

  [[nodiscard]] bool any() const noexcept { return !row_.empty(); }
  [[nodiscard]] index_t slots() const noexcept { return static_cast<index_t>(row_.size()); }
  [[nodiscard]] index_t row(index_t slot) const noexcept { return row_[at(slot)]; }

  /// The row's live slots, ascending: first(row), next(slot), … until -1.
  [[nodiscard]] index_t first(index_t row) const noexcept { return first_[at(row)]; }
  [[nodiscard]] index_t next(index_t slot) const noexcept { return next_[at(slot)]; }

  /// No row from there on has a live slot below `end`.
  [[nodiscard]] index_t rows_before(index_t end) const noexcept {
    return std::lower_bound(least_from_.begin(), least_from_.end(), end) - least_from_.begin();
  }

  /// Takes a slot out; whether it was the last live one of its row.
  bool retire(index_t slot) noexcept {
    if (std::exchange(live_[at(slot)], char{0}) == 0) return false;
    const index_t before = previous_[at(slot)];
    const index_t after = next_[at(slot)];
    (before < 0 ? first_[at(row(slot))] : next_[at(before)]) = after;
    if (after >= 0) previous_[at(after)] = before;
    return first(row(slot)) < 0;
  }

  /// Keeps the named slots (ascending); the rows they hold (ascending), numbered anew from 0.
  std::vector<index_t> keep(const std::vector<index_t>& kept) {
    keep_entries(row_, kept);
    keep_entries(live_, kept);
    std::vector<index_t> rows = row_;
    std::sort(rows.begin(), rows.end());
    rows.erase(std::unique(rows.begin(), rows.end()), rows.end());
    std::vector<index_t> number(first_.size(), -1);
    for (std::size_t r = 0; r < rows.size(); ++r) number[at(rows[r])] = static_cast<index_t>(r);
    for (auto& r : row_) r = number[at(r)];
    link();
    return rows;
  }

 private:
  [[nodiscard]] static std::size_t at(index_t i) noexcept { return static_cast<std::size_t>(i); }

  void link() {
    const index_t rows = row_.empty() ? 0 : *std::max_element(row_.begin(), row_.end()) + 1;
    first_.assign(at(rows), -1);
    next_.assign(row_.size(), -1);
    previous_.assign(row_.size(), -1);
    for (index_t s = slots() - 1; s >= 0; --s) {
      if (live_[at(s)] == 0) continue;
      index_t& first = first_[at(row(s))];
      if (first >= 0) previous_[at(first)] = s;
      next_[at(s)] = std::exchange(first, s);
    }
    least_from_ = first_;
    index_t least = slots();
    for (auto r = least_from_.rbegin(); r != least_from_.rend(); ++r) {
      if (*r >= 0) least = std::min(least, *r);
      *r = least;
    }
  }

  std::vector<index_t> row_;
  std::vector<char> live_;
  std::vector<index_t> first_, next_, previous_;
  std::vector<index_t> least_from_;  ///< of rows from there on, at the last link()
};

}  // namespace bhclust::detail

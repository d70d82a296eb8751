/// @file
/// The rows of a table in slots, of which equal ones are looked at once.
#pragma once

#include <bhclust/detail/cluster_store.hpp>
#include <bhclust/detail/coded_table.hpp>
#include <bhclust/detail/repeated_rows.hpp>
#include <bhclust/types.hpp>

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

namespace bhclust::detail {

/// A search among the slots [begin, end).
struct slot_search {
  index_t begin, end;
  const cost_offsets& offset;
  cheapest& best;
};

/// A coded table and the slots its rows are in: one each, or of equal rows several, if there are
/// many of these.
class distinct_rows {
 public:
  /// Shares equal rows, if asked to, where that saves a quarter of them.
  distinct_rows(const table_view& X, bool share) : table_(X) {
    if (share) share_equal();
  }

  [[nodiscard]] const coded_table& table() const noexcept { return table_; }
  [[nodiscard]] index_t slots() const noexcept {
    return repeats_.any() ? repeats_.slots() : table_.size();
  }
  [[nodiscard]] index_t row_in(index_t slot) const noexcept {
    return repeats_.any() ? repeats_.row(slot) : slot;
  }
  /// Whether each slot has a row of its own.
  [[nodiscard]] bool one_each() const noexcept { return !repeats_.any(); }

  /// The rows that a search among the slots [begin, end) has to look at.
  [[nodiscard]] std::pair<index_t, index_t> rows_in(index_t begin, index_t end) const noexcept {
    if (one_each()) return {begin, end};
    return {0, repeats_.rows_before(end)};
  }

  /// Takes a slot out; whether no other one has its row.
  [[nodiscard]] bool retire(index_t slot) noexcept { return one_each() || repeats_.retire(slot); }

  /// Keeps the named slots (ascending); the rows in them (ascending), numbered anew from 0.
  std::vector<index_t> keep(std::vector<index_t> kept) {
    if (!one_each()) kept = repeats_.keep(kept);
    table_.keep(kept);
    return kept;
  }

  /// A row's gain, to its earliest live slot. A lower bound on its cost comes first: few rows are
  /// worth asking for their offset.
  void take(const slot_search& search, index_t row, double gain) const {
    if (search.offset.row() - gain > search.best.cost) return;
    if (one_each()) {
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

 private:
  void share_equal() {
    if (table_.size() < 2) return;
    std::vector<index_t> row_of = table_.numbered();
    const index_t different = *std::max_element(row_of.begin(), row_of.end()) + 1;
    if (different > table_.size() - table_.size() / 4) return;
    std::vector<index_t> kept;
    for (index_t s = 0; s < table_.size(); ++s) {
      if (row_of[static_cast<std::size_t>(s)] == static_cast<index_t>(kept.size())) {
        kept.push_back(s);
      }
    }
    table_.keep(kept);
    repeats_ = repeated_rows(std::move(row_of));
  }

  coded_table table_;
  repeated_rows repeats_;
};

}  // namespace bhclust::detail

/// @file
/// Rows that are equal: at no cost from each other in every divergence, so that they are joined
/// before all others.
#pragma once

#include <bhclust/progress.hpp>
#include <bhclust/types.hpp>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <vector>

namespace bhclust::detail {

/// An open table of things that are found by a hash, numbered from 0 as they come.
class numbering {
 public:
  explicit numbering(index_t most) {
    std::size_t size = 16;
    const auto n = static_cast<std::size_t>(most);
    while (size < n + n / 2) size *= 2;
    entry_.assign(size, -1);
  }

  /// The number of the one that `equal(number)` says it is, or `next` for what is new.
  template <class Equal>
  [[nodiscard]] index_t find(std::uint64_t hash, index_t next, const Equal& equal) {
    const std::size_t mask = entry_.size() - 1;
    std::size_t here = static_cast<std::size_t>(hash) & mask;
    for (; entry_[here] >= 0; here = (here + 1) & mask) {
      if (equal(index_t{entry_[here]})) return entry_[here];
    }
    entry_[here] = static_cast<std::int32_t>(next);
    return next;
  }

 private:
  std::vector<std::int32_t> entry_;
};

/// Takes another word into a hash.
[[nodiscard]] inline std::uint64_t hashed(std::uint64_t hash, std::uint64_t word) noexcept {
  hash = (hash ^ word) * 0x9E3779B97F4A7C15U;
  return hash ^ hash >> 32U;
}

/// Groups of equal rows, numbered in order of their first row. -0 equals 0, missing cells equal
/// each other, and zeros need not be stored.
class equal_rows {
 public:
  explicit equal_rows(const table_view& X) : X_(X) {
    numbering known(X.rows());
    group_.reserve(static_cast<std::size_t>(X.rows()));
    pacer pace;
    for (index_t i = 0; i < X.rows(); ++i) {
      const row_view row = X.row(i);
      pace(8 * row.stored());
      const auto next = static_cast<index_t>(first_.size());
      const index_t group = known.find(hash_of(row), next, [&](index_t g) {
        return same(row, X_.row(first_[static_cast<std::size_t>(g)]));
      });
      if (group == next) first_.push_back(i);
      group_.push_back(static_cast<std::int32_t>(group));
    }
  }

  [[nodiscard]] index_t groups() const noexcept { return static_cast<index_t>(first_.size()); }
  [[nodiscard]] const std::vector<std::int32_t>& group_of_row() const noexcept { return group_; }

 private:
  /// 0 for cells that change nothing.
  [[nodiscard]] static std::uint64_t bits_of(double x) noexcept {
    if (is_missing(x)) return ~std::uint64_t{0};
    if (x == 0.0) return 0;
    std::uint64_t bits = 0;
    std::memcpy(&bits, &x, sizeof(bits));
    return bits;
  }

  [[nodiscard]] static std::uint64_t hash_of(const row_view& row) noexcept {
    std::uint64_t hash = 0;
    for (index_t k = 0; k < row.stored(); ++k) {
      const std::uint64_t bits = bits_of(row.value(k));
      if (bits == 0) continue;
      hash = hashed(hashed(hash, bits), static_cast<std::uint64_t>(row.column(k)));
    }
    return hash;
  }

  [[nodiscard]] static bool same(const row_view& a, const row_view& b) noexcept {
    index_t k = 0;
    index_t l = 0;
    for (;;) {
      while (k < a.stored() && bits_of(a.value(k)) == 0) ++k;
      while (l < b.stored() && bits_of(b.value(l)) == 0) ++l;
      if (k == a.stored() || l == b.stored()) return k == a.stored() && l == b.stored();
      if (a.column(k) != b.column(l) || bits_of(a.value(k)) != bits_of(b.value(l))) return false;
      ++k;
      ++l;
    }
  }

  table_view X_;
  std::vector<std::int32_t> group_;
  std::vector<index_t> first_;
};

/// Joins the rows of each group in a balanced tree: the two oldest nodes first, groups in order.
/// join(a, b) makes the next node; root(group, node, rows) is told what it ends in.
template <class Join, class Root>
void join_equal_rows(const std::vector<std::int32_t>& group_of_row, index_t groups,
                     const Join& join, const Root& root) {
  std::vector<index_t> start(static_cast<std::size_t>(groups) + 1, 0);
  for (const auto g : group_of_row) ++start[static_cast<std::size_t>(g) + 1];
  for (std::size_t g = 1; g < start.size(); ++g) start[g] += start[g - 1];
  std::vector<index_t> rows(group_of_row.size());
  auto next = start;
  for (std::size_t i = 0; i < group_of_row.size(); ++i) {
    const auto g = static_cast<std::size_t>(group_of_row[i]);
    rows[static_cast<std::size_t>(next[g]++)] = static_cast<index_t>(i);
  }
  std::vector<index_t> queue;
  auto made = static_cast<index_t>(group_of_row.size());
  for (std::size_t g = 0; g + 1 < start.size(); ++g) {
    queue.assign(rows.begin() + start[g], rows.begin() + start[g + 1]);
    const auto size = static_cast<index_t>(queue.size());
    for (std::size_t i = 0; i + 1 < queue.size(); i += 2) {
      join(queue[i], queue[i + 1]);
      queue.push_back(made++);
    }
    root(static_cast<index_t>(g), queue.back(), size);
  }
}

}  // namespace bhclust::detail

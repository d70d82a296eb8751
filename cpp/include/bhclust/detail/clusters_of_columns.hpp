/// @file
/// Which clusters have counts in a column.
#pragma once

#include <bhclust/detail/sparse_counts.hpp>
#include <bhclust/types.hpp>

#include <algorithm>
#include <cstdint>
#include <vector>

namespace bhclust::detail {

/// The cells of sparse clusters column by column. A search that adds up terms of shared columns
/// costs what is shared, not what the clusters have.
class clusters_of_columns {
 public:
  struct entry {
    std::uint32_t cluster;
    double count;
    double own;  ///< the column's log marginal likelihood of the count alone
  };

  explicit clusters_of_columns(index_t columns) : entries_(static_cast<std::size_t>(columns)) {}

  /// The clusters with counts in a column, ascending.
  [[nodiscard]] const std::vector<entry>& operator[](index_t j) const noexcept {
    return entries_[static_cast<std::size_t>(j)];
  }

  /// The entries of a column from a cluster on.
  template <class Entries>
  [[nodiscard]] static auto first_from(Entries& entries, index_t cluster) {
    return std::lower_bound(entries.begin(), entries.end(), cluster, [](const entry& e, index_t c) {
      return static_cast<index_t>(e.cluster) < c;
    });
  }

  /// A cluster younger than all others; `own(column, count)` as in entry.
  template <class Own>
  void add(index_t cluster, const sparse_counts& counts, Own&& own) {
    for (const auto& cell : counts.cells) {
      entries_[cell.column].push_back({static_cast<std::uint32_t>(cluster), cell.sums.count,
                                       own(static_cast<index_t>(cell.column), cell.sums.count)});
    }
  }

  void remove(index_t cluster, const sparse_counts& counts) {
    for (const auto& cell : counts.cells) {
      auto& entries = entries_[cell.column];
      const auto found = first_from(entries, cluster);
      if (found != entries.end() && found->cluster == cluster) entries.erase(found);
    }
  }

  /// Keeps the named clusters (ascending) and numbers them anew, of `size`.
  void keep(const std::vector<index_t>& kept, index_t size) {
    constexpr std::uint32_t gone = 0xFFFFFFFFU;
    std::vector<std::uint32_t> number(static_cast<std::size_t>(size), gone);
    for (std::size_t c = 0; c < kept.size(); ++c) {
      number[static_cast<std::size_t>(kept[c])] = static_cast<std::uint32_t>(c);
    }
    for (auto& entries : entries_) {
      for (auto& e : entries) e.cluster = number[e.cluster];
      entries.erase(std::remove_if(entries.begin(), entries.end(),
                                   [](const entry& e) { return e.cluster == gone; }),
                    entries.end());
    }
  }

 private:
  std::vector<std::vector<entry>> entries_;
};

}  // namespace bhclust::detail

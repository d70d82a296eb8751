/// @file
/// Sparse rows against clusters by the columns that both have cells in.
#pragma once

#include <bhclust/detail/cluster_store.hpp>
#include <bhclust/detail/coded_table.hpp>
#include <bhclust/progress.hpp>
#include <bhclust/types.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

namespace bhclust::detail {

/// The stored cells of a sparse coded_table column by column, all but the last column's.
class stored_cells {
 public:
  struct cell {
    std::uint32_t row, level;
  };

  stored_cells() = default;
  explicit stored_cells(const coded_table& rows) : start_(at(rows.columns()) + 1, 0) {
    const index_t last = rows.columns() - 1;
    pacer pace;
    for (index_t s = 0; s < rows.size(); ++s) {
      rows.for_each_stored_level(s, [&](index_t j, index_t) { start_[at(j) + 1] += j < last; });
    }
    for (std::size_t j = 1; j < start_.size(); ++j) start_[j] += start_[j - 1];
    cells_.resize(at(start_.back()));
    std::vector<index_t> next = start_;
    for (index_t s = 0; s < rows.size(); ++s) {
      pace(64);
      rows.for_each_stored_level(s, [&](index_t j, index_t v) {
        if (j == last) return;
        cells_[at(next[at(j)]++)] = {static_cast<std::uint32_t>(s), static_cast<std::uint32_t>(v)};
      });
    }
  }

  /// A column's cells, by row.
  [[nodiscard]] span<const cell> operator[](index_t j) const noexcept {
    return {cells_.data() + start_[at(j)], start_[at(j) + 1] - start_[at(j)]};
  }

 private:
  [[nodiscard]] static std::size_t at(index_t i) noexcept { return static_cast<std::size_t>(i); }

  std::vector<index_t> start_;
  std::vector<cell> cells_;
};

/// One cluster's sum over shared columns with every row, and what rounding may have done to it.
struct shared_sums {
  index_t cluster = 0;
  index_t columns = 0;  ///< that the cluster has cells in: what a new start would cost
  double updates = 0.0, size = 0.0;
  std::vector<double> of_row;

  [[nodiscard]] double rounding() const noexcept { return rounding_of(updates, size); }
  /// So many terms were added, which are so large together.
  [[nodiscard]] static double rounding_of(double updates, double size) noexcept {
    return 4e-16 * (updates + 8.0) * size;
  }
};

/// The sums of some clusters, of those that would cost the most to make anew.
class kept_sums {
 public:
  kept_sums() = default;
  explicit kept_sums(index_t rows)
      : most_(static_cast<std::size_t>(std::clamp<index_t>(budget / (rows + 1), 1, 256))) {}

  [[nodiscard]] const shared_sums* find(index_t cluster) const noexcept {
    const auto found = where(cluster);
    return found == sums_.end() ? nullptr : &*found;
  }

  /// Takes the sums of a cluster out; empty if there are none.
  [[nodiscard]] shared_sums take(index_t cluster) {
    const auto found = where(cluster);
    if (found == sums_.end()) return {};
    shared_sums taken = std::move(sums_[static_cast<std::size_t>(found - sums_.begin())]);
    sums_.erase(found);
    return taken;
  }

  void put(shared_sums sums) {
    if (sums_.size() >= most_) {
      sums_.erase(std::min_element(sums_.begin(), sums_.end(), [](const auto& a, const auto& b) {
        return a.columns < b.columns;
      }));
    }
    sums_.push_back(std::move(sums));
  }

  /// Keeps the named clusters and rows (ascending).
  void keep(const std::vector<index_t>& clusters, const std::vector<index_t>& rows) {
    std::vector<shared_sums> kept;
    for (auto& sums : sums_) {
      const auto found = std::lower_bound(clusters.begin(), clusters.end(), sums.cluster);
      if (found == clusters.end() || *found != sums.cluster) continue;
      sums.cluster = found - clusters.begin();
      keep_entries(sums.of_row, rows);
      kept.push_back(std::move(sums));
    }
    sums_ = std::move(kept);
  }

 private:
  static constexpr index_t budget = 1000000;  ///< numbers that are kept

  [[nodiscard]] std::vector<shared_sums>::const_iterator where(index_t cluster) const noexcept {
    return std::find_if(sums_.begin(), sums_.end(),
                        [=](const auto& sums) { return sums.cluster == cluster; });
  }

  std::size_t most_ = 1;
  std::vector<shared_sums> sums_;
};

}  // namespace bhclust::detail

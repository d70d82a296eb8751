/// @file
/// A table as the distinct points that Ward's method begins with.
#pragma once

#include <bhclust/detail/parallel.hpp>
#include <bhclust/detail/robust.hpp>
#include <bhclust/detail/ward_clusters.hpp>
#include <bhclust/progress.hpp>
#include <bhclust/types.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

namespace bhclust::detail {

/// A merge of two nodes, the older one first.
struct ward_merge {
  ward_id a, b;
  double cost;
};

/// Rows in units of √2 σ, counted from the middle of each column and scaled by a power of two into
/// [-1, 1]. Equal rows are one point from the start: a merge of them costs 0, so that it comes
/// before all others. The two oldest nodes of a group are joined first, groups in order of their
/// first row; the trees over equal rows are balanced.
class ward_points {
 public:
  /// Whether the rows can be told apart in these units: all cells are there, none is so far away
  /// that squares overflow.
  [[nodiscard]] static bool takes(const table_view& X, const std::vector<double>& unit) {
    constexpr double farthest = 1e100;
    constexpr index_t most_rows = 536870912;  // 2^29: ward_id numbers twice as many nodes
    if (X.sparse() || X.rows() > most_rows) return false;
    pacer pace;
    for (index_t i = 0; i < X.rows(); ++i) {
      pace(X.columns());
      const row_view row = X.row(i);
      for (index_t j = 0; j < X.columns(); ++j) {
        if (!(std::fabs(row.value(j)) < farthest * unit[at(j)])) return false;
      }
    }
    return true;
  }

  ward_points(const table_view& X, const std::vector<double>& unit)
      : clusters_(X.columns()), middle_(middle_of(X)), unit_(unit) {
    scale_ = scale_of(X);
    collect(X);
  }

  /// d* is this times the cost between the clusters.
  [[nodiscard]] double cost_unit() const noexcept { return 1.0 / (scale_ * scale_); }
  [[nodiscard]] std::vector<ward_merge> take_merges() noexcept { return std::move(merges_); }
  [[nodiscard]] ward_clusters take_clusters() noexcept { return std::move(clusters_); }

 private:
  [[nodiscard]] static std::size_t at(index_t i) noexcept { return static_cast<std::size_t>(i); }

  void read(const row_view& row, double* y) const noexcept {
    // + 0 turns -0 into 0: equal numbers are equal bits
    for (index_t j = 0; j < clusters_.columns(); ++j) {
      y[j] = (row.value(j) - middle_[at(j)]) / unit_[at(j)] * scale_ + 0.0;
    }
  }

  [[nodiscard]] double scale_of(const table_view& X) const {
    double farthest = 0.0;
    pacer pace;
    for (index_t i = 0; i < X.rows(); ++i) {
      pace(2 * X.columns());
      const row_view row = X.row(i);
      for (index_t j = 0; j < X.columns(); ++j) {
        farthest = std::max(farthest, std::fabs((row.value(j) - middle_[at(j)]) / unit_[at(j)]));
      }
    }
    int exponent = 0;
    std::frexp(farthest, &exponent);
    return farthest == 0.0 ? 1.0 : std::ldexp(1.0, std::clamp(-exponent, -500, 500));
  }

  void collect(const table_view& X) {
    const index_t n = X.rows();
    clusters_.reserve(n);
    std::vector<double> y(at(X.columns()));
    std::vector<ward_id> table(table_size(n), -1);
    std::vector<ward_id> slot_of_row(at(n));
    pacer pace;
    for (index_t i = 0; i < n; ++i) {
      pace(8 * X.columns());
      read(X.row(i), y.data());
      slot_of_row[at(i)] =
          slot_of(y.data(), static_cast<ward_id>(i), static_cast<double>(X.weight(i)), table);
    }
    if (clusters_.slots() < n) join_equal(X, slot_of_row);
  }

  [[nodiscard]] static std::size_t table_size(index_t n) noexcept {
    std::size_t size = 16;
    while (size < at(n) + at(n) / 2) size *= 2;
    return size;
  }

  /// The slot of an equal point, or a new one.
  [[nodiscard]] ward_id slot_of(const double* y, ward_id row, double weight,
                                std::vector<ward_id>& table) {
    const std::size_t mask = table.size() - 1;
    const auto bytes = at(clusters_.columns()) * sizeof(double);
    std::size_t here = hash_of(y) & mask;
    for (; table[here] >= 0; here = (here + 1) & mask) {
      if (std::memcmp(clusters_.mean(table[here]), y, bytes) == 0) return table[here];
    }
    table[here] = static_cast<ward_id>(clusters_.slots());
    clusters_.append(y, weight, row);
    return table[here];
  }

  [[nodiscard]] std::size_t hash_of(const double* y) const noexcept {
    std::uint64_t h = 0;
    for (index_t j = 0; j < clusters_.columns(); ++j) {
      std::uint64_t bits = 0;
      std::memcpy(&bits, y + j, sizeof(bits));
      h = (h ^ bits) * 0x9E3779B97F4A7C15U;
      h ^= h >> 32U;
    }
    return static_cast<std::size_t>(h);
  }

  void join_equal(const table_view& X, const std::vector<ward_id>& slot_of_row) {
    std::vector<ward_id> start(at(clusters_.slots()) + 1, 0);
    for (const ward_id s : slot_of_row) ++start[at(s) + 1];
    for (std::size_t s = 1; s < start.size(); ++s) start[s] += start[s - 1];
    std::vector<ward_id> rows(slot_of_row.size());
    auto next = start;
    for (std::size_t i = 0; i < slot_of_row.size(); ++i) {
      rows[at(next[at(slot_of_row[i])]++)] = static_cast<ward_id>(i);
    }
    std::vector<ward_id> queue;
    auto made = static_cast<ward_id>(slot_of_row.size());
    for (index_t s = 0; s < clusters_.slots(); ++s) {
      queue.assign(rows.begin() + start[at(s)], rows.begin() + start[at(s) + 1]);
      double size = 0.0;
      for (const ward_id i : queue) size += static_cast<double>(X.weight(i));
      for (std::size_t i = 0; i + 1 < queue.size(); i += 2) {
        merges_.push_back({queue[i], queue[i + 1], 0.0});
        queue.push_back(made++);
      }
      clusters_.rename(s, size, queue.back());
    }
  }

  ward_clusters clusters_;
  std::vector<double> middle_, unit_;
  double scale_ = 1.0;
  std::vector<ward_merge> merges_;
};

}  // namespace bhclust::detail

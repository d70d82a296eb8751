/// @file
/// A table as the distinct points that Ward's method begins with.
#pragma once

#include <bhclust/detail/equal_rows.hpp>
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
    numbering known(n);
    std::vector<ward_id> slot_of_row;
    slot_of_row.reserve(at(n));
    pacer pace;
    for (index_t i = 0; i < n; ++i) {
      pace(8 * X.columns());
      read(X.row(i), y.data());
      const auto weight = static_cast<double>(X.weight(i));
      slot_of_row.push_back(slot_of(y.data(), static_cast<ward_id>(i), weight, known));
    }
    if (clusters_.slots() < n) join_equal(X, slot_of_row);
  }

  /// The slot of an equal point, or a new one.
  [[nodiscard]] ward_id slot_of(const double* y, ward_id row, double weight, numbering& known) {
    const auto bytes = at(clusters_.columns()) * sizeof(double);
    const index_t next = clusters_.slots();
    const index_t slot = known.find(
        hash_of(y), next, [&](index_t s) { return std::memcmp(clusters_.mean(s), y, bytes) == 0; });
    if (slot == next) clusters_.append(y, weight, row);
    return static_cast<ward_id>(slot);
  }

  [[nodiscard]] std::uint64_t hash_of(const double* y) const noexcept {
    std::uint64_t h = 0;
    for (index_t j = 0; j < clusters_.columns(); ++j) {
      std::uint64_t bits = 0;
      std::memcpy(&bits, y + j, sizeof(bits));
      h = hashed(h, bits);
    }
    return h;
  }

  void join_equal(const table_view& X, const std::vector<ward_id>& slot_of_row) {
    std::vector<double> size(at(clusters_.slots()), 0.0);
    for (std::size_t i = 0; i < slot_of_row.size(); ++i) {
      size[at(slot_of_row[i])] += static_cast<double>(X.weight(static_cast<index_t>(i)));
    }
    join_equal_rows(
        slot_of_row, clusters_.slots(),
        [&](index_t a, index_t b) {
          merges_.push_back({static_cast<ward_id>(a), static_cast<ward_id>(b), 0.0});
        },
        [&](index_t slot, index_t node, index_t) {
          clusters_.rename(slot, size[at(slot)], static_cast<ward_id>(node));
        });
  }

  ward_clusters clusters_;
  std::vector<double> middle_, unit_;
  double scale_ = 1.0;
  std::vector<ward_merge> merges_;
};

}  // namespace bhclust::detail

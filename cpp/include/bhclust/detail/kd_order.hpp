/// @file
/// An order of points in which neighbours in space are mostly neighbours in memory.
#pragma once

#include <bhclust/detail/parallel.hpp>
#include <bhclust/detail/ward_clusters.hpp>
#include <bhclust/progress.hpp>
#include <bhclust/types.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <tuple>
#include <utility>
#include <vector>

namespace bhclust::detail {

/// Slots of a panel.
inline constexpr index_t panel_width = 48;

/// So many panels are looked at together.
inline constexpr index_t panels_together = 8;

/// Where a run of `panels` panels is split in two; both the order and the tree over it follow it.
/// Runs of more than 8 are split so that all of the tree's leaves but the last have 8.
[[nodiscard]] inline index_t left_panels(index_t panels) noexcept {
  if (panels <= panels_together) return (panels + 1) / 2;
  return std::max<index_t>(1, (panels + panels_together) / (2 * panels_together)) * panels_together;
}

/// The k-d order of all slots: halves at the median of the widest column, again and again, down to
/// panels of `width` slots of which all but the last are full. O(n log n), the same for any number
/// of threads.
template <class Clusters>
class kd_order {
 public:
  kd_order(const Clusters& clusters, index_t width)
      : clusters_(clusters), width_(width), order_(static_cast<std::size_t>(clusters.slots())) {
    for (std::size_t i = 0; i < order_.size(); ++i) order_[i] = static_cast<ward_id>(i);
  }

  [[nodiscard]] std::vector<ward_id> make(thread_team& team, progress_meter& progress) && {
    constexpr std::size_t branches = 64;
    std::vector<run> open{{0, static_cast<index_t>(order_.size())}};
    std::vector<key> keys(order_.size());
    // The first levels one after the other, each by all threads as far as it has runs.
    while (open.size() < branches && longest(open) > 64 * width_) {
      std::vector<run> halves(2 * open.size());
      team.run(
          static_cast<index_t>(open.size()),
          [&](int, index_t r) {
            const auto i = static_cast<std::size_t>(r);
            std::tie(halves[2 * i], halves[2 * i + 1]) = split(open[i], keys);
          },
          [&] { progress.tick(); });
      open = std::move(halves);
    }
    team.run(
        static_cast<index_t>(open.size()),
        [&](int, index_t r) { finish(open[static_cast<std::size_t>(r)], keys); },
        [&] { progress.tick(); });
    return std::move(order_);
  }

 private:
  struct run {
    index_t begin, end;
    [[nodiscard]] index_t size() const noexcept { return end - begin; }
  };
  /// A coordinate, in bits that compare as the numbers do, above the slot.
  using key = std::uint64_t;

  [[nodiscard]] static index_t longest(const std::vector<run>& runs) noexcept {
    index_t most = 0;
    for (const auto& r : runs) most = std::max(most, r.size());
    return most;
  }

  void finish(run whole, std::vector<key>& keys) {
    std::vector<run> open{whole};
    pacer pace;
    while (!open.empty()) {
      const run next = open.back();
      open.pop_back();
      if (next.size() <= width_) continue;
      pace(32 * next.size());
      const auto [left, right] = split(next, keys);
      open.push_back(left);
      open.push_back(right);
    }
  }

  [[nodiscard]] std::pair<run, run> split(run r, std::vector<key>& keys) {
    const index_t panels = (r.size() + width_ - 1) / width_;
    if (panels < 2) return {r, {r.end, r.end}};
    const index_t middle = r.begin + left_panels(panels) * width_;
    const index_t column = widest(r);
    const auto at = [&keys](index_t i) { return keys.begin() + static_cast<std::ptrdiff_t>(i); };
    for (index_t i = r.begin; i < r.end; ++i) {
      const ward_id slot = order_[static_cast<std::size_t>(i)];
      keys[static_cast<std::size_t>(i)] = key_of(clusters_.mean(slot)[column], slot);
    }
    std::nth_element(at(r.begin), at(middle), at(r.end));
    for (index_t i = r.begin; i < r.end; ++i) {
      order_[static_cast<std::size_t>(i)] =
          static_cast<ward_id>(keys[static_cast<std::size_t>(i)] & 0xFFFFFFFFU);
    }
    return {{r.begin, middle}, {middle, r.end}};
  }

  [[nodiscard]] static key key_of(double x, ward_id slot) noexcept {
    const auto rounded = static_cast<float>(x);
    std::uint32_t bits = 0;
    std::memcpy(&bits, &rounded, sizeof(bits));
    bits = (bits & 0x80000000U) != 0 ? ~bits : bits | 0x80000000U;
    return (key{bits} << 32U) | static_cast<std::uint32_t>(slot);
  }

  /// The column with the largest mean absolute deviation among some of the run's points: a range
  /// would follow a single wild point.
  [[nodiscard]] index_t widest(run r) const {
    constexpr index_t looked_at = 128;
    const index_t d = clusters_.columns();
    if (d == 1) return 0;
    const index_t step = std::max<index_t>(1, r.size() / looked_at);
    std::vector<double> sum(static_cast<std::size_t>(d), 0.0);
    std::vector<double> spread(static_cast<std::size_t>(d), 0.0);
    double count = 0.0;
    for (index_t i = r.begin; i < r.end; i += step, count += 1.0) {
      const double* x = clusters_.mean(order_[static_cast<std::size_t>(i)]);
      for (index_t j = 0; j < d; ++j) sum[static_cast<std::size_t>(j)] += x[j];
    }
    for (index_t i = r.begin; i < r.end; i += step) {
      const double* x = clusters_.mean(order_[static_cast<std::size_t>(i)]);
      for (index_t j = 0; j < d; ++j) {
        spread[static_cast<std::size_t>(j)] +=
            std::fabs(x[j] - sum[static_cast<std::size_t>(j)] / count);
      }
    }
    return std::max_element(spread.begin(), spread.end()) - spread.begin();
  }

  const Clusters& clusters_;
  index_t width_;
  std::vector<ward_id> order_;
};

}  // namespace bhclust::detail

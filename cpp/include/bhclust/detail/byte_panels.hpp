/// @file
/// Clusters in bytes: which of many may be near, where boxes exclude hardly any.
#pragma once

#include <bhclust/detail/parallel.hpp>
#include <bhclust/detail/simd.hpp>
#include <bhclust/detail/ward_clusters.hpp>
#include <bhclust/progress.hpp>
#include <bhclust/types.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <vector>

namespace bhclust::detail {

/// Slots in panels of 48, means rounded to whole multiples of a unit that one signed byte holds.
/// Rounded points x, y of squared length below 2^15 have a dot product of 16 bits, which may be
/// summed modulo 2^16, and what each is off by is known: |x - y| is at least |x̂ - ŷ| - e_x - e_y.
/// So a cluster of cost B or less has
///     x̂ ŷ >= |x̂|²/2 + |ŷ|²/2 - B (1/n_x + 1/n_y)/2 - k/2,  k = 2 r e + e²,
/// with e the largest e_x + e_y and r the largest distance that B allows. Whole numbers: every
/// instruction set lets the same clusters pass. Points that bytes do not hold always pass.
template <class Clusters>
class byte_panels {
 public:
  static constexpr index_t width = 48;
  /// Queries that are asked together.
  static constexpr index_t together = byte_products_together;

  explicit byte_panels(const Clusters& clusters)
      : clusters_(clusters),
        d_(clusters.columns()),
        pairs_((d_ + 1) / 2),
        allowed_(allowed_error(d_)) {}

  /// Whether rounded points of so many columns are of use.
  [[nodiscard]] static bool takes(index_t columns) noexcept {
    return multiplies_bytes && columns >= 4 && columns <= 4096;
  }

  [[nodiscard]] bool empty() const noexcept { return half_square_.empty(); }
  void clear() {
    code_ = {};
    half_square_ = {};
    share_ = {};
    square_ = {};
    error_ = {};
  }

  /// All slots anew, in a unit that suits nearly all of them.
  void rebuild(thread_team& team, progress_meter& progress) {
    const index_t panels = (clusters_.slots() + width - 1) / width;
    code_.resize(at(panels * pairs_ * 2 * width));
    half_square_.resize(at(panels * width));
    share_.resize(half_square_.size());
    square_.resize(half_square_.size());
    error_.resize(half_square_.size());
    choose_unit(team, progress);
    share_chunks(team, progress, panels, [&](index_t p) { refresh(p); });
  }

  /// One panel after a change.
  void refresh(index_t panel) {
    for (index_t s = panel * width; s < (panel + 1) * width; ++s) encode(s);
  }

  /// Clusters whose neighbours are sought.
  class query {
   public:
    /// Copies the codes of a slot to `codes`, 4 bytes for every 2 columns.
    void load(const byte_panels& panels, index_t slot, std::int8_t* codes) {
      double sum = 0.0;
      const std::uint8_t* from = panels.codes_of(slot);
      for (index_t p = 0; p < panels.pairs_; ++p, from += 2 * width, codes += 4) {
        for (index_t k = 0; k < 4; ++k) {
          codes[k] = static_cast<std::int8_t>(from[k % 2] - middle);
        }
        sum += codes[0] + codes[1];
      }
      // codes of candidates are counted from -middle
      shift_ = static_cast<std::uint16_t>(static_cast<std::int32_t>(sum) * middle);
      square_ = panels.square_[at(slot)];
      error_ = static_cast<double>(panels.error_[at(slot)]) + panels.allowed_;
      inverse_ = 1.0 / panels.clusters_.size(slot);
    }

    /// Lets pass what costs so much or less.
    void limit(const byte_panels& panels, double cost) noexcept {
      constexpr double slack = 1.0 + 1e-6;
      const double scaled = cost * panels.per_square_unit_ * slack;
      const double slope = scaled * panels.inverse_most_ * (1.0 + 0x1p-13);
      const double reach = std::sqrt(scaled * (inverse_ + panels.inverse_most_)) * slack;
      const double extra = error_ * (2.0 * reach + error_) * slack;
      const double base = 0.5 * (square_ - scaled * inverse_ - extra) - 4.0;
      all_ = !(slope < 32766.0 && base > -32768.0);
      if (all_) return;
      slope_ = static_cast<std::int16_t>(slope + 1.0);
      base_ = static_cast<std::int16_t>(std::floor(std::min(base, 32767.0)));
    }

    /// Whether bytes can't say which.
    [[nodiscard]] bool takes_all() const noexcept { return all_; }

    /// Bits of a panel's clusters that pass, given the products of their codes.
    [[nodiscard]] std::uint64_t passing(const byte_panels& panels, index_t panel,
                                        const std::uint16_t* products) const noexcept {
      const auto first = at(panel * width);
      return products_at_least(products, shift_, panels.half_square_.data() + first,
                               panels.share_.data() + first, base_, slope_);
    }

   private:
    double square_ = 0.0, error_ = 0.0, inverse_ = 0.0;
    std::uint16_t shift_ = 0;
    std::int16_t base_ = 0, slope_ = 0;
    bool all_ = true;
  };

  /// Products of a panel's codes with those of `together` queries, 48 each.
  void multiply(index_t panel, const std::int8_t* const* codes,
                std::uint16_t* products) const noexcept {
    byte_products(code_.data() + panel * pairs_ * 2 * width, codes, pairs_, products);
  }

  [[nodiscard]] index_t bytes_a_query() const noexcept { return 4 * pairs_; }

 private:
  friend class query;
  /// Two products of a candidate's code, in 0 … 2 middle, with a query's, in ± middle, fit into 16
  /// bits with a sign.
  static constexpr std::int32_t middle = 90;
  static constexpr double longest_square = 32767.0;

  [[nodiscard]] static std::size_t at(index_t i) noexcept { return static_cast<std::size_t>(i); }

  /// Rounding errors of d coordinates: d/12 squared, and four times how far that strays.
  [[nodiscard]] static double allowed_error(index_t d) noexcept {
    const auto columns = static_cast<double>(d);
    return std::sqrt(columns / 12.0 + 4.0 * std::sqrt(columns / 180.0));
  }

  template <class Work>
  static void share_chunks(thread_team& team, progress_meter& progress, index_t count,
                           const Work& work) {
    constexpr index_t some = 64;
    team.run((count + some - 1) / some,
             [&](int, index_t c) {
               for (index_t i = c * some; i < std::min(count, (c + 1) * some); ++i) work(i);
             },
             [&] { progress.tick(); });
  }

  [[nodiscard]] const std::uint8_t* codes_of(index_t slot) const noexcept {
    return code_.data() + slot / width * pairs_ * 2 * width + slot % width * 2;
  }

  /// Nearly all points are shorter, and have smaller coordinates, than bytes hold.
  void choose_unit(thread_team& team, progress_meter& progress) {
    std::vector<double> need(at(clusters_.slots()), -1.0);
    const double longest = std::sqrt(longest_square) - allowed_ - 1.0;
    share_chunks(team, progress, clusters_.slots(), [&](index_t s) {
      if (!clusters_.occupied(s)) return;
      const double* x = clusters_.mean(s);
      double square = 0.0;
      double most = 0.0;
      for (index_t j = 0; j < d_; ++j) {
        square += x[j] * x[j];
        most = std::max(most, std::fabs(x[j]));
      }
      need[at(s)] = std::max(std::sqrt(square) / longest, most / (middle - 1.0));
    });
    inverse_most_ = 0.0;
    for (index_t s = 0; s < clusters_.slots(); ++s) {
      if (clusters_.occupied(s)) inverse_most_ = std::max(inverse_most_, 1.0 / clusters_.size(s));
    }
    need.erase(std::remove(need.begin(), need.end(), -1.0), need.end());
    const auto most =
        need.begin() + static_cast<std::ptrdiff_t>(need.size() - need.size() / 32 - 1);
    std::nth_element(need.begin(), most, need.end());
    const double largest = *std::max_element(most, need.end());
    unit_ = std::max(std::min(largest, 1.25 * *most), 1e-100);
    per_square_unit_ = 1.0 / (unit_ * unit_);
  }

  /// What bytes do not hold is 0, which passes every test against -2^15 and less.
  void encode(index_t slot) noexcept {
    auto* to = code_.data() + (codes_of(slot) - code_.data());
    const auto i = at(slot);
    const bool there = slot < clusters_.slots() && clusters_.occupied(slot);
    const double per_unit = 1.0 / unit_;
    double off = 0.0;
    double square = 0.0;
    for (index_t j = 0; j < 2 * pairs_; ++j) {
      const double x = there && j < d_ ? clusters_.mean(slot)[j] * per_unit : 0.0;
      const double code = std::nearbyint(std::clamp(x, -1.0 * middle, 1.0 * middle));
      to[j / 2 * 2 * width + j % 2] =
          static_cast<std::uint8_t>(static_cast<std::int32_t>(code) + middle);
      off += (x - code) * (x - code);
      square += code * code;
    }
    const double error = std::sqrt(off) * (1.0 + 1e-6) + 1e-6;
    const bool held = error <= allowed_ && square <= longest_square;
    if (!held) {
      for (index_t j = 0; j < 2 * pairs_; ++j) to[j / 2 * 2 * width + j % 2] = middle;
    }
    error_[i] = static_cast<float>(held ? error * (1.0 + 1e-6) : 1e10);
    square_[i] = static_cast<float>(square);
    if (!there) {
      half_square_[i] = 32767;
      share_[i] = 0;
    } else if (!held) {
      half_square_[i] = -32768;
      share_[i] = 32767;
    } else {
      half_square_[i] = static_cast<std::int16_t>(std::floor(0.5 * square));
      share_[i] = static_cast<std::int16_t>(
          std::min(32767.0, std::ceil(32768.0 / (clusters_.size(slot) * inverse_most_))));
    }
  }

  const Clusters& clusters_;
  index_t d_, pairs_;
  double allowed_;
  double unit_ = 1.0, per_square_unit_ = 1.0, inverse_most_ = 1.0;
  std::vector<std::uint8_t> code_;         ///< a panel: for every 2 columns 48 pairs
  std::vector<std::int16_t> half_square_;  ///< |ŷ|²/2; 32767 where there is no cluster
  std::vector<std::int16_t> share_;        ///< 2^15 of 1/n over the largest 1/n
  std::vector<float> square_, error_;      ///< |ŷ|² and |y - ŷ|
};

}  // namespace bhclust::detail

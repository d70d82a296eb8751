/// @file
/// Clusters in bytes: which of many may be near, where boxes exclude few.
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

/// Slots in panels of 48, means counted from an origin that neighbouring panels, a region, have in
/// common, and rounded to whole multiples of the region's unit that one signed byte holds. What
/// lies farther out than bytes hold is moved to their edge first, by moves that bring no two points
/// farther apart: into a cube, then straight towards the origin into a ball. Rounded points x, y of
/// squared length below 2^15 have a dot product of 16 bits, which may be summed modulo 2^16, and
/// what each is off by is known: |x - y| is at least |x̂ - ŷ| - e_x - e_y.
/// So a cluster of cost B or less has
///     x̂ ŷ >= |x̂|²/2 + |ŷ|²/2 - B (1/n_x + 1/n_y)/2 - k/2,  k = 2 r e + e²,
/// with e the largest e_x + e_y and r the largest distance that B allows. Whole numbers: every
/// instruction set lets the same clusters pass. Points that are off by more than most always pass.
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
        allowed_(allowed_error(d_)),
        longest_(std::sqrt(longest_square) - 0.5 * std::sqrt(static_cast<double>(d_)) - 1e-3) {}

  /// Whether rounded points of so many columns are of use.
  [[nodiscard]] static bool takes(index_t columns) noexcept {
    return multiplies_bytes && columns >= 4 && columns <= 4096;
  }

  void clear() {
    code_ = {};
    half_square_ = {};
    share_ = {};
    region_of_ = {};
    region_ = {};
    origin_ = {};
  }

  /// All slots anew. Regions begin with these panels, ascending from 0.
  void rebuild(const std::vector<index_t>& begins, thread_team& team, progress_meter& progress) {
    const index_t panels = (clusters_.slots() + width - 1) / width;
    code_.resize(at(panels * pairs_ * 2 * width));
    half_square_.resize(at(panels * width));
    share_.resize(half_square_.size());
    const auto regions = static_cast<index_t>(begins.size());
    // queries come from beside a region, too
    room_ = regions == 1 ? 1.0 : 0.7;
    region_of_.resize(at(panels));
    region_.resize(begins.size());
    origin_.resize(at(regions * d_));
    team.run(
        regions,
        [&](int, index_t r) {
          const index_t end = r + 1 < regions ? begins[at(r + 1)] : panels;
          measure(r, begins[at(r)], end);
          for (index_t p = begins[at(r)]; p < end; ++p) {
            region_of_[at(p)] = static_cast<ward_id>(r);
            refresh(p);
          }
        },
        [&] { progress.tick(); });
  }

  [[nodiscard]] index_t region_of(index_t panel) const noexcept { return region_of_[at(panel)]; }

  /// One panel after a change.
  void refresh(index_t panel) {
    for (index_t s = panel * width; s < (panel + 1) * width; ++s) encode(s);
  }

  struct region {
    double per_unit = 1.0;
    double inverse_most = 0.0;  ///< the largest 1/n
  };

  /// A cluster whose neighbours are sought, as a region sees it.
  class query {
   public:
    /// Writes the codes of a slot's mean to `codes`, 4 bytes for every 2 columns.
    void load(const byte_panels& panels, index_t region, index_t slot, std::int8_t* codes) {
      const double* x = panels.clusters_.mean(slot);
      const double* origin = panels.origin_.data() + region * panels.d_;
      region_ = &panels.region_[at(region)];
      double sum = 0.0;
      const rounded of = panels.round(x, origin, region_->per_unit, [&](index_t j, double code) {
        std::int8_t* to = codes + j / 2 * 4 + j % 2;
        to[0] = to[2] = static_cast<std::int8_t>(code);
        sum += code;
      });
      // codes of candidates are counted from -middle
      shift_ = static_cast<std::uint16_t>(static_cast<std::int32_t>(sum) * middle);
      square_ = of.square;
      error_ = of.error + panels.allowed_;
      inverse_ = 1.0 / panels.clusters_.size(slot);
    }

    /// Lets pass what costs so much or less.
    void limit(double cost) noexcept {
      constexpr double slack = 1.0 + 1e-6;
      const double scaled = cost * region_->per_unit * region_->per_unit * slack;
      const double slope = scaled * region_->inverse_most * (1.0 + 0x1p-13);
      const double reach = std::sqrt(scaled * (inverse_ + region_->inverse_most)) * slack;
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
    const region* region_ = nullptr;
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
  /// Two products of a candidate's code, in 0 … 2 middle, with a query's, in ± middle, fit into 16
  /// bits with a sign.
  static constexpr std::int32_t middle = 90;
  static constexpr double longest_square = 32767.0;

  struct rounded {
    double square;  ///< of its length
    double error;   ///< rounding is off by this at most
  };

  [[nodiscard]] static std::size_t at(index_t i) noexcept { return static_cast<std::size_t>(i); }

  /// Rounding errors of d coordinates: d/12 squared, and four times how far that strays.
  [[nodiscard]] static double allowed_error(index_t d) noexcept {
    const auto columns = static_cast<double>(d);
    return std::sqrt(columns / 12.0 + 4.0 * std::sqrt(columns / 180.0));
  }

  [[nodiscard]] const std::uint8_t* codes_of(index_t slot) const noexcept {
    return code_.data() + slot / width * pairs_ * 2 * width + slot % width * 2;
  }

  /// Gives put(column, code) what a point is rounded to.
  template <class Put>
  [[nodiscard]] rounded round(const double* x, const double* origin, double per_unit,
                              const Put& put) const {
    double square = 0.0;
    for (index_t j = 0; j < d_; ++j) {
      const double is = in_cube((x[j] - origin[j]) * per_unit);
      square += is * is;
    }
    const double scale = square <= longest_ * longest_ ? 1.0 : longest_ / std::sqrt(square);
    double off = 0.0;
    square = 0.0;
    for (index_t j = 0; j < d_; ++j) {
      const double is = in_cube((x[j] - origin[j]) * per_unit) * scale;
      const double code = std::nearbyint(is);
      off += (is - code) * (is - code);
      square += code * code;
      put(j, code);
    }
    return {square, std::sqrt(off) * (1.0 + 1e-6) + 1e-6};
  }
  [[nodiscard]] static double in_cube(double x) noexcept {
    return std::clamp(x, -1.0 * middle, 1.0 * middle);
  }

  /// Origin and unit of a region of panels, such that most of its points are shorter, and have
  /// smaller coordinates, than bytes hold.
  void measure(index_t which, index_t first_panel, index_t end_panel) {
    region& to = region_[at(which)];
    to = {};
    centre(which, first_panel, end_panel);
    const double* origin = origin_.data() + which * d_;
    std::vector<double> need;
    const index_t end = std::min(end_panel * width, clusters_.slots());
    for (index_t s = first_panel * width; s < end; ++s) {
      if (!clusters_.occupied(s)) continue;
      const double* x = clusters_.mean(s);
      double square = 0.0;
      double most = 0.0;
      for (index_t j = 0; j < d_; ++j) {
        const double is = x[j] - origin[j];
        square += is * is;
        most = std::max(most, std::fabs(is));
      }
      need.push_back(std::max(std::sqrt(square) / longest_, most / (middle - 1.0)) / room_);
      to.inverse_most = std::max(to.inverse_most, 1.0 / clusters_.size(s));
    }
    if (need.empty()) return;
    const auto most = need.begin() + static_cast<std::ptrdiff_t>(need.size() - need.size() / 4 - 1);
    std::nth_element(need.begin(), most, need.end());
    const double largest = *std::max_element(most, need.end());
    to.per_unit = 1.0 / std::max(std::min(largest, 1.25 * *most), 1e-100);
  }

  /// The median of a point of each panel, column by column: a single wild point does not move it.
  void centre(index_t which, index_t first_panel, index_t end_panel) {
    std::vector<index_t> some;
    for (index_t p = first_panel; p < end_panel; ++p) {
      const index_t end = std::min((p + 1) * width, clusters_.slots());
      for (index_t s = p * width; s < end; ++s) {
        if (!clusters_.occupied(s)) continue;
        some.push_back(s);
        break;
      }
    }
    std::vector<double> x(some.size());
    for (index_t j = 0; j < d_; ++j) {
      for (std::size_t i = 0; i < some.size(); ++i) x[i] = clusters_.mean(some[i])[j];
      const auto half = x.begin() + static_cast<std::ptrdiff_t>(x.size() / 2);
      std::nth_element(x.begin(), half, x.end());
      origin_[at(which * d_ + j)] = x.empty() ? 0.0 : *half;
    }
  }

  /// What is rounded too far is 0, which passes every test against -2^15 and less.
  void encode(index_t slot) {
    auto* to = code_.data() + (codes_of(slot) - code_.data());
    const auto i = at(slot);
    const auto clear = [&] {
      for (index_t j = 0; j < 2 * pairs_; ++j) to[j / 2 * 2 * width + j % 2] = middle;
    };
    const bool there = slot < clusters_.slots() && clusters_.occupied(slot);
    const index_t which = region_of(slot / width);
    const region& of = region_[at(which)];
    if (!there || d_ % 2 != 0) clear();
    rounded is{0.0, 0.0};
    if (there) {
      is = round(clusters_.mean(slot), origin_.data() + which * d_, of.per_unit,
                 [&](index_t j, double code) {
                   to[j / 2 * 2 * width + j % 2] =
                       static_cast<std::uint8_t>(static_cast<std::int32_t>(code) + middle);
                 });
    }
    const bool held = is.error <= allowed_;
    if (!held) clear();
    if (!there) {
      half_square_[i] = 32767;
      share_[i] = 0;
    } else if (!held) {
      half_square_[i] = -32768;
      share_[i] = 32767;
    } else {
      half_square_[i] = static_cast<std::int16_t>(std::floor(0.5 * is.square));
      share_[i] = static_cast<std::int16_t>(
          std::min(32767.0, std::ceil(32768.0 / (clusters_.size(slot) * of.inverse_most))));
    }
  }

  const Clusters& clusters_;
  index_t d_, pairs_;
  double allowed_;
  double longest_;     ///< rounding makes no point of this length too long
  double room_ = 1.0;  ///< the share of what bytes hold that most of a region's points fill
  std::vector<std::uint8_t> code_;         ///< a panel: for every 2 columns 48 pairs
  std::vector<std::int16_t> half_square_;  ///< |ŷ|²/2; 32767 where there is no cluster
  std::vector<std::int16_t> share_;        ///< 2^15 of 1/n over the largest 1/n
  std::vector<ward_id> region_of_;         ///< of a panel
  std::vector<region> region_;
  std::vector<double> origin_;  ///< d a region
};

}  // namespace bhclust::detail

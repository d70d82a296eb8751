/// @file
/// The boxes of eight panels side by side, in float32: which of them may hold a neighbour.
#pragma once

#include <bhclust/detail/kd_order.hpp>
#include <bhclust/detail/line_of_floats.hpp>
#include <bhclust/detail/simd.hpp>
#include <bhclust/types.hpp>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

namespace bhclust::detail {

/// Every panel's box, and of each eight panels, a leaf, what is tested together: ends counted from
/// the middle of the leaf, 8 lower and 8 upper ones a column.
template <class Clusters>
class leaf_boxes {
 public:
  static constexpr index_t width = panel_width;
  static constexpr index_t together = panels_together;

  explicit leaf_boxes(const Clusters& clusters)
      : clusters_(clusters),
        d_(clusters.columns()),
        slack_((1.0 + 1.0 / 1024.0) * (1.0 + 0x1p-21 * static_cast<double>(d_ + 8))) {}

  [[nodiscard]] index_t panels() const noexcept {
    return static_cast<index_t>(inverse_most_.size());
  }
  [[nodiscard]] index_t leaves() const noexcept { return static_cast<index_t>(margin_.size()); }
  /// The panel after a leaf's last.
  [[nodiscard]] index_t end(index_t leaf) const noexcept {
    return std::min(panels(), (leaf + 1) * together);
  }

  void resize(index_t panels) {
    const index_t leaves = (panels + together - 1) / together;
    inverse_most_.resize(at(panels));
    inverse_least_.resize(at(panels));
    box_.resize(at(2 * panels * d_));
    centre_.resize(at(leaves * d_));
    margin_.resize(at(leaves));
    inverse_.resize(leaves * together);
    side_.resize(2 * leaves * together * d_);
  }

  /// The box around a panel's clusters.
  void bound(index_t panel) {
    constexpr double infinite = std::numeric_limits<double>::infinity();
    double* low = box_.data() + 2 * panel * d_;
    std::fill_n(low, d_, infinite);
    std::fill_n(low + d_, d_, -infinite);
    double most = -infinite;
    double least = infinite;
    const index_t end = std::min((panel + 1) * width, clusters_.slots());
    for (index_t s = panel * width; s < end; ++s) {
      if (!clusters_.occupied(s)) continue;
      widen(low, clusters_.mean(s), clusters_.mean(s));
      most = std::max(most, 1.0 / clusters_.size(s));
      least = std::min(least, 1.0 / clusters_.size(s));
    }
    inverse_most_[at(panel)] = most;
    inverse_least_[at(panel)] = least;
  }

  /// d lower, d upper ends of a panel's box; null where there is no cluster.
  [[nodiscard]] const double* box(index_t panel) const noexcept {
    return inverse_most_[at(panel)] > 0.0 ? box_.data() + 2 * panel * d_ : nullptr;
  }
  /// The smallest 1/n of a panel, and of all.
  [[nodiscard]] double inverse_least(index_t panel) const noexcept {
    return inverse_least_[at(panel)];
  }
  [[nodiscard]] double inverse_least() const noexcept {
    return *std::min_element(inverse_least_.begin(), inverse_least_.end());
  }

  /// From the boxes of a leaf's panels, what is tested; writes the box around them all, and returns
  /// the largest 1/n in it.
  double put_together(index_t leaf, double* low) {
    constexpr double infinite = std::numeric_limits<double>::infinity();
    std::fill_n(low, d_, infinite);
    std::fill_n(low + d_, d_, -infinite);
    double most = -infinite;
    for (index_t p = leaf * together; p < end(leaf); ++p) {
      const double* own = box_.data() + 2 * p * d_;
      widen(low, own, own + d_);
      most = std::max(most, inverse_most_[at(p)]);
    }
    double* centre = centre_.data() + leaf * d_;
    double radius = 0.0;
    for (index_t j = 0; j < d_; ++j) {
      centre[j] = most > 0.0 ? 0.5 * (low[j] + low[d_ + j]) : 0.0;
      const double half = most > 0.0 ? std::max(low[d_ + j] - centre[j], centre[j] - low[j]) : 0.0;
      radius += half * half;
    }
    // Ends and queries are off by 2^-24 of themselves, in all by 2^-22 of the radius and of the
    // distance; squared, times 1025 for the share of 1/1024 in the slack of the limit.
    margin_[at(leaf)] =
        static_cast<float>(2.0 * (radius * 0x1p-44 * 1100.0 + clusters_.rounding()) + 1e-36);
    for (index_t k = 0; k < together; ++k) place(leaf, k, centre);
    return most;
  }

  /// The middle of a leaf.
  [[nodiscard]] const double* centre(index_t leaf) const noexcept {
    return centre_.data() + leaf * d_;
  }

  /// Which of a leaf's panels a query is near enough to: squared distance from the box at most
  /// `most` times the sum of its 1/n and the largest there. Its coordinates are 8 floats apart.
  /// `weights`: what squares count for, unless d* is Ward's cost.
  [[nodiscard]] std::uint32_t near(index_t leaf, const float* q, const float* weights, float most,
                                   float inverse) const noexcept {
    return near(leaf, q, weights, most, inverse, std::make_index_sequence<chunks_of_floats>{});
  }

 private:
  [[nodiscard]] static std::size_t at(index_t i) noexcept { return static_cast<std::size_t>(i); }

  void widen(double* box, const double* low, const double* high) const noexcept {
    for (index_t j = 0; j < d_; ++j) {
      box[j] = std::min(box[j], low[j]);
      box[d_ + j] = std::max(box[d_ + j], high[j]);
    }
  }

  void place(index_t leaf, index_t k, const double* centre) {
    constexpr float infinite = std::numeric_limits<float>::infinity();
    const index_t panel = leaf * together + k;
    float* to = side_.data() + 2 * leaf * together * d_ + k;
    const double* low = panel < panels() ? box(panel) : nullptr;
    for (index_t j = 0; j < d_; ++j, to += 2 * together) {
      to[0] = low != nullptr ? static_cast<float>(low[j] - centre[j]) : infinite;
      to[together] = low != nullptr ? static_cast<float>(low[d_ + j] - centre[j]) : -infinite;
    }
    inverse_.data()[panel] =
        low != nullptr ? static_cast<float>(inverse_most_[at(panel)]) : -infinite;
  }

  template <std::size_t... V>
  [[nodiscard]] std::uint32_t near(index_t leaf, const float* q, const float* weights, float most,
                                   float inverse, std::index_sequence<V...>) const noexcept {
    constexpr std::size_t vector_width = sizeof(float_chunk) / sizeof(float);
    const auto out_of = [](const float_chunk& below, const float_chunk& above) {
      const float_chunk zero{};
      const float_chunk out = below > above ? below : above;
      return out > zero ? out : zero;
    };
    const float* side = side_.data() + 2 * leaf * together * d_;
    float_chunk sum[] = {(static_cast<void>(V), float_chunk{})...};
    for (index_t j = 0; j < d_; ++j, side += 2 * together) {
      const float_chunk here = q[j * lanes::count] - float_chunk{};
      const float_chunk out[] = {out_of(load_floats(side + V * vector_width) - here,
                                        here - load_floats(side + together + V * vector_width))...};
      if constexpr (Clusters::is_ward) {
        ((sum[V] = about_multiply_add(out[V], out[V], sum[V])), ...);
      } else {
        const float_chunk weight = weights[j] - float_chunk{};
        ((sum[V] = about_multiply_add(out[V], out[V] * weight, sum[V])), ...);
      }
    }
    static_cast<void>(weights);
    const float slope = most * static_cast<float>(slack_);
    const float_chunk margin = margin_[at(leaf)] - float_chunk{};
    const float* largest = inverse_.data() + leaf * together;
    const float_chunk limit[] = {about_multiply_add(
        load_floats(largest + V * vector_width) + inverse, slope - float_chunk{}, margin)...};
    return eight_at_most(sum, limit);
  }

  const Clusters& clusters_;
  index_t d_;
  double slack_;
  std::vector<double> box_;            ///< d lower, d upper ends a panel
  std::vector<double> inverse_most_;   ///< largest 1/n of a panel
  std::vector<double> inverse_least_;  ///< smallest 1/n of a panel
  std::vector<double> centre_;         ///< d a leaf
  std::vector<float> margin_;          ///< squared distances from a leaf's boxes are off by this
  line_of_floats side_;                ///< a leaf: for each column 8 lower and 8 upper ends
  line_of_floats inverse_;             ///< 8 a leaf; -inf where there is no cluster
};

}  // namespace bhclust::detail

/// @file
/// Clusters in float32, 48 to a panel: which of them may be near.
#pragma once

#include <bhclust/detail/kd_order.hpp>
#include <bhclust/detail/line_of_floats.hpp>
#include <bhclust/detail/simd.hpp>
#include <bhclust/types.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <limits>
#include <utility>
#include <vector>

namespace bhclust::detail {

/// Coordinates counted from the middle of each panel's box, and 1/n.
template <class Clusters>
class panel_floats {
  /// Neighbours side by side in a vector.
  static constexpr index_t vector_width = sizeof(float_chunk) / sizeof(float);

 public:
  static constexpr index_t width = panel_width;
  static constexpr std::size_t vectors = width / vector_width;
  /// Bit v of word l: lane l of vector v.
  using pass_bits = std::array<std::uint32_t, vector_width>;

  explicit panel_floats(const Clusters& clusters)
      : clusters_(clusters),
        d_(clusters.columns()),
        slack_((1.0 + 1.0 / 64.0) * (1.0 + 0x1p-21 * static_cast<double>(d_ + 8))) {}

  [[nodiscard]] index_t panels() const noexcept { return static_cast<index_t>(margin_.size()); }

  void resize(index_t panels) {
    centre_.resize(at(panels * d_));
    margin_.resize(at(panels));
    coordinate_.resize(panels * d_ * width);
    inverse_size_.resize(panels * width);
  }

  /// A panel whose box has these d lower ends, then d upper ones; null where no cluster is.
  void fill(index_t panel, const double* box) {
    double* centre = centre_.data() + panel * d_;
    double radius = 0.0;
    for (index_t j = 0; j < d_; ++j) {
      centre[j] = box != nullptr ? 0.5 * (box[j] + box[d_ + j]) : 0.0;
      const double half =
          box != nullptr ? std::max(box[d_ + j] - centre[j], centre[j] - box[j]) : 0.0;
      radius += half * half;
    }
    // A coordinate is off by 2^-24 of itself, in the query and in the panel; twice that, squared,
    // times 65 for the share of 1/64 in the slack; and what is left of squares that underflow.
    margin_[at(panel)] =
        static_cast<float>(2.0 * (radius * 0x1p-44 * 66.0 + clusters_.rounding()) + 1e-36);
    for (index_t s = panel * width; s < (panel + 1) * width; ++s) place(panel, s, centre);
  }

  [[nodiscard]] const double* centre(index_t panel) const noexcept {
    return centre_.data() + panel * d_;
  }
  /// Squared distances in a panel are off by this at most.
  [[nodiscard]] float margin(index_t panel) const noexcept { return margin_[at(panel)]; }
  /// What costs are to be multiplied by for all that float32 may be off by, beyond margins.
  [[nodiscard]] double slack() const noexcept { return slack_; }
  /// 1/n of a panel's slots; -inf where there is no cluster.
  [[nodiscard]] const float* inverse(index_t panel) const noexcept {
    return inverse_size_.data() + panel * width;
  }
  /// The place in its panel of a lane of a vector.
  [[nodiscard]] static index_t place(index_t vector, index_t lane) noexcept {
    return vector * vector_width + lane;
  }

  /// Whether clusters of a panel may be nearer than `a` allows, r² <= a / n + b in float32; which
  /// ones, and all r². `weights`: what squares count for, unless d* is Ward's cost.
  [[nodiscard]] bool within(index_t panel, const float* q, const float* weights, float a, float b,
                            float* squares, pass_bits& pass) const noexcept {
    return within(coordinate_.data() + panel * d_ * width, inverse(panel), q, weights, a, b,
                  squares, pass, std::make_index_sequence<vectors>{});
  }

 private:
  [[nodiscard]] static std::size_t at(index_t i) noexcept { return static_cast<std::size_t>(i); }

  void place(index_t panel, index_t slot, const double* centre) {
    float* to = coordinate_.data() + panel * d_ * width + slot % width;
    if (slot >= clusters_.slots() || !clusters_.occupied(slot)) {
      for (index_t j = 0; j < d_; ++j) to[j * width] = 0.0F;
      inverse_size_.data()[slot] = -std::numeric_limits<float>::infinity();
      return;
    }
    const double* x = clusters_.mean(slot);
    for (index_t j = 0; j < d_; ++j) to[j * width] = static_cast<float>(x[j] - centre[j]);
    inverse_size_.data()[slot] = static_cast<float>(1.0 / clusters_.size(slot));
  }

  template <std::size_t... V>
  [[nodiscard]] bool within(const float* y, const float* inverse, const float* q,
                            const float* weights, float a, float b, float* squares, pass_bits& pass,
                            std::index_sequence<V...>) const noexcept {
    float_chunk sum[vectors] = {(static_cast<void>(V), float_chunk{})...};
    for (index_t j = 0; j < d_; ++j, y += width) {
      const float_chunk here = q[j] - float_chunk{};
      const float_chunk apart[vectors] = {(load_floats(y + V * at(vector_width)) - here)...};
      if constexpr (Clusters::is_ward) {
        ((sum[V] = about_multiply_add(apart[V], apart[V], sum[V])), ...);
      } else {
        const float_chunk weight = weights[j] - float_chunk{};
        ((sum[V] = about_multiply_add(apart[V], apart[V] * weight, sum[V])), ...);
      }
    }
    static_cast<void>(weights);
    const float_chunk slope = a - float_chunk{};
    const float_chunk level = b - float_chunk{};
    float_bits found{};
    ((found |= where_at_most(
          sum[V], about_multiply_add(load_floats(inverse + V * at(vector_width)), slope, level),
          1U << V)),
     ...);
    if (united(found) == 0) return false;
    std::memcpy(pass.data(), &found, sizeof(found));
    std::memcpy(squares, sum, sizeof(sum));
    return true;
  }

  const Clusters& clusters_;
  index_t d_;
  double slack_;
  std::vector<double> centre_;  ///< d a panel
  std::vector<float> margin_;
  line_of_floats coordinate_;    ///< d rows of 48 a panel
  line_of_floats inverse_size_;  ///< 48 a panel
};

}  // namespace bhclust::detail

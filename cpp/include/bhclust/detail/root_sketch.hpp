/// @file
/// Sums over the columns of eight clusters' roots in single precision.
#pragma once

#include <bhclust/detail/simd.hpp>
#include <bhclust/types.hpp>

#include <cstddef>
#include <cstring>

namespace bhclust::detail {

/// Eight sums. Each term has a relative error of some 1e-6 at most, which columns add to by 1e-7.
/// `own` is a cluster's roots x, `others` those y of eight, column by column.
class root_sketch {
 public:
  /// Adds (x - y)² of so many columns.
  void add_squares(const float* own, const float* others, index_t columns) noexcept {
    index_t j = 0;
    for (; j + 1 < columns; j += 2) {
      for (std::size_t i = 0; i < chunks_of_floats; ++i) {
        const float_chunk even = load(others, j, i) - own[j];
        const float_chunk odd = load(others, j + 1, i) - own[j + 1];
        sum_[i] = about_multiply_add(even, even, sum_[i]);
        more_[i] = about_multiply_add(odd, odd, more_[i]);
      }
    }
    for (std::size_t i = 0; j < columns && i < chunks_of_floats; ++i) {
      const float_chunk apart = load(others, j, i) - own[j];
      sum_[i] = about_multiply_add(apart, apart, sum_[i]);
    }
  }

  /// Adds 2 d² s² / (s² + d² + c d s), d = |x - y|, s = x + y > 0, with a c >= 0 for each of the
  /// eight.
  void add_parts(const float* own, const float* others, index_t columns, const lanes& c) noexcept {
    double slopes[lanes::count];
    float slope[lanes::count];
    c.store(slopes);
    for (index_t l = 0; l < lanes::count; ++l) slope[l] = static_cast<float>(slopes[l]);
    for (index_t j = 0; j < columns; ++j) {
      for (std::size_t i = 0; i < chunks_of_floats; ++i) {
        const float_chunk y = load(others, j, i);
        const float_chunk s = y + own[j];
        const float_chunk d = y - own[j];
        const float_chunk square = d * d;
        const float_chunk both = s * s;
        const float_chunk product = d * s;
        const float_chunk size = product > -product ? product : -product;
        const float_chunk whole = about_multiply_add(load(slope, 0, i), size, square + both);
        sum_[i] = sum_[i] + (square + square) * (both / whole);
      }
    }
  }

  [[nodiscard]] lanes value() const noexcept {
    float sums[lanes::count];
    double values[lanes::count];
    float_chunk all[chunks_of_floats];
    for (std::size_t i = 0; i < chunks_of_floats; ++i) all[i] = sum_[i] + more_[i];
    std::memcpy(sums, all, sizeof(sums));
    for (index_t l = 0; l < lanes::count; ++l) values[l] = static_cast<double>(sums[l]);
    return lanes::load(values);
  }

 private:
  [[nodiscard]] static float_chunk load(const float* eight, index_t j, std::size_t i) noexcept {
    constexpr std::size_t per_chunk = sizeof(float_chunk) / sizeof(float);
    float_chunk x;
    std::memcpy(&x, eight + j * lanes::count + static_cast<index_t>(i * per_chunk), sizeof(x));
    return x;
  }

  float_chunk sum_[chunks_of_floats] = {};
  float_chunk more_[chunks_of_floats] = {};
};

}  // namespace bhclust::detail

/// @file
/// Logarithms and exponentials of eight doubles at a time. Every lane is computed by the same
/// operations in the same order whatever the target or the neighbours.
#pragma once

#include <bhclust/detail/simd.hpp>

#include <cstdint>
#include <cstring>
#include <utility>

namespace bhclust::detail {

/// ln of one chunk; see log below. x = 2^k m with m in [√½, √2); with f = m - 1 and s = f / (2 +
/// f), ln m = 2 artanh s = f - s (f - s² P(s²)), where P interpolates at Chebyshev nodes to 5e-18.
[[nodiscard, gnu::always_inline]] inline chunk log_chunk(const chunk& x) noexcept {
  constexpr std::uint64_t one = 0x3FF0000000000000;
  constexpr std::uint64_t root_half = 0x3FE6A09E667F3BCD;
  constexpr std::uint64_t fraction = 0x000FFFFFFFFFFFFF;
  constexpr std::uint64_t two_52 = 0x4330000000000000;
  constexpr double two_52_and_bias = 4503599627370496.0 + 1023.0;
  constexpr double ln_2_high = 0x1.62e42feep-1;  // 32 bits: its multiples by k are exact
  constexpr double ln_2_low = 0x1.a39ef35793c76p-33;
  const chunk_bits shifted = same_bits<chunk_bits>(x) + (one - root_half);
  const chunk k = same_bits<chunk>((shifted >> 52U) | two_52) - two_52_and_bias;
  const chunk f = same_bits<chunk>((shifted & fraction) + root_half) - 1.0;
  const chunk s = f / (2.0 + f);
  const chunk z = s * s;
  const chunk z2 = z * z;
  const chunk even =
      0.666666666666667 +
      z2 * (0.28571428626533335 + z2 * (0.18182895746801428 + z2 * 0.1461916477718642));
  const chunk odd = 0.3999999999989827 + z2 * (0.22222211043822487 + z2 * 0.1533150172120742);
  const chunk tail = z * (even + z * odd);
  return k * ln_2_high + (f - (s * (f - tail) - k * ln_2_low));
}

/// table[index], lane by lane.
[[nodiscard]] inline lanes look_up(const double* table, const lanes& index) noexcept {
  double x[lanes::count];
  index.store(x);
  for (double& value : x) value = table[static_cast<index_t>(value)];
  return lanes::load(x);
}

template <std::size_t... I>
[[nodiscard, gnu::always_inline]] inline lanes log_chunks(const lanes& x,
                                                          std::index_sequence<I...>) noexcept {
  return {{log_chunk(x.part[I])...}};
}

/// ln x for normal positive x; for others (NaN, infinity, 0, below 0 or 1e-307) a meaningless
/// number. Error below 1 ulp.
[[nodiscard, gnu::always_inline]] inline lanes log(const lanes& x) noexcept {
  return log_chunks(x, std::make_index_sequence<lanes::chunks>{});
}

/// ln(1 + x) for 0 <= x <= 1e300. What rounding takes from 1 + x is given back to first order, so
/// the relative error is small for small x as well.
[[nodiscard, gnu::always_inline]] inline lanes log1p(const lanes& x) noexcept {
  const lanes u = x + 1.0;
  return log(u) + (x - (u - 1.0)) / u;
}

/// e^x of one chunk; see exp below. x = k ln 2 + r with |r| <= ½ ln 2, e^r by its power series; 2^k
/// in two factors, so that it falls through the subnormal numbers to 0.
[[nodiscard, gnu::always_inline]] inline chunk exp_chunk(const chunk& x) noexcept {
  constexpr double to_whole = 6755399441055744.0;  // 1.5 * 2^52: adding it rounds to whole numbers
  constexpr double two_52_and_bias = 4503599627370496.0 + 1023.0;
  constexpr double ln_2_high = 0x1.62e42feep-1;
  constexpr double ln_2_low = 0x1.a39ef35793c76p-33;
  constexpr double lowest = -1000.0;
  const chunk k = (x * 1.4426950408889634 + to_whole) - to_whole;
  const chunk r = (x - k * ln_2_high) - k * ln_2_low;
  const chunk z = r * r;
  const chunk even =
      1.0 / 2.0 +
      z * (1.0 / 24.0 + z * (1.0 / 720.0 + z * (1.0 / 40320.0 +
                                                z * (1.0 / 3628800.0 + z * (1.0 / 479001600.0)))));
  const chunk odd =
      1.0 / 6.0 + z * (1.0 / 120.0 +
                       z * (1.0 / 5040.0 + z * (1.0 / 362880.0 + z * (1.0 / 39916800.0 +
                                                                      z * (1.0 / 6227020800.0)))));
  const chunk e = 1.0 + (r + z * (even + r * odd));
  const chunk bound = lowest - chunk{};
  const chunk first = k > bound ? k : bound;
  const auto power = [&](const chunk& of) {
    return same_bits<chunk>(same_bits<chunk_bits>(of + two_52_and_bias) << 52U);
  };
  return e * power(first) * power(k - first);
}

template <std::size_t... I>
[[nodiscard, gnu::always_inline]] inline lanes exp_chunks(const lanes& x,
                                                          std::index_sequence<I...>) noexcept {
  return {{exp_chunk(x.part[I])...}};
}

/// e^x for x <= 700, of -inf 0. Error below 1 ulp of normal values.
[[nodiscard, gnu::always_inline]] inline lanes exp(const lanes& x) noexcept {
  constexpr double vanishes = -800.0;
  return exp_chunks(at_least(x, vanishes), std::make_index_sequence<lanes::chunks>{});
}

}  // namespace bhclust::detail

/// @file
/// Eight doubles at a time. The library's only word on instruction sets; there are no intrinsics:
/// the compiler's own vector types become whatever the target has, and plain doubles do elsewhere.
/// Every lane is computed by the same operations in the same order whatever the target or the
/// neighbours.
#pragma once

#include <bhclust/types.hpp>

#include <cstdint>
#include <cstring>
#include <utility>

namespace bhclust::detail {

#if defined(__GNUC__) && defined(__AVX__)
using chunk [[gnu::vector_size(32)]] = double;
using chunk_bits [[gnu::vector_size(32)]] = std::uint64_t;
#elif defined(__GNUC__)
using chunk [[gnu::vector_size(16)]] = double;
using chunk_bits [[gnu::vector_size(16)]] = std::uint64_t;
#else
using chunk = double;
using chunk_bits = std::uint64_t;
#endif

/// A block of eight doubles.
struct lanes {
  static constexpr index_t count = 8;
  static constexpr std::size_t chunks = 8 * sizeof(double) / sizeof(chunk);

  chunk part[chunks];

  [[nodiscard]] static lanes load(const double* x) noexcept;
  [[nodiscard]] static lanes all(double x) noexcept;
  void store(double* x) const noexcept { std::memcpy(x, part, sizeof(part)); }
};

/// lanes of f(0), f(1), …, chunk by chunk; an expression, not a loop, so that the chunks stay in
/// registers.
template <class F, std::size_t... I>
[[nodiscard, gnu::always_inline]] inline lanes chunkwise(const F& f,
                                                         std::index_sequence<I...>) noexcept {
  return {{f(I)...}};
}
template <class F>
[[nodiscard, gnu::always_inline]] inline lanes chunkwise(const F& f) noexcept {
  return chunkwise(f, std::make_index_sequence<lanes::chunks>{});
}

[[gnu::always_inline]] inline lanes lanes::load(const double* x) noexcept {
  constexpr std::size_t per_chunk = sizeof(chunk) / sizeof(double);
  return chunkwise([x](std::size_t i) {
    chunk c;
    std::memcpy(&c, x + i * per_chunk, sizeof(c));
    return c;
  });
}

[[gnu::always_inline]] inline lanes lanes::all(double x) noexcept {
  return chunkwise([x](std::size_t) { return x - chunk{}; });
}

[[nodiscard, gnu::always_inline]] inline lanes operator+(const lanes& a, const lanes& b) noexcept {
  return chunkwise([&](std::size_t i) { return a.part[i] + b.part[i]; });
}
[[nodiscard, gnu::always_inline]] inline lanes operator-(const lanes& a, const lanes& b) noexcept {
  return chunkwise([&](std::size_t i) { return a.part[i] - b.part[i]; });
}
[[nodiscard, gnu::always_inline]] inline lanes operator*(const lanes& a, const lanes& b) noexcept {
  return chunkwise([&](std::size_t i) { return a.part[i] * b.part[i]; });
}
[[nodiscard, gnu::always_inline]] inline lanes operator/(const lanes& a, const lanes& b) noexcept {
  return chunkwise([&](std::size_t i) { return a.part[i] / b.part[i]; });
}
[[nodiscard, gnu::always_inline]] inline lanes operator+(const lanes& a, double b) noexcept {
  return chunkwise([&](std::size_t i) { return a.part[i] + b; });
}
[[nodiscard, gnu::always_inline]] inline lanes operator-(const lanes& a, double b) noexcept {
  return chunkwise([&](std::size_t i) { return a.part[i] - b; });
}
[[nodiscard, gnu::always_inline]] inline lanes operator*(const lanes& a, double b) noexcept {
  return chunkwise([&](std::size_t i) { return a.part[i] * b; });
}
[[nodiscard, gnu::always_inline]] inline lanes operator/(double a, const lanes& b) noexcept {
  return chunkwise([&](std::size_t i) { return a / b.part[i]; });
}

/// The larger of x and `floor`, lane by lane.
[[nodiscard, gnu::always_inline]] inline lanes at_least(const lanes& x, double floor) noexcept {
  return chunkwise([&](std::size_t i) {
    const chunk low = floor - chunk{};
    return x.part[i] > low ? x.part[i] : low;
  });
}

[[nodiscard, gnu::always_inline]] inline lanes larger(const lanes& x, const lanes& y) noexcept {
  return chunkwise([&](std::size_t i) { return x.part[i] > y.part[i] ? x.part[i] : y.part[i]; });
}

template <class To, class From>
[[nodiscard, gnu::always_inline]] inline To same_bits(const From& from) noexcept {
  static_assert(sizeof(To) == sizeof(From));
  To to;
  std::memcpy(&to, &from, sizeof(to));
  return to;
}

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

}  // namespace bhclust::detail

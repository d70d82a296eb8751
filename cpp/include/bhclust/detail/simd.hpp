/// @file
/// Eight doubles at a time. With nibble_sums.hpp and byte_products.hpp the library's only word on
/// instruction sets: the compiler's own vector types become whatever the target has, and plain
/// numbers do elsewhere; intrinsics only where vector types have no word for it.
/// Every lane is computed by the same operations in the same order whatever the target or the
/// neighbours.
#pragma once

#include <bhclust/types.hpp>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <utility>

#if defined(__AVX__)
#include <immintrin.h>
#endif

namespace bhclust::detail {

/// What the compiler was allowed to use.
#if defined(__AVX512F__) && defined(__AVX512VL__) && defined(__AVX512DQ__) && defined(__AVX512BW__)
inline constexpr std::string_view instruction_set = "x86-64-v4";
#elif defined(__AVX2__) && defined(__FMA__) && defined(__BMI2__)
inline constexpr std::string_view instruction_set = "x86-64-v3";
#elif defined(__SSE4_2__) && defined(__POPCNT__)
inline constexpr std::string_view instruction_set = "x86-64-v2";
#else
inline constexpr std::string_view instruction_set = "baseline";
#endif

#if defined(__GNUC__) && defined(__AVX512F__)
using chunk [[gnu::vector_size(64)]] = double;
using chunk_bits [[gnu::vector_size(64)]] = std::uint64_t;
#elif defined(__GNUC__) && defined(__AVX__)
using chunk [[gnu::vector_size(32)]] = double;
using chunk_bits [[gnu::vector_size(32)]] = std::uint64_t;
#elif defined(__GNUC__)
using chunk [[gnu::vector_size(16)]] = double;
using chunk_bits [[gnu::vector_size(16)]] = std::uint64_t;
#else
using chunk = double;
using chunk_bits = std::uint64_t;
#endif

#if defined(__GNUC__) && defined(__AVX__)
using float_chunk [[gnu::vector_size(32)]] = float;
using float_bits [[gnu::vector_size(32)]] = std::uint32_t;
#elif defined(__GNUC__)
using float_chunk [[gnu::vector_size(16)]] = float;
using float_bits [[gnu::vector_size(16)]] = std::uint32_t;
#else
using float_chunk = float;
using float_bits = std::uint32_t;
#endif

/// A block of eight doubles.
struct lanes {
  static constexpr index_t count = 8;
  static constexpr std::size_t chunks = 8 * sizeof(double) / sizeof(chunk);
  static constexpr std::uint64_t every = 255;  ///< bits_at_most, where it is so in each lane

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

/// The smaller of x and y, lane by lane.
[[nodiscard, gnu::always_inline]] inline lanes smaller(const lanes& x, const lanes& y) noexcept {
  return chunkwise([&](std::size_t i) { return x.part[i] < y.part[i] ? x.part[i] : y.part[i]; });
}

/// The larger of x and y, lane by lane.
[[nodiscard, gnu::always_inline]] inline lanes larger(const lanes& x, const lanes& y) noexcept {
  return chunkwise([&](std::size_t i) { return x.part[i] > y.part[i] ? x.part[i] : y.part[i]; });
}

/// The smallest of eight, without branches.
[[nodiscard]] inline double smallest(const lanes& x) noexcept {
  double eight[lanes::count];
  x.store(eight);
  for (index_t half = lanes::count / 2; half > 0; half /= 2) {
    for (index_t l = 0; l < half; ++l) eight[l] = std::min(eight[l], eight[l + half]);
  }
  return eight[0];
}

/// |x|, lane by lane.
[[nodiscard, gnu::always_inline]] inline lanes size_of(const lanes& x) noexcept {
  return larger(x, x * -1.0);
}

template <class To, class From>
[[nodiscard, gnu::always_inline]] inline To same_bits(const From& from) noexcept {
  static_assert(sizeof(To) == sizeof(From));
  To to;
  std::memcpy(&to, &from, sizeof(to));
  return to;
}

/// a b + c, rounded once where the target can and twice elsewhere: for filters that allow for both,
/// never for results.
[[nodiscard, gnu::always_inline]] inline float_chunk about_multiply_add(
    const float_chunk& a, const float_chunk& b, const float_chunk& c) noexcept {
#if defined(__FMA__) && defined(__GNUC__) && !defined(__clang__)
  return __builtin_ia32_vfmaddps256(a, b, c);
#else
  return a * b + c;
#endif
}

/// The position of the lowest bit set; x != 0.
[[nodiscard]] inline index_t lowest_bit(std::uint64_t x) noexcept {
#if defined(__GNUC__)
  return __builtin_ctzll(x);
#else
  index_t i = 0;
  for (; (x & 1U) == 0; x >>= 1U) ++i;
  return i;
#endif
}

/// How many bits are set.
[[nodiscard]] inline index_t bits_set(std::uint64_t x) noexcept {
#if defined(__GNUC__)
  return __builtin_popcountll(x);
#else
  index_t n = 0;
  for (; x != 0; x &= x - 1) ++n;
  return n;
#endif
}

/// Bit j of byte i becomes bit i of byte j.
[[nodiscard]] inline std::uint64_t transposed_bits(std::uint64_t x) noexcept {
  const auto exchange = [&x](unsigned apart, std::uint64_t lower) {
    const std::uint64_t differ = (x ^ (x >> apart)) & lower;
    x ^= differ ^ (differ << apart);
  };
  exchange(7, 0x00AA00AA00AA00AA);
  exchange(14, 0x0000CCCC0000CCCC);
  exchange(28, 0x00000000F0F0F0F0);
  return x;
}

/// Has the memory from here on, so many doubles of it, brought near: it will be read soon.
inline void fetch_early(const void* from, index_t doubles) noexcept {
#if defined(__GNUC__)
  constexpr index_t line = 64;
  constexpr index_t most = 4 * line;  // the rest follows by itself
  const index_t bytes = doubles * static_cast<index_t>(sizeof(double));
  const char* first = static_cast<const char*>(from);
  const index_t ahead = bytes < most ? bytes : most;
  for (index_t i = 0; i < ahead; i += line) __builtin_prefetch(first + i);
  // what does not begin with a line ends in one more
  if (doubles > 1) __builtin_prefetch(first + ahead - 1);
#else
  static_cast<void>(from);
  static_cast<void>(doubles);
#endif
}

/// All bits of the words of `x` put together by or.
template <class Bits>
[[nodiscard, gnu::always_inline]] inline std::uint64_t united(const Bits& x) noexcept {
  if constexpr (sizeof(Bits) < sizeof(std::uint64_t)) {
    return x;
  } else {
    std::uint64_t words[sizeof(Bits) / sizeof(std::uint64_t)];
    std::memcpy(words, &x, sizeof(x));
    std::uint64_t all = 0;
    for (const std::uint64_t word : words) all |= word;
    return all;
  }
}

/// Bit i is set where a <= b in lane i; clear where either is NaN.
[[nodiscard, gnu::always_inline]] inline std::uint64_t bits_at_most(const lanes& a,
                                                                    const lanes& b) noexcept {
  constexpr std::uint64_t bit[lanes::count] = {1, 2, 4, 8, 16, 32, 64, 128};
  constexpr std::size_t per_chunk = sizeof(chunk) / sizeof(double);
  chunk_bits found{};
  for (std::size_t i = 0; i < lanes::chunks; ++i) {
    chunk_bits own;
    std::memcpy(&own, bit + i * per_chunk, sizeof(own));
#if defined(__GNUC__)
    found |= same_bits<chunk_bits>(a.part[i] <= b.part[i]) & own;
#else
    found |= a.part[i] <= b.part[i] ? own : 0U;
#endif
  }
  return united(found);
}

/// `bits` in the lanes where a <= b, 0 elsewhere and where either is NaN.
[[nodiscard, gnu::always_inline]] inline float_bits where_at_most(const float_chunk& a,
                                                                  const float_chunk& b,
                                                                  std::uint32_t bits) noexcept {
#if defined(__GNUC__)
  return same_bits<float_bits>(a <= b) & bits;
#else
  return a <= b ? bits : 0U;
#endif
}

/// Eight floats in a row.
inline constexpr std::size_t chunks_of_floats = 8 * sizeof(float) / sizeof(float_chunk);

/// Bit i is set where a[i] <= b[i], i = 0 … 7; clear where either is NaN.
[[nodiscard, gnu::always_inline]] inline std::uint32_t eight_at_most(
    const float_chunk (&a)[chunks_of_floats], const float_chunk (&b)[chunks_of_floats]) noexcept {
#if defined(__AVX__) && defined(__GNUC__)
  return static_cast<std::uint32_t>(_mm256_movemask_ps(same_bits<__m256>(a[0] <= b[0])));
#else
  float x[8];
  float y[8];
  std::memcpy(x, a, sizeof(x));
  std::memcpy(y, b, sizeof(y));
  std::uint32_t bits = 0;
  for (unsigned i = 0; i < 8; ++i) bits |= static_cast<std::uint32_t>(x[i] <= y[i]) << i;
  return bits;
#endif
}

/// x rounded to whole numbers, lane by lane; |x| < 2^51.
[[nodiscard, gnu::always_inline]] inline lanes whole(const lanes& x) noexcept {
  constexpr double one_apart = 0x1.8p52;
  return (x + one_apart) - one_apart;
}

/// Whole numbers of one signed byte: for each lane a word of two bytes, a's the lower, twice.
[[gnu::always_inline]] inline void store_byte_pairs(const lanes& a, const lanes& b,
                                                    std::uint32_t* out) noexcept {
  constexpr double one_apart = 0x1.8p52;  // the lowest bits of the sum are the number's
  for (std::size_t i = 0, l = 0; i < lanes::chunks; ++i) {
    const chunk_bits low = same_bits<chunk_bits>(a.part[i] + one_apart) & 255U;
    const chunk_bits two = low | (same_bits<chunk_bits>(b.part[i] + one_apart) & 255U) << 8U;
    const chunk_bits four = two | two << 16U;
    std::uint64_t word[sizeof(chunk) / sizeof(double)];
    std::memcpy(word, &four, sizeof(word));
    for (const std::uint64_t w : word) out[l++] = static_cast<std::uint32_t>(w);
  }
}

/// The nearest floats.
[[gnu::always_inline]] inline void store_floats(const lanes& x, float* out) noexcept {
  double from[lanes::count];
  x.store(from);
  for (index_t l = 0; l < lanes::count; ++l) out[l] = static_cast<float>(from[l]);
}

[[nodiscard, gnu::always_inline]] inline float_chunk load_floats(const float* x) noexcept {
  float_chunk c;
  std::memcpy(&c, x, sizeof(c));
  return c;
}

/// a where n is 0, b elsewhere, lane by lane.
[[nodiscard, gnu::always_inline]] inline lanes where_zero(const lanes& n, const lanes& a,
                                                          const lanes& b) noexcept {
  return chunkwise([&](std::size_t i) { return n.part[i] == 0.0 ? a.part[i] : b.part[i]; });
}

/// The sum of the lanes, neighbours first.
[[nodiscard]] inline double sum_of(const lanes& x) noexcept {
  double of[lanes::count];
  x.store(of);
  return ((of[0] + of[1]) + (of[2] + of[3])) + ((of[4] + of[5]) + (of[6] + of[7]));
}

/// Their product likewise.
[[nodiscard]] inline double product_of(const lanes& x) noexcept {
  double of[lanes::count];
  x.store(of);
  return ((of[0] * of[1]) * (of[2] * of[3])) * ((of[4] * of[5]) * (of[6] * of[7]));
}

}  // namespace bhclust::detail

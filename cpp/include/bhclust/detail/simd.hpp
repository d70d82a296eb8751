/// @file
/// Eight doubles at a time, and look-ups by codes of four bits. The library's only word on
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

/// Whether nibble_sums looks many codes up at once; elsewhere it costs more than it saves.
#if defined(__AVX2__) || \
    (defined(__GNUC__) && !defined(__clang__) && (defined(__SSSE3__) || defined(__ARM_NEON)))
inline constexpr bool shuffles_bytes = true;
#else
inline constexpr bool shuffles_bytes = false;
#endif

/// Whether byte_products takes 32 products a step; elsewhere floats are no slower.
#if defined(__AVX2__)
inline constexpr bool multiplies_bytes = true;
#else
inline constexpr bool multiplies_bytes = false;
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

/// Has n doubles brought into the cache, if the target knows how.
inline void fetch_ahead(const double* x, index_t n) noexcept {
#if defined(__GNUC__)
  for (index_t i = 0; i < n; i += 8) __builtin_prefetch(x + i);
#else
  static_cast<void>(x);
  static_cast<void>(n);
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

/// 48 points in bytes.
struct byte_points {
  const std::uint8_t* codes;  ///< for each two coordinates 48 pairs
  const std::int16_t* half;   ///< taken from each point's product
  const std::int16_t* share;  ///< 2^15 and less, of a query's slope
};

/// What 48 points are asked. Codes are two signed bytes, the first coordinate's the lowest, and the
/// same two once more above them; those of the next two coordinates are `stride` words on.
struct byte_query {
  static constexpr index_t stride = 8;
  static constexpr index_t together = 3;  ///< as many as registers hold the sums of

  const std::uint32_t* codes;
  std::uint16_t shift;  ///< taken from the products as well
  std::int16_t level, slope;
};

// byte_passing: for each of three queries the bits of those points of which x y -
// half - shift, modulo 2^16 and with a sign, is at least level less the upper half of share times
// slope, which is 0 or more. The products of two coordinates must not exceed 16 bits with a sign.

// Sums of table entries that are looked up by codes of four bits, laid out as in nibble_sums.hpp.
// Only whole numbers are added, so every instruction set gives the same sums.

#if defined(__AVX2__)

[[nodiscard]] inline __m256i load_sixteen(const std::uint16_t* x) noexcept {
  return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(x));
}
inline void store_sixteen(__m256i values, std::uint16_t* x) noexcept {
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(x), values);
}

/// Even bytes and odd bytes of sums apart, as 16 bits each.
class split_sums {
 public:
  void add(__m256i bytes) noexcept {
    all_ = _mm256_add_epi16(all_, bytes);
    odd_ = _mm256_add_epi16(odd_, _mm256_srli_epi16(bytes, 8));
  }
  /// The 16 rows in order, the two groups of a pair added up.
  [[nodiscard]] __m256i in_order() const noexcept {
    const __m256i even = _mm256_sub_epi16(all_, _mm256_slli_epi16(odd_, 8));
    const __m128i evens = folded(even);
    const __m128i odds = folded(odd_);
    return _mm256_set_m128i(_mm_unpackhi_epi16(evens, odds), _mm_unpacklo_epi16(evens, odds));
  }

 private:
  [[nodiscard]] static __m128i folded(__m256i x) noexcept {
    return _mm_add_epi16(_mm256_castsi256_si128(x), _mm256_extracti128_si256(x, 1));
  }
  __m256i all_ = _mm256_setzero_si256();
  __m256i odd_ = _mm256_setzero_si256();
};

/// out[i] = the sum over groups of tables[group][code of row i] (below 65536) | also[i], for a
/// block of 32 rows.
inline void nibble_sums(const std::uint8_t* codes, const std::uint8_t* tables, index_t groups,
                        const std::uint16_t* also, std::uint16_t* out) noexcept {
  split_sums low;
  split_sums high;
  const __m256i half = _mm256_set1_epi8(15);
  for (index_t g = 0; g < groups; g += 2) {
    const __m256i code = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(codes + g * 16));
    const __m256i table = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(tables + g * 16));
    low.add(_mm256_shuffle_epi8(table, _mm256_and_si256(code, half)));
    high.add(_mm256_shuffle_epi8(table, _mm256_and_si256(_mm256_srli_epi16(code, 4), half)));
  }
  store_sixteen(_mm256_or_si256(low.in_order(), load_sixteen(also)), out);
  store_sixteen(_mm256_or_si256(high.in_order(), load_sixteen(also + 16)), out + 16);
}

/// Bit i tells whether values[i] <= most, i = 0 … 31.
[[nodiscard]] inline std::uint32_t at_most(const std::uint16_t* values,
                                           std::uint16_t most) noexcept {
  const __m256i bound = _mm256_set1_epi16(static_cast<short>(most));
  const __m256i first = load_sixteen(values);
  const __m256i second = load_sixteen(values + 16);
  const __m256i bytes =
      _mm256_packs_epi16(_mm256_cmpeq_epi16(_mm256_min_epu16(first, bound), first),
                         _mm256_cmpeq_epi16(_mm256_min_epu16(second, bound), second));
  constexpr int in_order = 0b11011000;  // packing works by halves
  return static_cast<std::uint32_t>(
      _mm256_movemask_epi8(_mm256_permute4x64_epi64(bytes, in_order)));
}

/// out[k] = the upper byte of the sum over columns j of values[place[j] + index[16 j + k]], `most`
/// at most; sums end at 65535. k = 0 … 15, index[k] < 16. All 16 values from a place on are read.
inline void sums_of_values(const std::uint16_t* values, const index_t* place,
                           const std::uint8_t* index, index_t columns, std::uint16_t most,
                           std::uint8_t* out) noexcept {
  constexpr int in_order = 0b11011000;  // packing works by halves
  const __m256i low_bytes = _mm256_set1_epi16(255);
  __m256i sum = _mm256_setzero_si256();
  for (index_t j = 0; j < columns; ++j) {
    const __m256i own = load_sixteen(values + place[j]);
    const __m256i split = _mm256_permute4x64_epi64(
        _mm256_packus_epi16(_mm256_and_si256(own, low_bytes), _mm256_srli_epi16(own, 8)), in_order);
    const __m256i of = _mm256_broadcastsi128_si256(
        _mm_loadu_si128(reinterpret_cast<const __m128i*>(index + 16 * j)));
    const __m256i chosen = _mm256_shuffle_epi8(split, of);
    const __m128i low = _mm256_castsi256_si128(chosen);
    const __m128i high = _mm256_extracti128_si256(chosen, 1);
    sum = _mm256_adds_epu16(
        sum, _mm256_set_m128i(_mm_unpackhi_epi8(low, high), _mm_unpacklo_epi8(low, high)));
  }
  const __m256i upper =
      _mm256_min_epu16(_mm256_srli_epi16(sum, 8), _mm256_set1_epi16(static_cast<short>(most)));
  _mm_storeu_si128(
      reinterpret_cast<__m128i*>(out),
      _mm_packus_epi16(_mm256_castsi256_si128(upper), _mm256_extracti128_si256(upper, 1)));
}

[[nodiscard]] inline __m256i load_whole(const void* x) noexcept {
  return _mm256_loadu_si256(static_cast<const __m256i*>(x));
}

/// Dot products of 48 points.
struct sums_of_48 {
  __m256i first = _mm256_setzero_si256();
  __m256i second = _mm256_setzero_si256();
  __m256i third = _mm256_setzero_si256();

  [[gnu::always_inline]] void add(__m256i x, __m256i y, __m256i z,
                                  const std::uint32_t* code) noexcept {
    const __m256i q = _mm256_set1_epi32(static_cast<int>(*code));
    first = _mm256_add_epi16(first, _mm256_maddubs_epi16(x, q));
    second = _mm256_add_epi16(second, _mm256_maddubs_epi16(y, q));
    third = _mm256_add_epi16(third, _mm256_maddubs_epi16(z, q));
  }
  void store(std::uint16_t* out) const noexcept {
    store_sixteen(first, out);
    store_sixteen(second, out + 16);
    store_sixteen(third, out + 32);
  }
};

/// Bits of those of 48 points that a query lets pass, given their products.
[[nodiscard]] inline std::uint64_t let_pass(const std::uint16_t* products,
                                            const byte_points& points,
                                            const byte_query& query) noexcept {
  const __m256i shift = _mm256_set1_epi16(static_cast<short>(query.shift));
  const __m256i level = _mm256_set1_epi16(query.level);
  const __m256i slope = _mm256_set1_epi16(query.slope);
  const auto short_of = [&](index_t i) {
    const __m256i above = _mm256_sub_epi16(load_whole(products + i), load_whole(points.half + i));
    const __m256i upper = _mm256_mulhi_epi16(load_whole(points.share + i), slope);
    return _mm256_cmpgt_epi16(_mm256_subs_epi16(level, upper), _mm256_sub_epi16(above, shift));
  };
  const __m256i first = short_of(0);
  const __m256i second = short_of(16);
  const __m256i third = short_of(32);
  if (_mm256_movemask_epi8(_mm256_and_si256(_mm256_and_si256(first, second), third)) == -1)
    return 0;
  constexpr int in_order = 0b11011000;  // packing works by halves
  const auto bits = [](__m256i x, __m256i y) {
    const __m256i bytes = _mm256_permute4x64_epi64(_mm256_packs_epi16(x, y), in_order);
    return std::uint64_t{static_cast<std::uint32_t>(_mm256_movemask_epi8(bytes))};
  };
  constexpr std::uint64_t all = (std::uint64_t{1} << 48U) - 1;
  return ~(bits(first, second) | bits(third, third) << 32U) & all;
}

/// The products of 48 points with each of three queries. Not inlined, lest the loop's sums be kept
/// in memory for the sake of what is around it.
[[gnu::noinline]] inline void byte_products(const std::uint8_t* code, index_t pairs,
                                            const byte_query* const* queries,
                                            std::uint16_t* out) noexcept {
  sums_of_48 a, b, c;
  const std::uint32_t* of_a = queries[0]->codes;
  const std::uint32_t* of_b = queries[1]->codes;
  const std::uint32_t* of_c = queries[2]->codes;
  const index_t end = pairs * byte_query::stride;
  for (index_t p = 0; p < end; p += byte_query::stride, code += 96) {
    const __m256i x = load_whole(code);
    const __m256i y = load_whole(code + 32);
    const __m256i z = load_whole(code + 64);
    a.add(x, y, z, of_a + p);
    b.add(x, y, z, of_b + p);
    c.add(x, y, z, of_c + p);
  }
  a.store(out);
  b.store(out + 48);
  c.store(out + 96);
}

inline void byte_passing(const byte_points& points, index_t pairs, const byte_query* const* queries,
                         std::uint64_t* out) noexcept {
  std::uint16_t products[byte_query::together * 48];
  byte_products(points.codes, pairs, queries, products);
  out[0] = let_pass(products, points, *queries[0]);
  out[1] = let_pass(products + 48, points, *queries[1]);
  out[2] = let_pass(products + 96, points, *queries[2]);
}

#else  // AVX2

inline std::uint64_t byte_passing(const byte_points& points, index_t pairs,
                                  const byte_query& query) noexcept {
  std::uint64_t bits = 0;
  for (index_t i = 0; i < 48; ++i) {
    std::int32_t sum = 0;
    for (index_t j = 0; j < 2 * pairs; ++j) {
      const std::uint32_t two = query.codes[byte_query::stride * (j / 2)];
      const auto code = static_cast<std::int8_t>(static_cast<std::uint8_t>(two >> j % 2 * 8));
      sum += points.codes[j / 2 * 96 + 2 * i + j % 2] * code;
    }
    const auto is =
        static_cast<std::int16_t>(static_cast<std::uint16_t>(sum - points.half[i] - query.shift));
    const std::int32_t least = query.level - points.share[i] * query.slope / 65536;
    bits |= static_cast<std::uint64_t>(is >= std::max(least, -32768)) << i;
  }
  return bits;
}

inline void byte_passing(const byte_points& points, index_t pairs, const byte_query* const* queries,
                         std::uint64_t* out) noexcept {
  for (index_t q = 0; q < byte_query::together; ++q) {
    out[q] = byte_passing(points, pairs, *queries[q]);
  }
}

/// Bit i tells whether values[i] <= most, i = 0 … 31.
[[nodiscard]] inline std::uint32_t at_most(const std::uint16_t* values,
                                           std::uint16_t most) noexcept {
  std::uint32_t bits = 0;
  for (unsigned i = 0; i < 32; ++i) {
    bits |= static_cast<std::uint32_t>(values[i] <= most) << i;
  }
  return bits;
}

/// out[k] = the upper byte of the sum over columns j of values[place[j] + index[16 j + k]], `most`
/// at most; sums end at 65535. k = 0 … 15, index[k] < 16.
inline void sums_of_values(const std::uint16_t* values, const index_t* place,
                           const std::uint8_t* index, index_t columns, std::uint16_t most,
                           std::uint8_t* out) noexcept {
  for (index_t k = 0; k < 16; ++k) {
    std::uint32_t sum = 0;
    for (index_t j = 0; j < columns; ++j) sum += values[place[j] + index[16 * j + k]];
    const std::uint32_t upper = (sum < 65535U ? sum : 65535U) >> 8U;
    out[k] = static_cast<std::uint8_t>(upper < most ? upper : most);
  }
}

#if defined(__GNUC__) && !defined(__clang__) && (defined(__SSSE3__) || defined(__ARM_NEON))

using sixteen_bytes [[gnu::vector_size(16)]] = std::uint8_t;
using eight_sums [[gnu::vector_size(16)]] = std::uint16_t;

/// Even bytes and odd bytes of sums apart, as 16 bits each.
class split_sums {
 public:
  void add(sixteen_bytes bytes) noexcept {
    eight_sums pairs;
    std::memcpy(&pairs, &bytes, sizeof(pairs));
    even_ += pairs & 255;
    odd_ += pairs >> 8;
  }
  void store(const std::uint16_t* also, std::uint16_t* out) const noexcept {
    for (int i = 0; i < 8; ++i) {
      out[2 * i] = static_cast<std::uint16_t>(even_[i] | also[2 * i]);
      out[2 * i + 1] = static_cast<std::uint16_t>(odd_[i] | also[2 * i + 1]);
    }
  }

 private:
  eight_sums even_{};
  eight_sums odd_{};
};

/// out[i] = the sum over groups of tables[group][code of row i] (below 65536) | also[i], for a
/// block of 32 rows.
inline void nibble_sums(const std::uint8_t* codes, const std::uint8_t* tables, index_t groups,
                        const std::uint16_t* also, std::uint16_t* out) noexcept {
  split_sums low;
  split_sums high;
  for (index_t g = 0; g < groups; ++g) {
    sixteen_bytes code;
    sixteen_bytes table;
    std::memcpy(&code, codes + g * 16, sizeof(code));
    std::memcpy(&table, tables + g * 16, sizeof(table));
    low.add(__builtin_shuffle(table, code & 15));
    high.add(__builtin_shuffle(table, code >> 4));
  }
  low.store(also, out);
  high.store(also + 16, out + 16);
}

#else

/// out[i] = the sum over groups of tables[group][code of row i] (below 65536) | also[i], for a
/// block of 32 rows.
inline void nibble_sums(const std::uint8_t* codes, const std::uint8_t* tables, index_t groups,
                        const std::uint16_t* also, std::uint16_t* out) noexcept {
  for (index_t i = 0; i < 16; ++i) {
    unsigned low = 0;
    unsigned high = 0;
    for (index_t g = 0; g < groups; ++g) {
      const unsigned code = codes[g * 16 + i];
      low += tables[g * 16 + (code & 15U)];
      high += tables[g * 16 + (code >> 4U)];
    }
    out[i] = static_cast<std::uint16_t>(low | also[i]);
    out[16 + i] = static_cast<std::uint16_t>(high | also[16 + i]);
  }
}

#endif  // shuffles of bytes

#endif  // AVX2

}  // namespace bhclust::detail

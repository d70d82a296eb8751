/// @file
/// Products of 48 points in bytes with three queries at a time. Only whole numbers are added, so
/// every instruction set lets the same points pass.
#pragma once

#include <bhclust/types.hpp>

#include <algorithm>
#include <cstdint>

#if defined(__AVX__)
#include <immintrin.h>
#endif

namespace bhclust::detail {

/// Whether byte_passing takes 32 products a step; elsewhere floats are no slower.
#if defined(__AVX2__)
inline constexpr bool multiplies_bytes = true;
#else
inline constexpr bool multiplies_bytes = false;
#endif

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
  std::uint16_t slope;
  std::int16_t level;
};

// byte_passing: for each of three queries the bits of those points of which x y -
// half - shift, modulo 2^16 and with a sign, is at least level less the upper half of share times
// slope. The products of two coordinates must not exceed 16 bits with a sign.

#if defined(__AVX2__)

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
    auto* to = reinterpret_cast<__m256i*>(out);
    _mm256_storeu_si256(to, first);
    _mm256_storeu_si256(to + 1, second);
    _mm256_storeu_si256(to + 2, third);
  }
};

/// Bits of those of 48 points that a query lets pass, given their products.
[[nodiscard]] inline std::uint64_t let_pass(const std::uint16_t* products,
                                            const byte_points& points,
                                            const byte_query& query) noexcept {
  const __m256i shift = _mm256_set1_epi16(static_cast<short>(query.shift));
  const __m256i level = _mm256_set1_epi16(query.level);
  const __m256i slope = _mm256_set1_epi16(static_cast<short>(query.slope));
  const auto short_of = [&](index_t i) {
    const __m256i above = _mm256_sub_epi16(load_whole(products + i), load_whole(points.half + i));
    const __m256i upper = _mm256_mulhi_epu16(load_whole(points.share + i), slope);
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

#endif  // AVX2

}  // namespace bhclust::detail

/// @file
/// Sums of table entries that are looked up by codes of four bits, laid out as in nibbles.hpp.
/// Only whole numbers are added, so every instruction set gives the same sums.
#pragma once

#include <bhclust/types.hpp>

#include <cstdint>
#include <cstring>

#if defined(__AVX__)
#include <immintrin.h>
#endif

namespace bhclust::detail {

/// Whether nibble_sums looks many codes up at once; elsewhere it costs more than it saves.
#if defined(__AVX2__) || \
    (defined(__GNUC__) && !defined(__clang__) && (defined(__SSSE3__) || defined(__ARM_NEON)))
inline constexpr bool shuffles_bytes = true;
#else
inline constexpr bool shuffles_bytes = false;
#endif

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

#else  // AVX2

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

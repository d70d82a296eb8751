/// @file
/// Codes of four bits in blocks of 32 rows, as nibble_sums reads them.
#pragma once

#include <bhclust/types.hpp>

#include <cstdint>

namespace bhclust::detail {

/// The layout that nibble_sums reads. Two neighbouring groups make 32 bytes of codes: byte i of the
/// first 16 has row i in its low half and row 16 + i in its high half, of the first group; the
/// other 16 bytes are the second group's. Tables: 16 bytes a group, one after another. The number
/// of groups is even.
struct nibbles {
  static constexpr index_t rows = 32;
  static constexpr index_t entries = 16;

  /// Bytes of codes of a block of 32 rows.
  [[nodiscard]] static index_t bytes(index_t groups) noexcept { return groups * 16; }
  [[nodiscard]] static unsigned get(const std::uint8_t* block, index_t group,
                                    index_t row) noexcept {
    return (unsigned{block[group * 16 + row % 16]} >> shift(row)) & 15U;
  }
  static void set(std::uint8_t* block, index_t group, index_t row, unsigned code) noexcept {
    std::uint8_t& byte = block[group * 16 + row % 16];
    byte = static_cast<std::uint8_t>((byte & ~(15U << shift(row))) | (code << shift(row)));
  }

  /// Which byte of a table the code of a row's first group is in; those of others come 16 on.
  [[nodiscard]] static index_t byte_of(index_t row, index_t groups) noexcept {
    return row / rows * bytes(groups) + row % 16;
  }
  /// How far up in that byte it is; of a row of a block.
  [[nodiscard]] static unsigned shift(index_t row) noexcept { return row < 16 ? 0U : 4U; }
};

}  // namespace bhclust::detail

/// @file
/// Gains of rows that lie in blocks of eight.
#pragma once

#include <bhclust/detail/simd.hpp>
#include <bhclust/family.hpp>
#include <bhclust/types.hpp>

namespace bhclust::detail {

template <class Kernel>
using rows_of_blocks_t = decltype(&Kernel::rows_of_blocks);

/// The kernel's gains of `count` blocks of rows, one after another, by its own rows_of_blocks or by
/// rows().
template <class Kernel>
void rows_of_blocks(const Kernel& kernel, const typename Kernel::query& q, const double* blocks,
                    index_t count, double* scratch, double* out) {
  if constexpr (has<rows_of_blocks_t, Kernel>) {
    kernel.rows_of_blocks(q, blocks, count, scratch, out);
  } else {
    const index_t block = kernel.row_fields() * lanes::count;
    for (index_t i = 0; i < count; ++i) {
      kernel.rows(q, blocks + i * block, scratch).store(out + i * lanes::count);
    }
  }
}

}  // namespace bhclust::detail

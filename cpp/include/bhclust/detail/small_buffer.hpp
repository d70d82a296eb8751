/// @file
/// Room for a few numbers.
#pragma once

#include <bhclust/types.hpp>

#include <array>
#include <cstddef>
#include <memory>

namespace bhclust::detail {

/// `count` doubles of no known value, without an allocation where they are few.
class small_buffer {
 public:
  explicit small_buffer(index_t count) {
    // make_unique would write zeros, which took a tenth of some searches
    if (count > few) many_.reset(new double[static_cast<std::size_t>(count)]);
  }

  [[nodiscard]] double* data() noexcept { return many_ ? many_.get() : some_.data(); }

 private:
  static constexpr index_t few = 512;

  std::array<double, few> some_;
  std::unique_ptr<double[]> many_;
};

}  // namespace bhclust::detail

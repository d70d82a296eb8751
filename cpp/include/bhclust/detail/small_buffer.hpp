/// @file
/// Room for a few numbers.
#pragma once

#include <bhclust/types.hpp>

#include <array>
#include <cstddef>
#include <vector>

namespace bhclust::detail {

/// `count` doubles of no known value, without an allocation where they are few.
class small_buffer {
 public:
  explicit small_buffer(index_t count) {
    if (count > few) many_.resize(static_cast<std::size_t>(count));
  }

  [[nodiscard]] double* data() noexcept { return many_.empty() ? some_.data() : many_.data(); }

 private:
  static constexpr index_t few = 128;

  std::array<double, few> some_;
  std::vector<double> many_;
};

}  // namespace bhclust::detail

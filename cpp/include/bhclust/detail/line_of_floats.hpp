/// @file
/// Floats that vectors are loaded from.
#pragma once

#include <bhclust/types.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace bhclust::detail {

/// Floats that begin a cache line, so that no vector of them lies across two.
class line_of_floats {
 public:
  void resize(index_t n) {
    held_.assign(static_cast<std::size_t>(n) + line, 0.0F);
    const auto past = reinterpret_cast<std::uintptr_t>(held_.data()) / sizeof(float) % line;
    first_ = past == 0 ? 0 : line - past;
  }
  [[nodiscard]] float* data() noexcept { return held_.data() + first_; }
  [[nodiscard]] const float* data() const noexcept { return held_.data() + first_; }

 private:
  static constexpr std::size_t line = 64 / sizeof(float);
  std::vector<float> held_;
  std::size_t first_ = 0;
};

}  // namespace bhclust::detail

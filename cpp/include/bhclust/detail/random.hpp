/// @file
/// Random numbers that are the same on every platform: the standard fixes the engine's bits, but
/// not those of its distributions.
#pragma once

#include <bhclust/types.hpp>

#include <cmath>
#include <random>

namespace bhclust::detail {

class random_source {
 public:
  explicit random_source(std::uint64_t seed) : engine_(seed) {}

  /// Uniform in [0, 1), 53 bits.
  [[nodiscard]] double uniform() { return static_cast<double>(engine_() >> 11U) * 0x1.0p-53; }

 private:
  std::mt19937_64 engine_;
};

}  // namespace bhclust::detail

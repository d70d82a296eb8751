/// @file
/// Random numbers that are the same on every platform: the standard fixes the engine's bits, but
/// not those of its distributions.
#pragma once

#include <bhclust/types.hpp>

#include <cmath>
#include <random>
#include <utility>
#include <vector>

namespace bhclust::detail {

class random_source {
 public:
  explicit random_source(std::uint64_t seed) : engine_(seed) {}

  /// Uniform in [0, 1), 53 bits.
  [[nodiscard]] double uniform() { return static_cast<double>(engine_() >> 11U) * 0x1.0p-53; }
  /// Uniform in 0 … n - 1, for n up to 2^53.
  [[nodiscard]] index_t below(index_t n) {
    return static_cast<index_t>(uniform() * static_cast<double>(n));
  }
  /// Brings `count` of the values to the front, each choice and order of them as probable.
  template <class T>
  void choose(std::vector<T>& values, index_t count) {
    const auto n = static_cast<index_t>(values.size());
    for (index_t i = 0; i < count; ++i) {
      std::swap(values[static_cast<std::size_t>(i)],
                values[static_cast<std::size_t>(i + below(n - i))]);
    }
  }

 private:
  std::mt19937_64 engine_;
};

}  // namespace bhclust::detail

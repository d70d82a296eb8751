/// @file
/// Random numbers that are the same everywhere: the standard's distributions are not.
#pragma once

#include <bhclust/types.hpp>

#include <cmath>
#include <cstdint>
#include <random>
#include <utility>
#include <vector>

namespace testkit {

using bhclust::index_t;

class random_source {
 public:
  explicit random_source(std::uint64_t seed) : engine_(seed) {}

  /// In [0, 1).
  double uniform() { return std::ldexp(static_cast<double>(engine_() >> 11U), -53); }
  double uniform(double low, double high) { return low + (high - low) * uniform(); }
  double normal() {
    const double radius = std::sqrt(-2.0 * std::log(1.0 - uniform()));
    return radius * std::cos(6.283185307179586 * uniform());
  }
  /// About 1, up to some ten times more or less.
  double positive() { return std::exp(0.7 * normal()); }
  /// In 0 … n-1.
  index_t below(index_t n) { return static_cast<index_t>(uniform() * static_cast<double>(n)); }
  bool chance(double p) { return uniform() < p; }

  template <class T>
  void shuffle(std::vector<T>& values) {
    for (auto n = static_cast<index_t>(values.size()); n > 1; --n) {
      std::swap(values[static_cast<std::size_t>(n - 1)],
                values[static_cast<std::size_t>(below(n))]);
    }
  }

 private:
  std::mt19937_64 engine_;
};

}  // namespace testkit

#include "random_source.hpp"
#include <bhclust/detail/sorting.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <vector>

using namespace testkit;
using bhclust::detail::sort_values;

namespace {

/// One value of each kind of column: spread, few levels, all scales and signs, all equal.
double draw(random_source& random, int kind) {
  switch (kind) {
    case 0:
      return 1e8 + random.normal();
    case 1:
      return static_cast<double>(random.below(7) - 3);
    case 2:
      return std::ldexp(random.normal(), static_cast<int>(random.below(2000)) - 1000);
    default:
      return -3.5;
  }
}

}  // namespace

TEST_CASE("sorting: long and short columns as the standard library has them") {
  random_source random(11);
  for (const std::size_t n : {0UL, 1UL, 2UL, 100UL, 4096UL, 4097UL, 70000UL, 140001UL}) {
    for (int kind = 0; kind < 4; ++kind) {
      CAPTURE(n);
      CAPTURE(kind);
      std::vector<double> values(n);
      for (double& x : values) x = draw(random, kind);
      auto expected = values;
      std::sort(expected.begin(), expected.end());
      auto compared = values;
      sort_values(values);
      CHECK(values == expected);
      sort_values(compared, std::greater<>());
      CHECK(std::equal(expected.rbegin(), expected.rend(), compared.begin()));
    }
  }
}

TEST_CASE("sorting: zeros of both signs, subnormals and the ends of the range keep their bits") {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  constexpr double tiny = std::numeric_limits<double>::denorm_min();
  const std::vector<double> order = {
      -infinity, -std::numeric_limits<double>::max(), -1.0, -tiny, -0.0, 0.0, tiny, 1.0, infinity};
  random_source random(12);
  std::vector<double> values;
  for (int repeat = 0; repeat < 1000; ++repeat) {
    values.insert(values.end(), order.begin(), order.end());
  }
  random.shuffle(values);
  sort_values(values);
  for (std::size_t i = 0; i < values.size(); ++i) {
    CHECK(values[i] == order[i / 1000]);
    CHECK(std::signbit(values[i]) == std::signbit(order[i / 1000]));
  }
}

// Divergences keep their digits where their arguments are close.
#include <bhclust/detail/bregman.hpp>

#include <doctest/doctest.h>

#include <cmath>

using bhclust::detail::entropy_excess;
using bhclust::detail::kl_term;
using bhclust::detail::shifts_of_sums;
using doctest::Approx;

TEST_CASE("entropy_excess: small arguments by its Taylor series") {
  for (const double x : {1e-2, -1e-2, 1e-4, -1e-5, 1e-8, -1e-12, 1e-150}) {
    const double series =
        x * x * (1.0 / 2 - x * (1.0 / 6 - x * (1.0 / 12 - x * (1.0 / 20 - x / 30))));
    CHECK(entropy_excess(x) == Approx(series).epsilon(1e-11));
  }
}

TEST_CASE("entropy_excess: known values, and no step where the formula changes") {
  CHECK(entropy_excess(0.0) == 0.0);
  CHECK(entropy_excess(-1.0) == 1.0);
  CHECK(entropy_excess(1.0) == Approx(2.0 * std::log(2.0) - 1.0).epsilon(1e-15));
  CHECK(entropy_excess(-0.5) == Approx(0.5 - 0.5 * std::log(2.0)).epsilon(1e-15));
  for (const double edge : {0.25, -0.25}) {
    const double inside = edge * (1.0 - 1e-15);
    const double outside = edge * (1.0 + 1e-15);
    CHECK(entropy_excess(inside) == Approx(entropy_excess(outside)).epsilon(1e-13));
    CHECK(entropy_excess(edge) == Approx((1.0 + edge) * std::log1p(edge) - edge).epsilon(1e-14));
  }
}

TEST_CASE("kl_term: u log(u / v) - u + v") {
  CHECK(kl_term(2.0, 1.0) == Approx(3.0 * std::log(1.5) - 1.0).epsilon(1e-14));
  CHECK(kl_term(2.0, -2.0) == 2.0);
  CHECK(kl_term(1e20, 1e-3) >= 0.0);
}

TEST_CASE("shifts_of_sums: equal means of counts have no shift, others have the right one") {
  const auto equal = shifts_of_sums(3.0, 1.0, 6.0, 2.0);
  CHECK(equal.first == 0.0);
  CHECK(equal.second == 0.0);
  const auto shifts = shifts_of_sums(1.0, 5.0, 3.0, 3.0);
  CHECK(shifts.mean == 2.0);
  CHECK(shifts.first == 3.0);
  CHECK(shifts.second == -1.0);
}

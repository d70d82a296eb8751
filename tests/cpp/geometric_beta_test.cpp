#include "golden.hpp"
#include <bhclust/family/geometric_beta.hpp>

#include <doctest/doctest.h>

TEST_CASE("GeometricBeta: golden values") {
  golden::check<bhclust::GeometricBeta>("geometric_beta");
}

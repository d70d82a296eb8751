#include "golden.hpp"
#include <bhclust/family/poisson_gamma.hpp>

#include <doctest/doctest.h>

TEST_CASE("PoissonGamma: golden values") {
  golden::check<bhclust::PoissonGamma>("poisson_gamma", 4.0);
}

#include "golden.hpp"
#include <bhclust/family/exponential_gamma.hpp>

#include <doctest/doctest.h>

TEST_CASE("ExponentialGamma: golden values") {
  golden::check<bhclust::ExponentialGamma>("exponential_gamma");
}

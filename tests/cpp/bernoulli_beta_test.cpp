#include "golden.hpp"
#include <bhclust/family/bernoulli_beta.hpp>

#include <doctest/doctest.h>

TEST_CASE("BernoulliBeta: golden values") {
  golden::check<bhclust::BernoulliBeta>("bernoulli_beta");
}

#include "golden.hpp"
#include <bhclust/family/von_mises_fisher.hpp>

#include <doctest/doctest.h>

TEST_CASE("VonMisesFisher: golden values") {
  golden::check<bhclust::VonMisesFisher>("von_mises_fisher", 4.0);
}

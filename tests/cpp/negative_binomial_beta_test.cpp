#include "golden.hpp"
#include <bhclust/family/negative_binomial_beta.hpp>

#include <doctest/doctest.h>

TEST_CASE("NegativeBinomialBeta: golden values") {
  golden::check<bhclust::NegativeBinomialBeta>("negative_binomial_beta");
}

#include "golden.hpp"
#include <bhclust/family/multinomial_dirichlet.hpp>

#include <doctest/doctest.h>

TEST_CASE("MultinomialDirichlet: golden values") {
  golden::check<bhclust::MultinomialDirichlet>("multinomial_dirichlet", 4.0);
}

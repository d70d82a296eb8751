#include "golden.hpp"
#include <bhclust/family/categorical_dirichlet.hpp>

#include <doctest/doctest.h>

TEST_CASE("CategoricalDirichlet: golden values") {
  golden::check<bhclust::CategoricalDirichlet>("categorical_dirichlet");
}

#include "family_checks.hpp"
#include "golden.hpp"
#include <bhclust/family/poisson_gamma.hpp>

#include <doctest/doctest.h>

#include <array>
#include <cmath>

using bhclust::PoissonGamma;
using bhclust::detail::poisson_gamma_column;
using checks::missing;
using checks::table;
using doctest::Approx;

TEST_CASE("PoissonGamma: golden values") { golden::check<PoissonGamma>("poisson_gamma", 4.0); }

TEST_CASE("PoissonGamma: a sure prior is the likelihood") {
  const PoissonGamma family{3e14, 1e14};
  CHECK(checks::log_marginal(family, table{{2, 4}, 1}) ==
        Approx(6.0 * std::log(3.0) - 6.0 - std::log(48.0)).epsilon(1e-12));
}

TEST_CASE("PoissonGamma: divergence") {
  using state = std::array<double, 3>;
  const poisson_gamma_column column{1.0, 1.0};
  for (const state& t : {state{1, 0, 0}, state{1, 2, 0}, state{3, 1e6, 0}}) {
    for (const state& s : {state{2, 9, 0}, state{5, 0, 0}}) {
      checks::checked_divergence(column, t, s);
    }
  }
  CHECK(column.divergence(state{3, 6, 0}.data(), state{5, 10, 0}.data()) == 0.0);
  // n/4 · shift² / mean
  CHECK(column.divergence(state{1e9, 4e9, 0}.data(), state{1e9, 4e9 + 1, 0}.data()) ==
        Approx(0.25e9 * 1e-18 / 4.01).epsilon(1e-9));
}

TEST_CASE("PoissonGamma: rates have the column's mean and spread by default") {
  const std::vector<double> cells{0, 5, missing, 90, 6, missing, 0, 5, missing, 2, 6, missing};
  const auto family = checks::valid_defaults<PoissonGamma>(table{cells, 3});
  const double means[] = {92.5 / 5, 22.5 / 5, 0.5};
  for (bhclust::index_t j = 0; j < 3; ++j) {
    CHECK(family.shape[j] / family.rate[j] == Approx(means[j]));
  }
  CHECK(family.shape[0] < 0.5);                // more spread than is typical
  CHECK(family.shape[1] == Approx(9.0 / 10));  // no more than Poisson: the typical, shrunk
  CHECK(family.shape[2] == Approx(0.5));       // no cells: the typical
}

TEST_CASE("PoissonGamma: defaults of degenerate tables, dense and CSR") {
  checks::valid_defaults<PoissonGamma>(table{{7}, 1});
  checks::valid_defaults<PoissonGamma>(table{{0, 1e15, 0, 0}, 2});
  const std::vector<double> cells{0, 2, 0, 5, 0, 1, 0, 0, 0};
  const checks::sparse_table sparse(table{cells, 3});
  const auto family = checks::valid_defaults<PoissonGamma>(sparse);
  const auto dense = PoissonGamma::from_data(table{cells, 3});
  for (bhclust::index_t j = 0; j < 3; ++j) {
    CHECK(family.shape[j] == Approx(dense.shape[j]).epsilon(1e-13));
    CHECK(family.rate[j] == Approx(dense.rate[j]).epsilon(1e-13));
  }
}

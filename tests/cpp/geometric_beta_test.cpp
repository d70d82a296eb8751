#include "family_checks.hpp"
#include "golden.hpp"
#include <bhclust/family/geometric_beta.hpp>

#include <doctest/doctest.h>

#include <array>
#include <cmath>

using bhclust::GeometricBeta;
using bhclust::detail::geometric_beta_column;
using checks::missing;
using checks::table;
using doctest::Approx;

TEST_CASE("GeometricBeta: golden values") { golden::check<GeometricBeta>("geometric_beta"); }

TEST_CASE("GeometricBeta: P(x) = 1 / ((x + 1) (x + 2)) under Beta(1, 1)") {
  for (const double x : {0.0, 1.0, 17.0, 1e6, 1e12}) {
    CHECK(checks::log_marginal(GeometricBeta{}, table{{x}, 1}) ==
          Approx(-std::log((x + 1.0) * (x + 2.0))).epsilon(1e-14));
  }
}

TEST_CASE("GeometricBeta: divergence") {
  using state = std::array<double, 2>;
  const geometric_beta_column column{1.0, 1.0, {}};
  for (const state& t : {state{1, 0}, state{1, 2}, state{3, 1e6}}) {
    for (const state& s : {state{2, 9}, state{5, 1}}) checks::checked_divergence(column, t, s);
  }
  CHECK(column.divergence(state{3, 6}.data(), state{5, 10}.data()) == 0.0);
}

TEST_CASE("GeometricBeta: clusters' means have the column's mean by default") {
  const std::vector<double> cells{0, 9, missing, 3, 9, missing, 8, 9, missing, 0, 9, missing};
  const auto family = checks::valid_defaults<GeometricBeta>(table{cells, 3});
  const double means[] = {11.5 / 5, 36.5 / 5, 0.5};
  for (bhclust::index_t j = 0; j < 3; ++j) {
    CHECK(family.a[j] > 2.0);
    CHECK(family.b[j] / (family.a[j] - 1.0) == Approx(means[j]));
  }
}

TEST_CASE("GeometricBeta: defaults of degenerate tables, dense and CSR") {
  checks::valid_defaults<GeometricBeta>(table{{7}, 1});
  checks::valid_defaults<GeometricBeta>(table{{0, 1e15, 0, 0}, 2});
  const std::vector<double> cells{0, 2, 0, 5, 0, 1, 0, 0, 0};
  const checks::sparse_table sparse(table{cells, 3});
  const auto family = checks::valid_defaults<GeometricBeta>(sparse);
  const auto dense = GeometricBeta::from_data(table{cells, 3});
  for (bhclust::index_t j = 0; j < 3; ++j) {
    CHECK(family.a[j] == Approx(dense.a[j]).epsilon(1e-13));
    CHECK(family.b[j] == Approx(dense.b[j]).epsilon(1e-13));
  }
}

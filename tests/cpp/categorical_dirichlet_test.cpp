#include "family_checks.hpp"
#include "golden.hpp"
#include <bhclust/family/categorical_dirichlet.hpp>

#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <string>
#include <vector>

using bhclust::CategoricalDirichlet;
using bhclust::detail::categorical_dirichlet_column;
using checks::missing;
using checks::table;
using doctest::Approx;

namespace {

void bind_to(const CategoricalDirichlet& family, const bhclust::table_view& X) {
  static_cast<void>(bhclust::bind(family, X));
}

}  // namespace

TEST_CASE("CategoricalDirichlet: golden values") {
  golden::check<CategoricalDirichlet>("categorical_dirichlet");
}

TEST_CASE("CategoricalDirichlet: one level in a billion rows keeps its digits") {
  const categorical_dirichlet_column column{1.0, 4, {}, {}};
  const std::array<double, 4> t{0.0, 1e9, 0.0, 0.0};
  const double n = 1e9;
  CHECK(column.log_marginal(t.data()) ==
        Approx(std::log(6.0) - std::log(n + 1) - std::log(n + 2) - std::log(n + 3)).epsilon(1e-15));
}

TEST_CASE("CategoricalDirichlet: a column of one level says nothing") {
  CHECK(checks::log_marginal(CategoricalDirichlet{0.3, 1.0}, table{{0, 0, 0}, 1}) == 0.0);
}

TEST_CASE("CategoricalDirichlet: divergence") {
  using state = std::array<double, 3>;
  const categorical_dirichlet_column column{1.0, 3, {}, {}};
  for (const state& t : {state{1, 0, 0}, state{4, 2, 1}, state{1e6, 0, 1}}) {
    for (const state& s : {state{0, 0, 1}, state{2, 2, 2}}) {
      checks::checked_divergence(column, t, s);
    }
  }
  CHECK(column.divergence(state{3, 1, 0}.data(), state{6, 2, 0}.data()) == 0.0);
  CHECK(column.divergence(state{0, 0, 0}.data(), state{6, 2, 0}.data()) == 0.0);
}

TEST_CASE("CategoricalDirichlet: levels by default are the largest code + 1, at least 2") {
  const auto family = checks::valid_defaults<CategoricalDirichlet>(
      table{{0, 5, 0, missing, 2, 0, 0, missing, 1, 5, 0, missing}, 4});
  CHECK(family.levels.values() == std::vector<double>{3, 6, 2, 2});
}

TEST_CASE("CategoricalDirichlet: the purer a column, the weaker its prior by default") {
  std::vector<double> cells;
  for (int i = 0; i < 90; ++i) {
    cells.push_back(0);
    cells.push_back(i == 0 ? 2 : 0);
    cells.push_back(i % 3);
  }
  const auto a = checks::valid_defaults<CategoricalDirichlet>(table{cells, 3}).concentration;
  CHECK(2.0 * a[0] < 3.0 * a[1]);
  CHECK(a[1] < a[2]);
  CHECK(3.0 * a[2] == Approx(0.5 * (3.0 - 0.9)));
  checks::valid_defaults<CategoricalDirichlet>(table{{4095}, 1});
}

TEST_CASE("CategoricalDirichlet: refuses codes beyond the levels, naming the cell") {
  const std::vector<double> cells{0, 1, 2, missing, 1, 3};
  const CategoricalDirichlet family{1.0, {3, 3}};
  const auto said = checks::complaint([&] { bind_to(family, table{cells, 2}); });
  CHECK(checks::mentions(said, {"row 2", "column 1", "is 3", "levels is 3", "raise levels"}));
  bind_to({1.0, {3, 4}}, table{cells, 2});
}

TEST_CASE("CategoricalDirichlet: refuses missing, misshapen and absurd levels") {
  const auto X = table{{0, 1, 1, 0}, 2};
  CHECK(checks::mentions(checks::complaint([&] { bind_to({}, X); }),
                         {"levels is not given", "from_data"}));
  CHECK(checks::mentions(checks::complaint([&] { bind_to({1.0, {2, 2, 2}}, X); }),
                         {"levels", "3 value"}));
  CHECK(checks::mentions(checks::complaint([&] { bind_to({1.0, 2.5}, X); }), {"levels", "2.5"}));
  CHECK(checks::mentions(checks::complaint([&] { bind_to({1.0, {2, 5000}}, X); }),
                         {"levels[1] is 5000", "4096", "identifier"}));
  const auto ids = table{{0, 123456, 1, 99}, 2};
  CHECK(checks::mentions(
      checks::complaint([&] { static_cast<void>(CategoricalDirichlet::from_data(ids)); }),
      {"row 0", "column 1", "123456", "identifier"}));
}

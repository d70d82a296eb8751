#include "family_checks.hpp"
#include "golden.hpp"
#include <bhclust/detail/beta.hpp>
#include <bhclust/family/bernoulli_beta.hpp>

#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <string>

using bhclust::BernoulliBeta;
using bhclust::detail::bernoulli_beta_column;
using bhclust::detail::log_beta_ratio;
using checks::missing;
using checks::table;
using doctest::Approx;

TEST_CASE("BernoulliBeta: golden values") { golden::check<BernoulliBeta>("bernoulli_beta"); }

TEST_CASE("log_beta_ratio: near certainty keeps its digits") {
  // a million ones where the prior expects nothing else: -b (ψ(2e6) - ψ(1e6))
  const double wanted = -1e-6 * (std::log(2.0) + 2.5e-7);
  CHECK(log_beta_ratio(1e6, 1e-6, 1e6, 0.0) == Approx(wanted).epsilon(1e-9));
  CHECK(log_beta_ratio(1e-6, 1e6, 0.0, 1e6) == Approx(wanted).epsilon(1e-9));
  // under Beta(1, 1): 1 / (n + 1)
  CHECK(log_beta_ratio(1.0, 1.0, 1e9, 0.0) == Approx(-std::log(1e9 + 1.0)).epsilon(1e-15));
}

TEST_CASE("log_beta_ratio: a prior that is sure is the likelihood") {
  CHECK(log_beta_ratio(1e15, 3e15, 2.0, 1.0) ==
        Approx(2.0 * std::log(0.25) + std::log(0.75)).epsilon(1e-14));
}

TEST_CASE("BernoulliBeta: divergence") {
  const bernoulli_beta_column column{1.0, 1.0, {}};
  using state = std::array<double, 2>;
  for (const state& t : {state{1, 0}, state{1, 1}, state{7, 3}, state{1e6, 1e6}, state{9, 0}}) {
    for (const state& s : {state{1, 1}, state{4, 1}, state{1e6, 2}}) {
      checks::checked_divergence(column, t, s);
    }
  }
  CHECK(column.divergence(state{7, 3}.data(), state{21, 9}.data()) == 0.0);
  CHECK(column.divergence(state{0, 0}.data(), state{21, 9}.data()) == 0.0);
  // large clusters with nearly equal means: n/2 · shift² / (p q), far below the potentials'
  // rounding
  const double d = column.divergence(state{1e12, 5e11}.data(), state{1e12, 5e11 + 1.0}.data());
  CHECK(d == Approx(1e12 * std::pow(0.99 * 0.5e-12, 2) / 0.25).epsilon(1e-9));
}

TEST_CASE("BernoulliBeta: defaults weigh one row, about each column's share") {
  const auto family = checks::valid_defaults<BernoulliBeta>(
      table{{1, 0, 1, missing, 1, 0, missing, missing, 1, 0, 0, missing}, 4});
  CHECK(family.a.values() == std::vector<double>{3.5 / 4, 0.5 / 4, 1.5 / 3, 0.5});
  for (bhclust::index_t j = 0; j < 4; ++j) CHECK(family.a[j] + family.b[j] == 1.0);
  checks::valid_defaults<BernoulliBeta>(table{{1}, 1});
}

TEST_CASE("BernoulliBeta: refuses other cells, in its defaults too") {
  const auto X = table{{1, 0, 1, 2}, 2};
  const auto said = checks::complaint([&] { static_cast<void>(BernoulliBeta::from_data(X)); });
  CHECK(checks::mentions(said, {"row 1", "column 1", "2", "0 or 1"}));
}

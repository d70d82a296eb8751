#include "family_checks.hpp"
#include "golden.hpp"
#include <bhclust/family/exponential_gamma.hpp>

#include <doctest/doctest.h>

#include <array>
#include <cmath>

using bhclust::ExponentialGamma;
using bhclust::detail::exponential_gamma_column;
using checks::missing;
using checks::table;
using doctest::Approx;
using state = std::array<double, 2>;

TEST_CASE("ExponentialGamma: golden values") {
  golden::check<ExponentialGamma>("exponential_gamma");
}

TEST_CASE("ExponentialGamma: a sure prior is the likelihood") {
  const ExponentialGamma family{1e14, 0.5e14};  // rate 2
  CHECK(checks::log_marginal(family, table{{0.5, 3.0}, 1}) ==
        Approx(2.0 * std::log(2.0) - 2.0 * 3.5).epsilon(1e-12));
}

TEST_CASE("ExponentialGamma: divergence") {
  const exponential_gamma_column column{1.0, 1.0};
  for (const state& t : {state{1, 2}, state{3, 0.1}, state{1e5, 7e5}}) {
    for (const state& s : {state{2, 9}, state{5, 1e-3}}) checks::checked_divergence(column, t, s);
  }
  CHECK(column.divergence(state{3, 6}.data(), state{5, 10}.data()) == 0.0);
  // n/4 · (relative distance of the means)²
  CHECK(column.divergence(state{1e6, 1e6}.data(), state{1e6, 1e6 + 1.0}.data()) ==
        Approx(0.25e6 * 1e-12).epsilon(1e-5));
}

TEST_CASE("ExponentialGamma: divergence does not depend on the unit, up to the ends of the range") {
  const exponential_gamma_column column{1.0, 1.0};
  const double d = column.divergence(state{2, 3}.data(), state{3, 50}.data());
  for (const int k : {-1000, -300, 300, 900}) {
    const state t{2, std::ldexp(3.0, k)};
    const state s{3, std::ldexp(50.0, k)};
    CHECK(column.divergence(t.data(), s.data()) == d);
  }
  // one cell of 1e-300 and one of 1e300: log of the means' ratio, less log 2 each
  CHECK(column.divergence(state{1, 1e-300}.data(), state{1, 1e300}.data()) ==
        Approx(600.0 * std::log(10.0) - 2.0 * std::log(2.0)).epsilon(1e-14));
}

TEST_CASE("ExponentialGamma: defaults follow the unit of the data") {
  const std::vector<double> cells{1.0, 20.0, 3.0, missing, 0.5, 21.0, 40.0, 22.0};
  const auto family = checks::valid_defaults<ExponentialGamma>(table{cells, 2});
  auto scaled = cells;
  for (auto& x : scaled) x *= 0x1p-100;
  const auto small = checks::valid_defaults<ExponentialGamma>(table{scaled, 2});
  CHECK(small.shape == family.shape);
  for (bhclust::index_t j = 0; j < 2; ++j) {
    CHECK(small.rate[j] == family.rate[j] * 0x1p-100);
    CHECK(family.shape[j] > 2.0);
  }
  CHECK(family.shape[0] < family.shape[1]);  // the first column spreads more than an exponential
  CHECK(family.rate[1] / (family.shape[1] - 1.0) == Approx(21.0));  // prior mean = column mean
}

TEST_CASE("ExponentialGamma: defaults of degenerate tables") {
  checks::valid_defaults<ExponentialGamma>(table{{3.0}, 1});
  checks::valid_defaults<ExponentialGamma>(table{{2.0, missing, 2.0, missing}, 2});
  for (const double scale : {1e-300, 1e-160, 1e160, 1e299}) {
    checks::valid_defaults<ExponentialGamma>(table{{scale, 2.0 * scale, 9.0 * scale}, 1});
  }
}

#include "family_checks.hpp"
#include "golden.hpp"
#include <bhclust/family/negative_binomial_beta.hpp>
#include <bhclust/family/poisson_gamma.hpp>

#include <doctest/doctest.h>

#include <array>
#include <cmath>

using bhclust::NegativeBinomialBeta;
using bhclust::detail::log_negative_binomial_coefficient;
using bhclust::detail::negative_binomial_beta_column;
using checks::missing;
using checks::table;
using doctest::Approx;
using state = std::array<double, 3>;

TEST_CASE("NegativeBinomialBeta: golden values") {
  golden::check<NegativeBinomialBeta>("negative_binomial_beta");
}

TEST_CASE("negative binomial coefficients") {
  CHECK(log_negative_binomial_coefficient(3.0, 0.0) == 0.0);
  CHECK(log_negative_binomial_coefficient(3.0, 4.0) == Approx(std::log(15.0)).epsilon(1e-15));
  CHECK(log_negative_binomial_coefficient(5.0, 2.0) == Approx(std::log(15.0)).epsilon(1e-15));
  CHECK(log_negative_binomial_coefficient(1.0, 123456.0) == 0.0);
  CHECK(log_negative_binomial_coefficient(2.0, 1e12) ==
        Approx(std::log(1e12 + 1.0)).epsilon(1e-15));
  CHECK(log_negative_binomial_coefficient(0.5, 2.0) == Approx(std::log(0.375)).epsilon(1e-15));
  // both sides of the place where the formula changes: C(2k, k) from C(2k - 1, k) by one factor
  const double below = log_negative_binomial_coefficient(1001.0, 1000.0);
  const double above = log_negative_binomial_coefficient(1000.0, 1000.0);
  CHECK(below - above == Approx(std::log(2.0)).epsilon(1e-11));
}

TEST_CASE("NegativeBinomialBeta: divergence") {
  for (const double r : {0.3, 1.0, 40.0}) {
    const negative_binomial_beta_column column{r, 1.0, 1.0};
    for (const state& t : {state{1, 0, 0}, state{1, 2, 0}, state{3, 1e6, 0}}) {
      for (const state& s : {state{2, 9, 0}, state{5, 1, 0}}) {
        checks::checked_divergence(column, t, s);
      }
    }
  }
  // large means: the two terms of φ cancel to n/4 · (relative distance)²
  const negative_binomial_beta_column column{1.0, 1.0, 1.0};
  CHECK(column.divergence(state{1, 1e9, 0}.data(), state{1, 1e9 + 1e3, 0}.data()) ==
        Approx(0.25e-12).epsilon(1e-5));
}

TEST_CASE("NegativeBinomialBeta: divergence is the Poisson's for large r") {
  const negative_binomial_beta_column column{1e14, 1.0, 1.0};
  for (const state& t : {state{1, 0, 0}, state{3, 100, 0}}) {
    const state s{4, 17, 0};
    CHECK(column.divergence(t.data(), s.data()) ==
          Approx(bhclust::detail::poisson_gamma_column::divergence(t.data(), s.data()))
              .epsilon(1e-10));
  }
}

TEST_CASE("NegativeBinomialBeta: r by default from how far counts spread beyond Poisson") {
  const auto even = checks::valid_defaults<NegativeBinomialBeta>(table{{5, 6, 5, 6, 5, 5}, 1});
  CHECK(even.r[0] == 100.0);
  const auto wild = checks::valid_defaults<NegativeBinomialBeta>(table{{0, 0, 0, 0, 0, 900}, 1});
  CHECK(wild.r[0] == 1.0);
  const auto some = checks::valid_defaults<NegativeBinomialBeta>(table{{2, 9, 14, 5, 1, 17}, 1});
  CHECK(some.r[0] > 1.0);
  CHECK(some.r[0] < 100.0);
  CHECK(some.r.rank() == 0);
  CHECK(some.r[0] * some.b[0] / (some.a[0] - 1.0) == Approx(48.5 / 7));  // the column's mean
}

TEST_CASE("NegativeBinomialBeta: defaults of degenerate tables") {
  checks::valid_defaults<NegativeBinomialBeta>(table{{0}, 1});
  checks::valid_defaults<NegativeBinomialBeta>(table{{0, missing, 4, 0, missing, 4}, 3});
  checks::valid_defaults<NegativeBinomialBeta>(table{{0, 1e15, 0, 0}, 2});
}

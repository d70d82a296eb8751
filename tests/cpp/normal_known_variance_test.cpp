#include "gaussian_tables.hpp"
#include "golden.hpp"
#include <bhclust/family/normal_known_variance.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <vector>

using bhclust::index_t;
using bhclust::NormalKnownVariance;

TEST_CASE("NormalKnownVariance: golden values") {
  golden::check<NormalKnownVariance>("normal_known_variance");
}

TEST_CASE("NormalKnownVariance: a million rows with weak and strong priors") {
  for (const double rho2 : {1e-6, 1.0, 1e6}) {
    const auto model = bhclust::bind(NormalKnownVariance{0.5, 0.25, rho2}, 1);
    const double n = 1e6;
    const double t[] = {n, 1.5, 0.0, 6e5};
    const long double v = 0.5L + n * static_cast<long double>(rho2);
    const long double wanted =
        -0.5L * (n * logl(2.0L * 3.14159265358979323846264338328L) + (n - 1.0L) * logl(0.5L) +
                 logl(v) + 6e5L / 0.5L + n * 1.25L * 1.25L / v);
    CHECK(model.log_marginal(t) == doctest::Approx(static_cast<double>(wanted)).epsilon(1e-14));
  }
}

TEST_CASE("NormalKnownVariance: divergence is Ward's cost") {
  gaussian::check_divergence<NormalKnownVariance>(1e-13);
  gaussian::check_units<NormalKnownVariance>();
  const auto model = bhclust::bind(NormalKnownVariance{{0.5, 2.0}, 0.0, 1.0}, 2);
  const double cells[] = {1.0, 4.0, 3.0, 6.0, 5.0, 0.0};
  const auto X = bhclust::rows(cells, 3, 2);
  std::vector<double> a(8, 0.0), b(8, 0.0), scratch(8, 0.0);
  model.observe(X.row(0), a.data());
  model.observe(X.row(1), a.data());
  model.observe(X.row(2), b.data());
  CHECK(model.divergence(a.data(), b.data(), scratch.data()) ==
        doctest::Approx(2.0 / 3.0 * (9.0 / (2.0 * 0.5) + 25.0 / (2.0 * 2.0))).epsilon(1e-15));
}

TEST_CASE("NormalKnownVariance: fast scores are the plain ones") {
  for (const index_t d : {1, 3, 8, 17}) {
    for (const auto& t : gaussian::hard(45, d)) {
      gaussian::check_store(NormalKnownVariance::from_data(t.view()), t, 1e-9);
    }
  }
  const auto t = gaussian::mixture(90, 3, 31);
  gaussian::check_trees(NormalKnownVariance::from_data(t.view()), t);
  gaussian::check_store(NormalKnownVariance{{1.0, 2.0, 3.0}, {0.1, 1.0, 10.0}, {5.0, 0.1, 1e6}}, t,
                        1e-9);
}

TEST_CASE("NormalKnownVariance: tables that the fast scores do not take") {
  auto t = gaussian::mixture(40, 3, 32);
  const auto family = NormalKnownVariance::from_data(t.view());
  auto holes = t;
  for (std::size_t c = 0; c < holes.cells.size(); c += 5) {
    holes.cells[c] = std::numeric_limits<double>::quiet_NaN();
  }
  gaussian::check_store(family, holes, 1e-9);
  using kernel =
      bhclust::detail::normal_known_variance_kernel<bhclust::detail::normal_known_variance_model>;
  CHECK(kernel::takes(family.bind(3), t.view()));
  CHECK_FALSE(kernel::takes(family.bind(3), holes.view()));
}

TEST_CASE("NormalKnownVariance: defaults for any table") {
  for (const auto& t : gaussian::odd_tables()) gaussian::check_defaults<NormalKnownVariance>(t);
  const double nan = std::numeric_limits<double>::quiet_NaN();
  gaussian::check_defaults<NormalKnownVariance>({"holes", 3, 2, {1.0, nan, nan, nan, 2.0, nan}});
}

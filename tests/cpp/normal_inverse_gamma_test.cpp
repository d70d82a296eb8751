#include "gaussian_tables.hpp"
#include "golden.hpp"
#include <bhclust/family/normal_inverse_gamma.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <vector>

using bhclust::index_t;
using bhclust::NormalInverseGamma;
using gaussian::table;

TEST_CASE("NormalInverseGamma: golden values") {
  golden::check<NormalInverseGamma>("normal_inverse_gamma");
}

TEST_CASE("NormalInverseGamma: a million rows with weak and strong priors") {
  for (const double kappa : {1e-6, 1.0, 1e6}) {
    for (const double a : {1e-6, 1.0, 1e6}) {
      const NormalInverseGamma family{0.25, kappa, a, 2.0};
      const auto model = bhclust::bind(family, 1);
      const double n = 1e6;
      const double t[] = {n, 1.5, 0.0, 3e6};
      const long double b = 2.0L + 1.5e6L + 0.5L * kappa * n / (kappa + n) * 1.25L * 1.25L;
      const long double wanted = lgammal(a + 0.5L * n) - lgammal(a) + a * logl(2.0L) -
                                 (a + 0.5L * n) * logl(b) + 0.5L * logl(kappa / (kappa + n)) -
                                 0.5L * n * logl(2.0L * 3.14159265358979323846264338328L);
      CHECK(model.log_marginal(t) == doctest::Approx(static_cast<double>(wanted)).epsilon(1e-13));
    }
  }
}

TEST_CASE("NormalInverseGamma: what is added can be taken out again") {
  for (const auto& t : gaussian::hard(60, 2)) {
    INFO(t.kind);
    const auto model = bhclust::bind(NormalInverseGamma::from_data(t.view()), t.view());
    const auto a = gaussian::statistics(model, t, 0, 20);
    const auto b = gaussian::statistics(model, t, 20, 60);
    auto both = a;
    model.merge(both.data(), b.data());
    const auto pooled = gaussian::statistics(model, t, 0, 60);
    CHECK(model.log_marginal(both.data()) ==
          doctest::Approx(model.log_marginal(pooled.data())).epsilon(1e-13));
    model.remove(both.data(), b.data());
    CHECK(model.log_marginal(both.data()) ==
          doctest::Approx(model.log_marginal(a.data())).epsilon(1e-11));
    model.remove(both.data(), a.data());
    CHECK(both == std::vector<double>(both.size(), 0.0));
  }
}

TEST_CASE("NormalInverseGamma: an offset costs no digits") {
  const auto t = gaussian::mixture(50, 2, 9);
  table rounded = gaussian::shifted(t, "on a grid", 1.0, 0.0);
  for (double& x : rounded.cells) x = std::ldexp(std::round(std::ldexp(x, 20)), -20);
  const double offset = std::ldexp(1.0, 27);
  const auto far = gaussian::shifted(rounded, "far", 1.0, offset);
  const auto log_p = [](const table& x, double mean) {
    const auto model = bhclust::bind(NormalInverseGamma{mean, 0.1, 1.0, 0.5}, x.view());
    return model.log_marginal(gaussian::statistics(model, x, 0, x.n).data());
  };
  CHECK(log_p(far, offset) == doctest::Approx(log_p(rounded, 0.0)).epsilon(1e-14));
}

TEST_CASE("NormalInverseGamma: divergence") {
  gaussian::check_divergence<NormalInverseGamma>(1e-13);
  gaussian::check_units<NormalInverseGamma>();
}

TEST_CASE("NormalInverseGamma: divergence of large clusters that hardly differ") {
  const auto model = bhclust::bind(NormalInverseGamma{0.0, 1.0, 1.0, 1.0}, 1);
  const double n = 1e7;
  const double t[] = {n, 0.0, 0.0, 2.0 * n};
  const double s[] = {n, 1e-6, 0.0, 2.000001 * n};
  const long double eps = 0.01L;
  const long double w0 = 2.0L + eps;
  const long double w1 = 2.000001L + eps;
  const long double w = 0.5L * (w0 + w1) + 0.25e-12L;
  const auto wanted =
      static_cast<double>(0.5L * n * (log1pl((w - w0) / w0) + log1pl((w - w1) / w1)));
  double scratch[4];
  CHECK(model.divergence(t, s, scratch) == doctest::Approx(wanted).epsilon(1e-6));
}

TEST_CASE("NormalInverseGamma: fast scores are the plain ones") {
  for (const index_t d : {1, 3, 8, 9, 17}) {
    for (const auto& t : gaussian::hard(45, d)) {
      gaussian::check_store(NormalInverseGamma::from_data(t.view()), t, 1e-9);
    }
  }
  const auto t = gaussian::mixture(90, 3, 21);
  gaussian::check_trees(NormalInverseGamma::from_data(t.view()), t);
  gaussian::check_store(NormalInverseGamma{{1.0, 2.0, 3.0}, {0.1, 1.0, 10.0}, 2.0, {1.0, 2.0, 4.0}},
                        t, 1e-9);
}

TEST_CASE("NormalInverseGamma: fast scores of tables with holes are the plain ones") {
  for (const index_t d : {1, 3, 9, 17}) {
    for (const auto& t : gaussian::hard(45, d)) {
      const auto holes = gaussian::with_holes(t, 7);
      gaussian::check_store(NormalInverseGamma::from_data(holes.view()), holes, 1e-9);
    }
  }
  const auto t = gaussian::with_holes(gaussian::mixture(90, 4, 21), 5);
  gaussian::check_trees(NormalInverseGamma::from_data(t.view()), t);
  gaussian::check_store(
      NormalInverseGamma{{1.0, 2.0, 3.0, 0.0}, {0.1, 1.0, 1.0, 0.1}, {2.0, 1.0, 2.0, 2.0}, 1.5}, t,
      1e-9);
}

TEST_CASE("NormalInverseGamma: tables that the fast scores do not take") {
  auto t = gaussian::mixture(40, 6, 22);
  const auto family = NormalInverseGamma::from_data(t.view());
  const NormalInverseGamma many_kinds{0.0, 0.1, {1.0, 2.0, 3.0, 4.0, 5.0, 6.0}, 1.0};
  gaussian::check_store(many_kinds, t, 1e-9);
  auto wild = t;
  wild.cells[4] = 1e60;
  gaussian::check_store(family, wild, 1e-9);
  const auto holes = gaussian::with_holes(t, 5);
  using model = bhclust::detail::normal_inverse_gamma_model;
  using kernel = bhclust::detail::normal_inverse_gamma_kernel<model>;
  using holes_kernel = bhclust::detail::normal_inverse_gamma_holes_kernel<model>;
  CHECK(kernel::takes(family.bind(6), t.view()));
  CHECK_FALSE(kernel::takes(family.bind(6), wild.view()));
  CHECK_FALSE(kernel::takes(family.bind(6), holes.view()));
  CHECK(holes_kernel::takes(family.bind(6), holes.view()));
  CHECK_FALSE(holes_kernel::takes(family.bind(6), wild.view()));
  CHECK_FALSE(holes_kernel::takes(many_kinds.bind(6), holes.view()));
}

TEST_CASE("NormalInverseGamma: defaults for any table") {
  for (const auto& t : gaussian::odd_tables()) gaussian::check_defaults<NormalInverseGamma>(t);
  const double nan = std::numeric_limits<double>::quiet_NaN();
  gaussian::check_defaults<NormalInverseGamma>({"holes", 3, 2, {1.0, nan, nan, nan, 2.0, nan}});
}

TEST_CASE("NormalInverseGamma: defaults follow the data") {
  const auto t = gaussian::mixture(200, 2, 23);
  const auto family = NormalInverseGamma::from_data(t.view());
  const auto moved = NormalInverseGamma::from_data(gaussian::shifted(t, "", 8.0, 1024.0).view());
  for (index_t j = 0; j < 2; ++j) {
    CHECK(moved.mean[j] == doctest::Approx(8.0 * (family.mean[j] + 1024.0)).epsilon(1e-12));
    CHECK(moved.b[j] == doctest::Approx(64.0 * family.b[j]).epsilon(1e-9));
  }
  auto wild = t;
  wild.cells[0] = 1e9;
  CHECK(NormalInverseGamma::from_data(wild.view()).b[0] ==
        doctest::Approx(family.b[0]).epsilon(0.1));
  table coarse{"recorded in steps of 2", 8, 1, {0, 2, 2, 4, 4, 4, 6, 2}};
  CHECK(NormalInverseGamma::from_data(coarse.view()).b[0] >= 4.0 / 12.0);
}

#include "gaussian_tables.hpp"
#include "golden.hpp"
#include <bhclust/family/normal_inverse_gamma.hpp>
#include <bhclust/family/normal_inverse_wishart.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

using bhclust::index_t;
using bhclust::NormalInverseGamma;
using bhclust::NormalInverseWishart;
using bhclust::parameter;
using gaussian::table;

namespace {

/// A scatter is known to 1e-16 of itself; where it is large against psi and of low rank, that is
/// what the determinant is known to.
double lost_to_rounding(const nlohmann::json& point) {
  const auto family = golden::to_family<NormalInverseWishart>(point.at("hyper"));
  const auto d = point.at("columns").get<index_t>();
  const auto cells = golden::to_cells(point.at("rows"));
  const auto n = static_cast<index_t>(point.at("rows").size());
  double ratio = 0.0;
  for (index_t j = 0; j < d; ++j) {
    double low = cells[static_cast<std::size_t>(j)];
    double high = low;
    for (index_t i = 0; i < n; ++i) {
      low = std::min(low, cells[static_cast<std::size_t>(i * d + j)]);
      high = std::max(high, cells[static_cast<std::size_t>(i * d + j)]);
    }
    const double psi = family.psi.rank() == 2 ? family.psi[j * d + j] : family.psi[j];
    ratio += (high - low) * (high - low) / psi;
  }
  return 1e-16 * (family.nu[0] + static_cast<double>(n)) * static_cast<double>(n) * ratio;
}

std::string refusal(const NormalInverseWishart& family, index_t columns) {
  try {
    static_cast<void>(bhclust::bind(family, columns));
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "taken";
}

}  // namespace

TEST_CASE("NormalInverseWishart: golden values") {
  const auto points = golden::read("normal_inverse_wishart");
  REQUIRE(points.size() >= 100);
  int exact = 0;
  for (const auto& point : points) {
    const double wanted = std::stod(point.at("log_marginal").get<std::string>());
    const double error = std::fabs(golden::log_marginal<NormalInverseWishart>(point) - wanted);
    const double allowed = 1e-12 * std::max(1.0, std::fabs(wanted));
    if (error <= allowed) {
      ++exact;
      continue;
    }
    CHECK_MESSAGE(error <= allowed + lost_to_rounding(point), point.dump());
  }
  CHECK(exact >= static_cast<int>(points.size()) - 1);
}

TEST_CASE("NormalInverseWishart: one column is NormalInverseGamma") {
  for (const auto& t : gaussian::hard(40, 1)) {
    INFO(t.kind);
    const auto gamma = NormalInverseGamma::from_data(t.view());
    const NormalInverseWishart wishart{gamma.mean, gamma.kappa, 2.0 * gamma.a[0], 2.0 * gamma.b[0]};
    const auto g = bhclust::bind(gamma, t.view());
    const auto w = bhclust::bind(wishart, t.view());
    std::vector<double> scratch(8);
    for (const index_t split : {1, 2, 15, 39}) {
      const auto g0 = gaussian::statistics(g, t, 0, split);
      const auto g1 = gaussian::statistics(g, t, split, t.n);
      const auto w0 = gaussian::statistics(w, t, 0, split);
      const auto w1 = gaussian::statistics(w, t, split, t.n);
      CHECK(w.log_marginal(w0.data()) == doctest::Approx(g.log_marginal(g0.data())).epsilon(1e-13));
      CHECK(w.divergence(w0.data(), w1.data(), scratch.data()) ==
            doctest::Approx(g.divergence(g0.data(), g1.data(), scratch.data())).epsilon(1e-12));
    }
  }
}

TEST_CASE("NormalInverseWishart: the shapes of psi") {
  const auto t = gaussian::mixture(20, 2, 41);
  const auto log_p = [&](const parameter& psi) {
    const auto model = bhclust::bind(NormalInverseWishart{0.5, 0.2, 4.0, psi}, t.view());
    return model.log_marginal(gaussian::statistics(model, t, 0, 20).data());
  };
  CHECK(log_p(3.0) == log_p({3.0, 3.0}));
  CHECK(log_p({3.0, 5.0}) ==
        doctest::Approx(log_p(parameter::matrix({3.0, 0.0, 0.0, 5.0}))).epsilon(1e-15));
  CHECK(log_p(parameter::matrix({3.0, 1.0, 1.0, 5.0})) != doctest::Approx(log_p({3.0, 5.0})));
}

TEST_CASE("NormalInverseWishart: the chain rule, and rows out again in any order") {
  for (const auto& t : gaussian::hard(12, 3)) {
    INFO(t.kind);
    const auto model = bhclust::bind(NormalInverseWishart::from_data(t.view()), t.view());
    const auto all = gaussian::statistics(model, t, 0, t.n);
    const auto first = gaussian::statistics(model, t, 0, 5);
    const auto last = gaussian::statistics(model, t, 5, t.n);
    auto changed = first;
    model.merge(changed.data(), last.data());
    CHECK(model.log_marginal(changed.data()) ==
          doctest::Approx(model.log_marginal(all.data())).epsilon(1e-11));
    model.remove(changed.data(), first.data());
    CHECK(model.log_marginal(changed.data()) == doctest::Approx(model.log_marginal(last.data()))
                                                    .epsilon(t.kind == "wild row" ? 1e-4 : 1e-10));
    for (index_t i = 5; i < t.n; ++i) {
      model.remove(changed.data(), gaussian::statistics(model, t, i, i + 1).data());
    }
    CHECK(changed == std::vector<double>(changed.size(), 0.0));
  }
}

TEST_CASE("NormalInverseWishart: an offset costs no digits") {
  table near = gaussian::mixture(50, 3, 9);
  for (double& x : near.cells) x = std::ldexp(std::round(std::ldexp(x, 20)), -20);
  const double offset = std::ldexp(1.0, 27);
  const auto far = gaussian::shifted(near, "far", 1.0, offset);
  const auto log_p = [](const table& x, double mean) {
    const auto model = bhclust::bind(NormalInverseWishart{mean, 0.1, 3.5, 0.5}, x.view());
    return model.log_marginal(gaussian::statistics(model, x, 0, x.n).data());
  };
  CHECK(log_p(far, offset) == doctest::Approx(log_p(near, 0.0)).epsilon(1e-13));
}

TEST_CASE("NormalInverseWishart: divergence") {
  gaussian::check_divergence<NormalInverseWishart>(1e-11);
  gaussian::check_units<NormalInverseWishart>();
}

TEST_CASE("NormalInverseWishart: divergence where a covariance is far from the pooled one") {
  const auto model = bhclust::bind(NormalInverseWishart{0.0, 1.0, 4.0, 1e-12}, 2);
  const double cells[] = {0.0, 0.0, 1.0, 2.0, -3.0, 1.0, 2.0, -2.0};
  const table t{"", 4, 2, {cells, cells + 8}};
  const auto one = gaussian::statistics(model, t, 0, 1);
  const auto rest = gaussian::statistics(model, t, 1, 4);
  auto both = one;
  model.merge(both.data(), rest.data());
  std::vector<double> scratch(one.size());
  const double potentials = model.base().potential(one.data()) +
                            model.base().potential(rest.data()) -
                            model.base().potential(both.data());
  CHECK(model.divergence(one.data(), rest.data(), scratch.data()) ==
        doctest::Approx(potentials).epsilon(1e-10));
}

TEST_CASE("NormalInverseWishart: fast scores are the plain ones") {
  for (const index_t d : {1, 2, 3, 8, 9, 12}) {
    for (const auto& t : gaussian::hard(30, d)) {
      gaussian::check_store(NormalInverseWishart::from_data(t.view()), t,
                            t.kind == "wild row" ? 1e-6 : 1e-9);
    }
  }
  const auto t = gaussian::mixture(90, 3, 51);
  gaussian::check_trees(NormalInverseWishart::from_data(t.view()), t);
  const parameter psi = parameter::matrix({2.0, 1.0, 0.0, 1.0, 3.0, -1.0, 0.0, -1.0, 4.0});
  gaussian::check_store(NormalInverseWishart{{1.0, 2.0, -3.0}, 1.5, 7.0, psi}, t, 1e-9);
}

TEST_CASE("NormalInverseWishart: rows by themselves and among clusters have the same evidence") {
  for (index_t d = 1; d <= 12; ++d) {
    const table X = gaussian::mixture(9, d, 12);
    const auto model = bhclust::bind(bhclust::NormalInverseWishart::from_data(X.view()), X.view());
    const index_t width = model.width();
    std::vector<double> rows(static_cast<std::size_t>(8 * width), 0.0);
    for (index_t i = 0; i < 8; ++i) model.observe(X.view().row(i), rows.data() + i * width);
    std::vector<double> mixed = rows;
    model.observe(X.view().row(8), mixed.data() + 7 * width);
    std::vector<double> alone(8), among(8);
    model.log_marginals(rows.data(), 8, alone.data());
    model.log_marginals(mixed.data(), 8, among.data());
    for (std::size_t i = 0; i < 7; ++i) {
      CHECK(alone[i] == among[i]);
      CHECK(alone[i] ==
            doctest::Approx(model.log_marginal(rows.data() + width * static_cast<index_t>(i))));
    }
  }
}

TEST_CASE("NormalInverseWishart: a prior mean far from the data") {
  for (const double mean : {1e8, 1e13, 1e40}) {
    const auto t = gaussian::mixture(30, 3, 52);
    gaussian::check_store(NormalInverseWishart{mean, 0.1, 4.0, 1.0}, t, 1e-9);
  }
}

TEST_CASE("NormalInverseWishart: tables that the fast scores do not take") {
  auto t = gaussian::mixture(30, 2, 53);
  const auto family = NormalInverseWishart::from_data(t.view());
  auto wild = t;
  wild.cells[4] = 1e60;
  gaussian::check_store(family, wild, 1e-9);
  using kernel =
      bhclust::detail::normal_inverse_wishart_kernel<bhclust::detail::normal_inverse_wishart_model>;
  CHECK(kernel::takes(family.bind(2), t.view()));
  CHECK_FALSE(kernel::takes(family.bind(2), wild.view()));
}

TEST_CASE("NormalInverseWishart: defaults for any table") {
  for (const auto& t : gaussian::odd_tables()) gaussian::check_defaults<NormalInverseWishart>(t);
}

TEST_CASE("NormalInverseWishart: hyperparameters that are refused") {
  CHECK(refusal({0.0, 1.0, 3.0, 1.0}, 4) ==
        "nu is 3; for 4 columns it must be above 3 (6 is a usual choice)");
  CHECK(
      refusal({0.0, 1.0, 3.0, parameter::matrix({1, 2, 2, 1})}, 2) ==
      "psi is not positive definite: its leading 2 x 2 block is singular or indefinite; add to its "
      "diagonal");
  CHECK(refusal({0.0, 1.0, 3.0, parameter::matrix({1, 0.5, 0.25, 1})}, 2) ==
        "psi[1][0] is 0.25 but psi[0][1] is 0.5; psi must be symmetric: use (psi + psi.T) / 2");
  CHECK(refusal({0.0, 1.0, 3.0, parameter::matrix({-1, 0, 0, 1})}, 2) ==
        "psi[0][0] is -1; psi must be positive definite, with a diagonal above 0");
  CHECK(refusal({0.0, 1.0, 3.0, parameter::matrix({1e-60, 0, 0, 1e60})}, 2) == "taken");
}

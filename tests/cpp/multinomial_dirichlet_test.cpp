#include "family_checks.hpp"
#include "golden.hpp"
#include <bhclust/algorithm/greedy.hpp>
#include <bhclust/family/multinomial_dirichlet.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <random>
#include <vector>

using bhclust::index_t;
using bhclust::MultinomialDirichlet;
using bhclust::detail::multinomial_model;
using checks::table;
using doctest::Approx;

namespace {

/// 60 rows of 20 counts, most of which are zero, and one row of zeros.
std::vector<double> counts(double share_of_zeros) {
  std::mt19937_64 engine(7);
  const auto uniform = [&] { return std::ldexp(static_cast<double>(engine() >> 11U), -53); };
  std::vector<double> cells;
  for (int e = 0; e < 60 * 20; ++e) {
    const bool zero = e < 20 || uniform() < share_of_zeros;
    cells.push_back(zero ? 0.0 : std::floor(1.0 + 5.0 * uniform()));
  }
  return cells;
}

std::vector<double> statistics(const multinomial_model& model, const bhclust::table_view& X) {
  std::vector<double> t(static_cast<std::size_t>(model.width()), 0.0);
  for (index_t i = 0; i < X.rows(); ++i) model.observe(X.row(i), t.data());
  return t;
}

}  // namespace

TEST_CASE("MultinomialDirichlet: golden values") {
  golden::check<MultinomialDirichlet>("multinomial_dirichlet", 4.0);
}

TEST_CASE("MultinomialDirichlet: all rows with a total are equally likely under Dirichlet(1, 1)") {
  for (const double x : {0.0, 3.0, 6.0}) {
    CHECK(checks::log_marginal(MultinomialDirichlet{}, table{{x, 6.0 - x}, 2}) ==
          Approx(-std::log(7.0)).epsilon(1e-14));
  }
}

TEST_CASE("MultinomialDirichlet: zero rows and a single column say nothing") {
  const auto X = table{{0, 0, 3, 1, 0, 0}, 2};
  const auto Y = table{{3, 1}, 2};
  CHECK(checks::log_marginal(MultinomialDirichlet{0.7}, X) ==
        checks::log_marginal(MultinomialDirichlet{0.7}, Y));
  CHECK(checks::log_marginal(MultinomialDirichlet{0.7}, table{{0, 0}, 2}) == 0.0);
  CHECK(checks::log_marginal(MultinomialDirichlet{0.7}, table{{5, 0, 12}, 1}) == 0.0);
}

TEST_CASE("MultinomialDirichlet: dense and CSR tables give the same tree, bit for bit") {
  for (const double zeros : {0.3, 0.9}) {
    const auto cells = counts(zeros);
    const checks::sparse_table sparse(table{cells, 20});
    const auto family = MultinomialDirichlet::from_data(table{cells, 20});
    CHECK(family.concentration == MultinomialDirichlet::from_data(sparse).concentration);
    const auto one = bhclust::greedy_bhc(table{cells, 20}, family, {1.0, 1, {}});
    const auto other = bhclust::greedy_bhc(sparse, family, {1.0, 1, {}});
    CHECK(one.children() == other.children());
    CHECK(one.cost() == other.cost());
    CHECK(checks::log_marginal(family, table{cells, 20}) == checks::log_marginal(family, sparse));
  }
}

TEST_CASE("MultinomialDirichlet: divergence") {
  const multinomial_model model({1.0, 1.0, 1.0});
  const auto t = statistics(model, table{{4, 0, 1, 0, 0, 7}, 3});
  const auto s = statistics(model, table{{2, 2, 2}, 3});
  checks::checked_divergence(model, t, s);
  const auto proportional = statistics(model, table{{8, 0, 2, 0, 0, 14}, 3});
  CHECK(model.divergence(t.data(), proportional.data()) == 0.0);
  const auto nothing = statistics(model, table{{0, 0, 0}, 3});
  CHECK(model.divergence(t.data(), nothing.data()) == 0.0);
}

TEST_CASE("MultinomialDirichlet: the default total says how far rows stray") {
  std::vector<double> alike;
  std::vector<double> apart;
  for (int i = 0; i < 40; ++i) {
    for (int k = 0; k < 4; ++k) {
      alike.push_back(25 + (i + k) % 3);
      apart.push_back(i % 4 == k ? 97 : 1);
    }
  }
  const auto total = [](const MultinomialDirichlet& family) {
    double sum = 0.0;
    for (const double a : family.concentration.values()) sum += a;
    return sum;
  };
  CHECK(total(checks::valid_defaults<MultinomialDirichlet>(table{alike, 4})) ==
        Approx(40.0));  // d · 10, the bound
  const double weak = total(checks::valid_defaults<MultinomialDirichlet>(table{apart, 4}));
  CHECK(weak > 0.04);  // d / 100, the other bound
  CHECK(weak < 0.5);
}

TEST_CASE("MultinomialDirichlet: defaults of degenerate tables") {
  const auto zero = checks::valid_defaults<MultinomialDirichlet>(table{{0, 0, 0, 0}, 2});
  CHECK(zero.concentration.values() == std::vector<double>{1.0, 1.0});
  checks::valid_defaults<MultinomialDirichlet>(table{{3}, 1});
  checks::valid_defaults<MultinomialDirichlet>(table{{1, 0, 0}, 3});
  checks::valid_defaults<MultinomialDirichlet>(table{{1, 0, 0, 1, 1, 0}, 2});
  checks::valid_defaults<MultinomialDirichlet>(table{{9e15, 0, 0, 9e15}, 2});
}

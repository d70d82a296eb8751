#include "clusters.hpp"
#include "examples.hpp"
#include "refusals.hpp"
#include "tables.hpp"
#include "twins.hpp"
#include <bhclust/algorithm/greedy.hpp>
#include <bhclust/algorithm/relaxed.hpp>
#include <bhclust/any_family.hpp>
#include <bhclust/family/bernoulli_beta.hpp>
#include <bhclust/family/categorical_dirichlet.hpp>
#include <bhclust/family/multinomial_dirichlet.hpp>
#include <bhclust/family/normal_inverse_gamma.hpp>
#include <bhclust/family/poisson_gamma.hpp>
#include <bhclust/inference/posterior.hpp>
#include <bhclust/product.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

using namespace testkit;
using bhclust::any_family;
using bhclust::Product;

namespace {

/// Ages, a bit, a code, a count.
table patients() {
  return {{31.0,    1.0,     0.0,     2.0,   //
           29.5,    1.0,     2.0,     0.0,   //
           64.0,    0.0,     1.0,     9.0,   //
           missing, 0.0,     1.0,     11.0,  //
           33.0,    missing, 0.0,     1.0,   //
           61.0,    0.0,     missing, missing},
          4};
}

Product mixed() {
  bhclust::NormalInverseGamma ages;
  ages.mean = 45.0;
  ages.b = 100.0;
  bhclust::CategoricalDirichlet regions;
  regions.levels = 3.0;
  Product family;
  family.blocks = {
      {regions, {2}}, {ages, {0}}, {bhclust::PoissonGamma{}, {3}}, {bhclust::BernoulliBeta{}, {1}}};
  return family;
}

}  // namespace

TEST_CASE("product: blocks of one family are the family where columns are independent") {
  for_each_split_example(
      3, 14,
      [](random_source& random, const any_family& whole, const Product& blocks, const table& X) {
        const auto one = bhclust::bind(whole, X.view());
        const auto parts = bhclust::bind(blocks, X.view());
        const auto a = shuffled(random, 6);
        const auto b = shuffled(random, 14);
        CHECK(near(log_marginal(one, observed(one, X, b)),
                   log_marginal(parts, observed(parts, X, b))));
        CHECK(near(divergence(one, observed(one, X, a), observed(one, X, b)),
                   divergence(parts, observed(parts, X, a), observed(parts, X, b))));
        const auto t = bhclust::greedy_bhc(X.view(), whole);
        const auto s = bhclust::greedy_bhc(X.view(), blocks);
        for (std::size_t m = 0; m < t.cost().size(); ++m)
          CHECK(near(s.cost()[m], t.cost()[m], 10.0));
      });
}

TEST_CASE("product: a single block over all columns is its family, bit for bit") {
  for_each_example(1, 14, 3, [](random_source&, const any_family& family, const table& X) {
    if (X.sparse()) return;
    Product product;
    product.blocks.push_back({family, iota(X.columns())});
    const auto t = bhclust::greedy_bhc(X.view(), family);
    const auto s = bhclust::greedy_bhc(X.view(), product);
    CHECK(s.children() == t.children());
    CHECK(s.cost() == t.cost());
    // By the same way for both: rounds, which a Product has not, number nodes by their cost.
    bhclust::relaxed_options chain;
    chain.method = bhclust::relaxed_method::nn_chain;
    const auto r = bhclust::relaxed_bhc(X.view(), family, chain);
    const auto q = bhclust::relaxed_bhc(X.view(), product, chain);
    CHECK(q.children() == r.children());
    CHECK(q.cost() == r.cost());
  });
}

TEST_CASE("product: mixed columns with missing cells against the twin") {
  const auto X = patients();
  const auto family = mixed();
  const auto t = bhclust::greedy_bhc(X.view(), family);
  const auto model = bhclust::bind(family, X.view());
  check_greedy(t, log_d_costs<decltype(model)>(model, X, 1.0));
  const auto r =
      bhclust::relaxed_bhc(X.view(), family, {infinite, 0, bhclust::relaxed_method::greedy, 1, {}});
  check_greedy(r, divergence_costs<decltype(model)>(model, X));
  const auto p = bhclust::posterior(t, X.view(), family);
  const auto labels = bhclust::labels_of(t, bhclust::map_nodes(t, p));
  CHECK(labels[0] == labels[4]);
  CHECK(labels[2] == labels[3]);
  CHECK(labels[0] != labels[2]);
}

TEST_CASE("product: columns in no block are not looked at") {
  const table X({1.0, missing, 0.0, infinite, 1.0, -7.5}, 2);
  Product family;
  family.blocks = {{bhclust::BernoulliBeta{}, {0}}};
  const auto t = bhclust::greedy_bhc(X.view(), family);
  const auto alone = X.column(0);
  CHECK(t.cost() == bhclust::greedy_bhc(alone.view(), any_family(bhclust::BernoulliBeta{})).cost());
}

TEST_CASE("product: a product may hold a product") {
  Product inner;
  inner.blocks = {{bhclust::BernoulliBeta{}, {1}}, {bhclust::NormalInverseGamma{}, {0}}};
  Product outer;
  outer.blocks = {{inner, {2, 0}}, {bhclust::PoissonGamma{}, {1}}};
  Product flat;
  flat.blocks = {{bhclust::BernoulliBeta{}, {0}},
                 {bhclust::NormalInverseGamma{}, {2}},
                 {bhclust::PoissonGamma{}, {1}}};
  const table X({1.0, 3.0, -0.5, 0.0, 7.0, 2.25, 1.0, 2.0, -0.75}, 3);
  const auto t = bhclust::greedy_bhc(X.view(), outer);
  const auto s = bhclust::greedy_bhc(X.view(), flat);
  CHECK(t.children() == s.children());
  for (std::size_t m = 0; m < 2; ++m) CHECK(near(t.cost()[m], s.cost()[m]));
  const table bad({1.0, 3.0, infinite}, 3);
  check_refused([&] { bhclust::check_data(outer, bad.view()); }, {"X: row 0, column 2 is inf"});
}

TEST_CASE("product: bad cells are named by their column of the whole table") {
  const auto X = patients();
  auto cells = X.cells();
  cells[4 * 2 + 1] = 2.0;
  const table bad(cells, 4);
  check_refused([&] { bhclust::check_data(mixed(), bad.view()); },
                {"X: row 2, column 1 is 2; BernoulliBeta takes 0 or 1", "NaN for missing"});
  try {
    bhclust::check_data(mixed(), bad.view());
    FAIL("not refused");
  } catch (const bhclust::cell_error& e) {
    CHECK(e.row() == 2);
    CHECK(e.column() == 1);
    CHECK(e.complaint().substr(0, 5) == "is 2;");
  }
  cells = X.cells();
  cells[2] = 3.0;
  const table beyond(cells, 4);
  check_refused([&] { bhclust::check_data(mixed(), beyond.view()); },
                {"X: row 0, column 2 is 3, but levels is 3"});
}

TEST_CASE("product: refusals") {
  const auto X = patients();
  const auto fit = [&](const Product& family) {
    static_cast<void>(bhclust::greedy_bhc(X.view(), family));
  };
  check_refused([&] { fit({}); },
                {"Product has no blocks; give at least one (family, columns) pair"});
  check_refused([&] { fit({{{bhclust::BernoulliBeta{}, {}}}}); },
                {"Product: a block of BernoulliBeta has no columns"});
  check_refused([&] { fit({{{bhclust::BernoulliBeta{}, {4}}}}); },
                {"Product: column 4 is not in X, which has 4 columns"});
  check_refused([&] { fit({{{bhclust::BernoulliBeta{}, {-1}}}}); },
                {"Product: column -1 is not in X"});
  check_refused([&] { fit({{{bhclust::BernoulliBeta{}, {1}}, {bhclust::PoissonGamma{}, {1}}}}); },
                {"Product: column 1 is in two blocks"});
  check_refused([&] { fit({{{bhclust::BernoulliBeta{}, {1, 1}}}}); },
                {"Product: column 1 is in two blocks"});
  bhclust::BernoulliBeta wrong;
  wrong.a = {1.0, 2.0};
  check_refused([&] { fit({{{wrong, {1}}}}); }, {"a has 2 value(s)"});
  const auto sparse = table({1.0, 0.0}, 1).as_sparse();
  check_refused(
      [&] { bhclust::check_data(Product{{{bhclust::BernoulliBeta{}, {0}}}}, sparse.view()); },
      {"X is sparse; Product takes dense tables: convert it (X.toarray())"});
  check_refused(
      [&] {
        bhclust::check_data(Product{{{bhclust::BernoulliBeta{}, {0}}}},
                            bhclust::rows(X.cells().data(), 0, 4));
      },
      {"X has no rows; at least one is needed"});
}

TEST_CASE("product: models made ready for many clusters say the same, and outlive their copies") {
  random_source random(77);
  std::vector<double> cells;
  for (int e = 0; e < 400 * 3; ++e) {
    cells.push_back(static_cast<double>(random.below(e % 3 == 0 ? 2 : 6)));
  }
  const auto X = bhclust::rows(cells.data(), 400, 3);
  const bhclust::Product family{
      {{bhclust::any_family(bhclust::BernoulliBeta{0.3, 0.9}), {0}},
       {bhclust::any_family(bhclust::MultinomialDirichlet{0.4}), {1, 2}}}};
  const auto plain = bhclust::bind(family, X);
  auto ready = bhclust::bind_prepared(family, X);
  {
    auto copy = ready;
    ready = copy;
  }
  std::vector<double> t(static_cast<std::size_t>(plain.width()), 0.0);
  for (index_t i = 0; i < 400; ++i) {
    plain.observe(X.row(i), t.data());
    const double wanted = plain.log_marginal(t.data());
    CHECK(std::fabs(ready.log_marginal(t.data()) - wanted) <= 1e-12 * std::fabs(wanted));
  }
}

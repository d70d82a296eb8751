// Parts of a node's log odds, and what keeps two clusters apart, column by column.
#include "clusters.hpp"
#include "enumeration.hpp"
#include "examples.hpp"
#include "refusals.hpp"
#include "slow_family.hpp"
#include "tables.hpp"
#include "trees.hpp"
#include "typed_examples.hpp"
#include <bhclust/any_family.hpp>
#include <bhclust/family/bernoulli_beta.hpp>
#include <bhclust/family/multinomial_dirichlet.hpp>
#include <bhclust/family/normal_inverse_gamma.hpp>
#include <bhclust/family/normal_inverse_wishart.hpp>
#include <bhclust/family/von_mises_fisher.hpp>
#include <bhclust/inference/explanation.hpp>
#include <bhclust/inference/posterior.hpp>
#include <bhclust/product.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

using namespace testkit;
using bhclust::any_family;
using bhclust::explain;
using bhclust::separation;

namespace {

double sum_of(const std::vector<double>& x) { return std::accumulate(x.begin(), x.end(), 0.0); }

template <class Model>
std::vector<double> terms(const Model& model, const statistics& t,
                          const std::vector<index_t>& order, index_t columns) {
  std::vector<double> all(at(columns), -1.0);
  model.column_terms(t.data(), order.empty() ? nullptr : order.data(), all.data());
  return all;
}

/// A NormalInverseWishart of its first columns, in another order.
bhclust::NormalInverseWishart marginal(const bhclust::NormalInverseWishart& family, index_t d,
                                       const std::vector<index_t>& kept) {
  bhclust::NormalInverseWishart some = family;
  std::vector<double> mean, psi;
  for (const index_t i : kept) {
    mean.push_back(family.mean[i]);
    for (const index_t k : kept) {
      const bool full = family.psi.rank() == 2;
      psi.push_back(full ? family.psi[i * d + k] : i == k ? family.psi[i] : 0.0);
    }
  }
  some.nu = family.nu[0] - static_cast<double>(d - count(kept));
  some.mean = mean;
  some.psi = bhclust::parameter::matrix(psi);
  return some;
}

table columns_of(const table& X, const std::vector<index_t>& kept) {
  std::vector<double> cells;
  for (index_t i = 0; i < X.rows(); ++i) {
    for (const index_t j : kept) cells.push_back(X.cell(i, j));
  }
  return {cells, count(kept)};
}

}  // namespace

TEST_CASE("explanation: the terms of any cluster sum to its log marginal, in any order") {
  for_each_example(6, 14, 5, [](random_source& random, const any_family& family, const table& X) {
    const auto model = bhclust::bind(family, X.view());
    for (const int past : {0, 1, 6}) {
      const auto t = arbitrary_state(random, model, X, past).t;
      const double wanted = log_marginal(model, t);
      for (const auto& order : {std::vector<index_t>{}, shuffled(random, X.columns())}) {
        CHECK(near(sum_of(terms(model, t, order, X.columns())), wanted, 0.0, 1e-11));
      }
    }
  });
}

TEST_CASE("explanation: the parts sum to the log odds, every family") {
  for_each_posterior(3, 8,
                     [](const tree& t, const any_family& family, const table& X, double alpha,
                        random_source& random) {
                       const auto p = bhclust::posterior(t, X.view(), family, {alpha, {}});
                       for (index_t k = t.leaves(); k < t.nodes(); ++k) {
                         const auto e =
                             explain(t, p, X.view(), family, k, shuffled(random, X.columns()));
                         REQUIRE(count(e.columns) == X.columns());
                         CHECK(e.log_odds == p.log_odds[at(k)]);
                         CHECK(near(e.prior + e.children + sum_of(e.columns), e.log_odds,
                                    p.log_tree[at(k)], 1e-12));
                         CHECK(e.children <= 0.0);
                       }
                     });
}

TEST_CASE("explanation: an independent column's part is its own log Bayes factor") {
  for_each_split_example(
      3, 12,
      [](random_source& random, const any_family& whole, const bhclust::Product& parts,
         const table& X) {
        const auto all = shuffled(random, 12);
        const std::vector<index_t> a(all.begin(), all.begin() + 5);
        const std::vector<index_t> b(all.begin() + 5, all.begin() + 9);
        const auto found = separation(X.view(), whole, a, b);
        const auto blocks = separation(X.view(), parts, a, b);
        REQUIRE(count(found) == 4);
        for (index_t j = 0; j < 4; ++j) CHECK(near(blocks[at(j)], found[at(j)]));
        for (const std::size_t block : {1U, 2U}) {
          const auto& one = parts.blocks[block];
          const auto column = X.column(one.columns[0]);
          const auto model = bhclust::bind(one.family, column.view());
          const auto t = observed(model, column, a);
          const auto s = observed(model, column, b);
          CHECK(near(found[at(one.columns[0])], log_marginal(model, t) + log_marginal(model, s) -
                                                    log_marginal(model, joined(model, t, s))));
        }
      });
}

TEST_CASE("explanation: correlated reals by the chain rule over marginals") {
  for_each_example_of<bhclust::NormalInverseWishart>(
      12, 14, 5,
      [](random_source& random, const bhclust::NormalInverseWishart& family, const table& X) {
        const index_t d = X.columns();
        const auto model = bhclust::bind(family, X.view());
        const auto rows = shuffled(random, 9);
        const auto order = shuffled(random, d);
        const auto found = terms(model, observed(model, X, rows), order, d);
        double before = 0.0;
        for (index_t j = 0; j < d; ++j) {
          const std::vector<index_t> kept(order.begin(), order.begin() + j + 1);
          const auto some = marginal(family, d, kept);
          const auto part = columns_of(X, kept);
          const auto few = bhclust::bind(some, part.view());
          const double upto = log_marginal(few, observed(few, part, rows));
          CHECK(near(found[at(order[at(j)])], upto - before, upto, 1e-10));
          before = upto;
        }
      });
}

TEST_CASE("explanation: in a product a block's columns keep their place in the order") {
  bhclust::NormalInverseWishart pair;
  pair.nu = 5.0;
  pair.psi = bhclust::parameter::matrix({2.0, 1.2, 1.2, 1.5});
  const bhclust::Product family{{{pair, {3, 0}}, {bhclust::NormalInverseGamma{}, {1}}}};
  random_source random(4);
  std::vector<double> cells;
  for (int e = 0; e < 40; ++e) cells.push_back(random.normal() + (e < 20 ? 0.0 : 2.0));
  const table X(cells, 4);
  const std::vector<index_t> a{0, 1, 2, 3, 4}, b{5, 6, 7, 8, 9};
  const auto part = columns_of(X, {3, 0});
  for (const auto& order : {std::vector<index_t>{0, 1, 2, 3}, std::vector<index_t>{3, 2, 1, 0}}) {
    const auto found = separation(X.view(), family, a, b, order);
    const bool reversed = order[0] == 3;
    const auto own = separation(part.view(), pair, a, b,
                                reversed ? std::vector<index_t>{0, 1} : std::vector<index_t>{1, 0});
    CHECK(near(found[3], own[0]));
    CHECK(near(found[0], own[1]));
    CHECK(found[2] == 0.0);
  }
  const auto unordered = separation(X.view(), family, a, b);
  CHECK(near(unordered[3], separation(part.view(), pair, a, b)[0]));
}

TEST_CASE("explanation: words and directions that differ keep apart, others do not") {
  const table words({9.0, 1.0, 20.0, 0.0, 8.0, 0.0, 21.0, 1.0,  //
                     1.0, 9.0, 19.0, 1.0, 0.0, 8.0, 22.0, 0.0},
                    4);
  const auto apart = separation(words.view(), bhclust::MultinomialDirichlet{}, {0, 1}, {2, 3});
  CHECK(apart[0] > 3.0);
  CHECK(apart[1] > 3.0);
  CHECK(apart[2] < 0.0);
  CHECK(near(apart[3], 0.0));
  // a word's part is that of its share of the words from it on
  bhclust::BernoulliBeta share;
  share.a = 1.0;
  share.b = 2.0;
  const auto part = [&](double one, double rest) {
    const auto model = bhclust::bind(share, 1);
    const statistics t{one + rest, one};
    return log_marginal(model, t);
  };
  CHECK(near(apart[1], part(1.0, 42.0) + part(17.0, 42.0) - part(18.0, 84.0)));
  const auto backwards =
      separation(words.view(), bhclust::MultinomialDirichlet{}, {0, 1}, {2, 3}, {3, 2, 1, 0});
  CHECK(near(backwards[0], 0.0));
  CHECK(near(sum_of(backwards), sum_of(apart)));
  const double c = std::sqrt(0.5);
  const table directions({c, c, 0.0, c, c, 0.0, -c, c, 0.0, -c, c, 0.0}, 3);
  bhclust::VonMisesFisher sharp;
  sharp.kappa = 30.0;
  const auto parts = separation(directions.view(), sharp, {0, 1}, {2, 3});
  CHECK(parts[0] > 10.0);
  CHECK(parts[1] < parts[0] - 10.0);
  CHECK(near(parts[2], 0.0));
}

TEST_CASE("explanation: refusals") {
  const table X({1.0, 2.0, 3.0, 4.0, 5.0, 6.0}, 2);
  const bhclust::NormalInverseGamma family;
  const auto t = chain_tree(3);
  const auto p = bhclust::posterior(t, X.view(), family);
  const auto node = [&](index_t k) { static_cast<void>(explain(t, p, X.view(), family, k)); };
  for (const index_t k : {-1, 0, 2, 5}) {
    check_refused([&] { node(k); }, {"merges are the nodes 3 to 4", "nothing to explain"});
  }
  const auto in_order = [&](const std::vector<index_t>& order) {
    static_cast<void>(separation(X.view(), family, {0}, {1}, order));
  };
  check_refused([&] { in_order({0}); }, {"order has 1 entries; X has 2 columns"});
  check_refused([&] { in_order({0, 0}); }, {"order names column 0 twice"});
  check_refused([&] { in_order({0, 2}); }, {"order names column 2; it must name each"});
  check_refused([&] { static_cast<void>(separation(X.view(), family, {}, {1})); },
                {"at least one row on either side"});
  check_refused([&] { static_cast<void>(separation(X.view(), family, {0}, {3})); },
                {"there is no row 3; X has 3"});
  const table one({1.0, 2.0}, 1);
  check_refused([&] { static_cast<void>(separation(one.view(), slow_family{}, {0}, {1})); },
                {"has no terms by column"});
}

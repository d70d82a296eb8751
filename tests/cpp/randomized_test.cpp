// Randomised BHC against greedy BHC where they are the same, and its laws where they are not.
#include "examples.hpp"
#include "slow_family.hpp"
#include "tables.hpp"
#include "twins.hpp"
#include <bhclust/algorithm/greedy.hpp>
#include <bhclust/algorithm/randomized.hpp>
#include <bhclust/analysis/cut.hpp>
#include <bhclust/any_family.hpp>
#include <bhclust/family/bernoulli_beta.hpp>
#include <bhclust/family/normal_inverse_gamma.hpp>
#include <bhclust/family/normal_known_variance.hpp>
#include <bhclust/inference/posterior.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <vector>

using namespace testkit;
using bhclust::any_family;
using bhclust::greedy_bhc;
using bhclust::randomized_bhc;
using bhclust::randomized_options;

namespace {

void check_same(const tree& a, const tree& b) {
  CHECK(a.children() == b.children());
  CHECK(a.cost() == b.cost());
  CHECK(a.costs() == b.costs());
}

randomized_options with_subset(index_t subset, double alpha = 1.0, std::uint64_t seed = 1) {
  return {alpha, subset, seed, 2, {}};
}

template <class Family>
void check_laws(const tree& t, const Family& family, const table& X, double alpha) {
  REQUIRE(t.leaves() == X.rows());
  REQUIRE(t.merges() == X.rows() - 1);
  const auto p = bhclust::posterior(t, X.view(), family, {alpha, {}});
  for (index_t k = t.leaves(); k < t.nodes(); ++k) {
    CHECK(near(t.cost(k), -p.log_odds[at(k)], std::fabs(p.log_tree[at(k)]), 1e-9));
  }
}

}  // namespace

TEST_CASE("randomised: a subset of all rows gives greedy BHC, every family") {
  for_each_example(3, 30, 4, [](random_source& random, const any_family& family, const table& X) {
    const double alpha = random.positive();
    const auto exact = greedy_bhc(X.view(), family, {alpha, 1, {}});
    for (const index_t subset : {30, 1000}) {
      check_same(randomized_bhc(X.view(), family, with_subset(subset, alpha)), exact);
    }
  });
}

TEST_CASE("randomised: a tree of all rows with its log d, for any subset, every family") {
  for (const index_t subset : {2, 3, 10, 29}) {
    for_each_example(1, 30, 4,
                     [&](random_source& random, const any_family& family, const table& X) {
                       const double alpha = random.positive();
                       check_laws(randomized_bhc(X.view(), family, with_subset(subset, alpha)),
                                  family, X, alpha);
                     });
  }
}

TEST_CASE("randomised: one row, two, three") {
  for (index_t rows = 1; rows <= 3; ++rows) {
    for_each_example(1, rows, 2, [](random_source&, const any_family& family, const table& X) {
      check_laws(randomized_bhc(X.view(), family, with_subset(2)), family, X, 1.0);
    });
  }
}

TEST_CASE("randomised: identical and constant rows end, in a tree of no great depth") {
  const table X(std::vector<double>(20000, 1.0), 1);
  for (const index_t subset : {2, 50}) {
    const auto t = randomized_bhc(X.view(), bhclust::BernoulliBeta{}, with_subset(subset));
    CHECK(t.merges() == 19999);
    std::vector<index_t> depth(at(t.nodes()), 0);
    for (index_t k = t.nodes() - 1; k >= 0; --k) {
      if (t.parent(k) >= 0) depth[at(k)] = depth[at(t.parent(k))] + 1;
    }
    CHECK(*std::max_element(depth.begin(), depth.end()) < 1000);
  }
}

TEST_CASE("randomised: rows are sorted to the side with the larger posterior") {
  // four groups far apart: every subset of 40 meets all, so each must be a node
  random_source random(2);
  std::vector<double> cells;
  const index_t rows = 4000;
  for (index_t i = 0; i < rows; ++i) {
    cells.push_back(100.0 * static_cast<double>(i % 4) + random.normal());
  }
  const table X(cells, 1);
  bhclust::NormalKnownVariance family;
  family.prior_variance = 10000.0;
  for (const std::uint64_t seed : {1U, 2U, 3U}) {
    const auto t = randomized_bhc(X.view(), family, with_subset(40, 1.0, seed));
    const auto members = members_of(t);
    int groups = 0;
    for (index_t k = rows; k < t.nodes(); ++k) {
      if (t.size(k) != rows / 4) continue;
      const index_t first = members[at(k)][0] % 4;
      groups += std::all_of(members[at(k)].begin(), members[at(k)].end(),
                            [&](index_t i) { return i % 4 == first; })
                    ? 1
                    : 0;
    }
    CHECK(groups == 4);
  }
}

TEST_CASE("randomised: the same seed gives the same tree, with any number of threads") {
  random_source random(9);
  std::vector<double> cells;
  for (int i = 0; i < 6000; ++i) cells.push_back(random.normal() + 6.0 * (i % 5));
  const table X(cells, 2);
  const bhclust::NormalInverseGamma family;
  const auto one = randomized_bhc(X.view(), family, {1.0, 50, 7, 1, {}});
  for (const int threads : {0, 2, 5}) {
    check_same(randomized_bhc(X.view(), family, {1.0, 50, 7, threads, {}}), one);
  }
  CHECK(randomized_bhc(X.view(), family, {1.0, 50, 8, 1, {}}).children() != one.children());
}

TEST_CASE("randomised: an exception from progress ends the work and comes out") {
  struct cancelled {};
  random_source random(9);
  std::vector<double> cells;
  for (int i = 0; i < 800; ++i) cells.push_back(random.normal());
  const table X(cells, 1);
  slow_family family;
  family.delay = 100;
  for (const int threads : {1, 3}) {
    CHECK_THROWS_AS(
        static_cast<void>(randomized_bhc(
            X.view(), family, {1.0, 100, 0, threads, [](index_t, index_t) { throw cancelled{}; }})),
        cancelled);
  }
}

TEST_CASE("randomised: a subset of less than two rows is refused") {
  const table X({1.0, 2.0, 3.0}, 1);
  CHECK_THROWS_WITH_AS(
      static_cast<void>(randomized_bhc(X.view(), bhclust::NormalInverseGamma{}, with_subset(1))),
      "subset is 1; greedy BHC must be given at least 2 rows", std::invalid_argument);
}

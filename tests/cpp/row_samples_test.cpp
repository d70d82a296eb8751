// New rows drawn from a tree's posterior.
#include "clusters.hpp"
#include "refusals.hpp"
#include "slow_family.hpp"
#include "tables.hpp"
#include "trees.hpp"
#include <bhclust/any_family.hpp>
#include <bhclust/family/bernoulli_beta.hpp>
#include <bhclust/family/multinomial_dirichlet.hpp>
#include <bhclust/family/normal_inverse_gamma.hpp>
#include <bhclust/family/poisson_gamma.hpp>
#include <bhclust/inference/posterior.hpp>
#include <bhclust/inference/predictive.hpp>
#include <bhclust/inference/row_samples.hpp>
#include <bhclust/product.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>
#include <vector>

using namespace testkit;
using bhclust::sample_rows;

namespace {

constexpr index_t draws = 20000;

table mixed_rows() {
  random_source random(3);
  std::vector<double> cells;
  for (int i = 0; i < 9; ++i) {
    const bool high = i % 3 == 0;
    cells.push_back(high ? 1.0 : 0.0);
    cells.push_back(std::floor(random.uniform(0.0, high ? 9.0 : 2.0)));
  }
  return {cells, 2};
}

bhclust::Product mixed_family() {
  return {{{bhclust::PoissonGamma{}, {1}}, {bhclust::BernoulliBeta{}, {0}}}};
}

}  // namespace

TEST_CASE("row samples: clusters come with their probabilities") {
  const auto X = mixed_rows();
  const auto family = mixed_family();
  random_source random(1);
  for (const index_t roots : {1, 2}) {
    const auto t = random_tree(random, 9, roots);
    const double alpha = 2.0;
    const auto p = bhclust::posterior(t, X.view(), family, {alpha, {}});
    const auto drawn = sample_rows(t, p, X.view(), family, draws, 5);
    REQUIRE(count(drawn.nodes) == draws);
    double left = 1.0;
    for (index_t k = -1; k < t.nodes(); ++k) {
      CAPTURE(k);
      const double wanted =
          (k < 0 ? alpha : p.omega[at(k)] * static_cast<double>(t.size(k))) / 11.0;
      const auto seen = static_cast<double>(std::count(drawn.nodes.begin(), drawn.nodes.end(), k));
      CHECK(std::fabs(seen / draws - wanted) <=
            4.5 * std::sqrt(wanted * (1.0 - wanted) / draws) + 1e-9);
      left -= seen / draws;
    }
    CHECK(near(left, 0.0));
  }
}

TEST_CASE("row samples: every row of a discrete table is drawn as often as its density says") {
  const auto X = mixed_rows();
  const auto family = mixed_family();
  random_source random(2);
  const auto t = random_tree(random, 9);
  const auto p = bhclust::posterior(t, X.view(), family, {0.7, {}});
  const auto drawn = sample_rows(t, p, X.view(), family, draws, 6);
  double sum = 0.0;
  double cells = 0.0;
  for (const double bit : {0.0, 1.0}) {
    for (double x = 0.0; x < 20.0; x += 1.0) {
      const table one({bit, x}, 2);
      const double mass = std::exp(bhclust::log_predictive(t, p, X.view(), family, one.view())[0]);
      if (mass * draws < 5.0) continue;
      double seen = 0.0;
      for (index_t s = 0; s < draws; ++s) {
        if (drawn.cells[at(2 * s)] == bit && drawn.cells[at(2 * s + 1)] == x) seen += 1.0;
      }
      sum += (seen - mass * draws) * (seen - mass * draws) / (mass * draws);
      cells += 1.0;
    }
  }
  CHECK(cells > 15.0);
  CHECK(sum < cells + 4.5 * std::sqrt(2.0 * cells));
}

TEST_CASE("row samples: of reals, against the predictive density") {
  const table X({-3.0, -2.5, -3.1, 4.0, 4.4, 3.9, 0.2}, 1);
  const bhclust::NormalInverseGamma family;
  random_source random(7);
  const auto t = random_tree(random, 7);
  const auto p = bhclust::posterior(t, X.view(), family, {0.5, {}});
  auto drawn = sample_rows(t, p, X.view(), family, draws, 8).cells;
  std::sort(drawn.begin(), drawn.end());
  constexpr double step = 0.002;
  std::vector<double> grid;
  for (double u = -12.0; u < 12.0; u += step) grid.push_back(std::sinh(u));
  const table points(grid, 1);
  const auto log_p = bhclust::log_predictive(t, p, X.view(), family, points.view());
  double below = 0.0;
  double distance = 0.0;
  for (std::size_t i = 0; i < grid.size(); ++i) {
    below += step * std::exp(log_p[i]) * std::sqrt(1.0 + grid[i] * grid[i]);
    const auto seen = std::upper_bound(drawn.begin(), drawn.end(), grid[i]) - drawn.begin();
    distance = std::max(distance, std::fabs(below - static_cast<double>(seen) / draws));
  }
  CHECK(distance * std::sqrt(draws) < 2.4);
}

TEST_CASE("row samples: multinomial rows have totals of the table's rows, dense or sparse") {
  const table X({3.0, 0.0, 0.0, 0.0, 40.0, 0.0, 2.0, 0.0, 1.0}, 3);
  const bhclust::MultinomialDirichlet family;
  const auto t = chain_tree(3);
  for (const auto& form : {X, X.as_sparse()}) {
    const auto p = bhclust::posterior(t, form.view(), family);
    const auto drawn = sample_rows(t, p, form.view(), family, 3000, 4);
    double large = 0.0;
    for (index_t s = 0; s < 3000; ++s) {
      const double total =
          drawn.cells[at(3 * s)] + drawn.cells[at(3 * s + 1)] + drawn.cells[at(3 * s + 2)];
      CHECK((total == 3.0 || total == 40.0));
      if (total == 40.0) large += 1.0;
    }
    CHECK(std::fabs(large - 1000.0) < 4.5 * std::sqrt(3000.0 * 2.0 / 9.0));
  }
}

TEST_CASE("row samples: the same for a seed") {
  const auto X = mixed_rows();
  const auto family = mixed_family();
  const auto t = chain_tree(9);
  const auto p = bhclust::posterior(t, X.view(), family);
  const auto draw = [&](std::uint64_t seed) {
    const auto drawn = sample_rows(t, p, X.view(), family, 50, seed);
    return std::make_pair(drawn.nodes, drawn.cells);
  };
  CHECK(draw(1) == draw(1));
  CHECK(draw(1) != draw(2));
}

TEST_CASE("row samples: progress ends at the total, and an exception from it comes out") {
  const auto X = mixed_rows();
  const auto family = mixed_family();
  const auto t = chain_tree(9);
  const auto p = bhclust::posterior(t, X.view(), family);
  std::vector<std::pair<index_t, index_t>> reports;
  static_cast<void>(sample_rows(t, p, X.view(), family, 5, 1, [&](index_t done, index_t total) {
    reports.emplace_back(done, total);
  }));
  REQUIRE(!reports.empty());
  CHECK(reports.back() == std::pair<index_t, index_t>(17, 17));
  CHECK_THROWS_AS(static_cast<void>(sample_rows(t, p, X.view(), family, 5, 1,
                                                [](index_t, index_t) { throw std::bad_alloc(); })),
                  std::bad_alloc);
}

TEST_CASE("row samples: refusals") {
  const table X({1.0, 2.0, 3.0}, 1);
  const bhclust::NormalInverseGamma family;
  const auto t = chain_tree(3);
  const auto p = bhclust::posterior(t, X.view(), family);
  check_refused([&] { static_cast<void>(sample_rows(t, p, X.view(), family, 0, 1)); },
                {"n_samples must be at least 1"});
  check_refused(
      [&] { static_cast<void>(sample_rows(t, p, X.view(), family, index_t{1} << 62, 1)); },
      {"n_samples is 4611686018427387904; rows of 1 columns must have 2^40 cells at most"});
  check_refused([&] { static_cast<void>(sample_rows(chain_tree(2), p, X.view(), family, 1, 1)); },
                {"the tree has 2 leaves and X has 3 rows"});
  const slow_family own;
  const auto q = bhclust::posterior(t, X.view(), own);
  check_refused([&] { static_cast<void>(sample_rows(t, q, X.view(), own, 1, 1)); },
                {"draws no rows, which sampling needs"});
}

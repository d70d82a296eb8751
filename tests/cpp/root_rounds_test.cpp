// Rounds of divergences of counts and bits: against the greedy method and the chain.
#include "random_source.hpp"
#include "relaxed_runs.hpp"
#include "tables.hpp"
#include <bhclust/algorithm/relaxed.hpp>
#include <bhclust/any_family.hpp>
#include <bhclust/family/bernoulli_beta.hpp>
#include <bhclust/family/multinomial_dirichlet.hpp>
#include <bhclust/family/poisson_gamma.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <stdexcept>
#include <vector>

using namespace testkit;
using bhclust::any_family;
using bhclust::relaxed_bhc;
using bhclust::relaxed_method;

namespace {

/// Counts, or bits, of five clusters.
table clustered(index_t n, index_t d, double scale, bool bits) {
  random_source random(3);
  std::vector<double> centre;
  for (index_t k = 0; k < 5 * d; ++k) centre.push_back(random.positive());
  std::vector<double> cells;
  for (index_t i = 0; i < n; ++i) {
    for (index_t j = 0; j < d; ++j) {
      const double x = centre[at(i % 5 * d + j)] * random.positive();
      cells.push_back(bits ? (x > 1.0 ? 1.0 : 0.0) : std::floor(scale * x) + (j == 0 ? 1.0 : 0.0));
    }
  }
  return {cells, d};
}

double total(const bhclust::tree& t) {
  const auto costs = sorted(t.cost());
  return std::accumulate(costs.begin(), costs.end(), 0.0);
}

struct example {
  any_family family;
  table X;
};

std::vector<example> examples() {
  std::vector<example> all;
  for (const index_t d : {1, 3, 12}) {
    for (const double scale : {0.5, 5.0, 1000.0}) {
      all.push_back({bhclust::PoissonGamma{}, clustered(260, d, scale, false)});
      if (d > 1) all.push_back({bhclust::MultinomialDirichlet{}, clustered(260, d, scale, false)});
    }
    all.push_back({bhclust::BernoulliBeta{}, clustered(260, d, 1.0, true)});
  }
  return all;
}

}  // namespace

TEST_CASE("root rounds: the trees are as cheap as the greedy method's") {
  for (const auto& [family, X] : examples()) {
    CAPTURE(family.name());
    CAPTURE(X.columns());
    const auto rounds = relaxed_bhc(X.view(), family, by(relaxed_method::rounds));
    const auto greedy = relaxed_bhc(X.view(), family, by(relaxed_method::greedy));
    CHECK(rounds.merges() == X.rows() - 1);
    // the potentials' differences add up to the same in every tree
    CHECK(total(rounds) == doctest::Approx(total(greedy)).epsilon(1e-9));
    // d* is nearly always reducible: nearly all costs are the greedy method's
    const auto a = sorted(rounds.cost());
    const auto b = sorted(greedy.cost());
    std::size_t other = 0;
    for (std::size_t i = 0; i < a.size(); ++i) {
      if (!(std::fabs(a[i] - b[i]) <= 1e-9 * (1.0 + b[i]))) ++other;
    }
    CAPTURE(other);
    CHECK(a.back() == doctest::Approx(b.back()).epsilon(0.2));
  }
}

TEST_CASE("root rounds: the number of threads changes nothing") {
  for (const auto& [family, X] : examples()) {
    const auto one = relaxed_bhc(X.view(), family, by(relaxed_method::rounds));
    const auto many = relaxed_bhc(X.view(), family, by(relaxed_method::rounds, infinite, 3));
    CHECK(one.children() == many.children());
    CHECK(one.cost() == many.cost());
  }
}

TEST_CASE("root rounds: every merge is of a cluster and its nearest at the time of one of them") {
  for (const auto& [family, X] : examples()) {
    const auto t = relaxed_bhc(X.view(), family, by(relaxed_method::rounds));
    const auto model = bhclust::bind(family, X.view());
    std::vector<std::vector<double>> s;
    for (index_t i = 0; i < X.rows(); ++i) {
      s.emplace_back(at(model.width()), 0.0);
      model.observe(X.view().row(i), s.back().data());
    }
    std::vector<double> scratch(at(model.width()));
    std::size_t wrong = 0;
    // of two rows that were merged the first has no other row nearer that was there
    for (index_t k = t.leaves(); k < t.nodes(); ++k) {
      const auto a = at(t.left(k));
      const auto b = at(t.right(k));
      const double cost = model.divergence(s[a].data(), s[b].data(), scratch.data());
      if (!(std::fabs(cost - t.cost(k)) <= 1e-9 * (1.0 + cost))) ++wrong;
      if (t.left(k) < t.leaves() && t.right(k) < t.leaves()) {
        for (index_t i = 0; i < X.rows(); ++i) {
          if (at(i) == a || at(i) == b) continue;
          const bool leaf_merge = t.parent(i) > k;
          if (leaf_merge && model.divergence(s[a].data(), s[at(i)].data(), scratch.data()) <
                                cost * (1.0 - 1e-9)) {
            ++wrong;
          }
        }
      }
      s.push_back(s[a]);
      model.merge(s.back().data(), s[b].data());
    }
    CHECK(wrong == 0);
  }
}

TEST_CASE("root rounds: rows without counts are left to the chain") {
  auto cells = clustered(60, 4, 5.0, false).cells();
  std::fill(cells.begin(), cells.begin() + 4, 0.0);
  const table X(cells, 4);
  CHECK_THROWS_AS(static_cast<void>(relaxed_bhc(X.view(), bhclust::MultinomialDirichlet{},
                                                by(relaxed_method::rounds))),
                  std::invalid_argument);
  CHECK(relaxed_bhc(X.view(), bhclust::MultinomialDirichlet{}).merges() == 59);
}

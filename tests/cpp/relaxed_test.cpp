// RBHC: the greedy method against a twin, the chain against the greedy method, λ and cuts.
#include "examples.hpp"
#include "relaxed_runs.hpp"
#include "slow_family.hpp"
#include "tables.hpp"
#include "twins.hpp"
#include "typed_examples.hpp"
#include <bhclust/algorithm/relaxed.hpp>
#include <bhclust/analysis/cut.hpp>
#include <bhclust/any_family.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

using namespace testkit;
using bhclust::any_family;
using bhclust::relaxed_bhc;
using bhclust::relaxed_method;
using bhclust::relaxed_options;

namespace {

/// Labels of the roots of a forest.
std::vector<index_t> labels_of_roots(const tree& t) { return bhclust::labels_of(t, t.roots()); }

/// Values between the costs, below and above all.
std::vector<double> between(const std::vector<double>& costs) {
  const auto c = sorted(costs);
  std::vector<double> values{0.5 * c.front() + 1e-12, 2.0 * c.back() + 1.0};
  for (std::size_t i = 1; i < c.size(); ++i) {
    if (c[i] > c[i - 1] * (1.0 + 1e-9)) values.push_back(0.5 * (c[i] + c[i - 1]));
  }
  return values;
}

template <class Family>
void check_costs_recomputed(const tree& t, const Family& family, const table& X) {
  const auto model = bhclust::bind(family, X.view());
  const row_sets<decltype(model)> sets(model, X);
  const auto members = members_of(t);
  for (index_t k = t.leaves(); k < t.nodes(); ++k) {
    CHECK(near(t.cost(k), sets.divergence(members[at(t.left(k))], members[at(t.right(k))]), 1.0));
  }
}

std::vector<double> groups_of_reals(index_t rows) {
  random_source random(3);
  std::vector<double> cells;
  for (index_t i = 0; i < rows; ++i) {
    cells.push_back(random.normal() + 5.0 * static_cast<double>(i % 3));
  }
  return cells;
}

/// Bits without a potential.
struct bare_family {
  [[nodiscard]] static index_t width(index_t /*columns*/) { return 2; }
  static void observe(const bhclust::row_view& row, double* t) {
    t[0] += 1.0;
    t[1] += row.value(0);
  }
  [[nodiscard]] static double log_marginal(const double* t) {
    return std::lgamma(1.0 + t[1]) + std::lgamma(1.0 + t[0] - t[1]) - std::lgamma(2.0 + t[0]);
  }
};

/// Ward's cost as a divergence of its own, without a potential.
struct divergence_family : bare_family {
  [[nodiscard]] static double divergence(const double* t, const double* s) {
    if (t[0] == 0.0 || s[0] == 0.0) return 0.0;
    const double gap = t[1] / t[0] - s[1] / s[0];
    return 0.5 * t[0] * s[0] / (t[0] + s[0]) * gap * gap;
  }
};

/// Costs of Ward's merges on a line, where only neighbours merge: sizes and means from left to
/// right.
std::vector<double> ward_on_a_line(std::vector<double> cells) {
  std::sort(cells.begin(), cells.end());
  std::vector<std::pair<double, double>> clusters;
  for (const double x : cells) clusters.emplace_back(1.0, x);
  std::vector<double> costs;
  while (clusters.size() > 1) {
    double least = infinite;
    std::size_t best = 0;
    for (std::size_t i = 0; i + 1 < clusters.size(); ++i) {
      const auto& [n, x] = clusters[i];
      const auto& [m, y] = clusters[i + 1];
      const double cost = 0.5 * n * m / (n + m) * (y - x) * (y - x);
      if (cost < least) {
        least = cost;
        best = i;
      }
    }
    auto& [n, x] = clusters[best];
    const auto [m, y] = clusters[best + 1];
    x = (n * x + m * y) / (n + m);
    n += m;
    clusters.erase(clusters.begin() + static_cast<std::ptrdiff_t>(best) + 1);
    costs.push_back(least);
  }
  return costs;
}

struct cancelled {};

}  // namespace

TEST_CASE("relaxed: the greedy method merge by merge against the twin, every family") {
  for_each_example(6, 13, 4, [](random_source&, const any_family& family, const table& X) {
    const auto t = relaxed_bhc(X.view(), family, by(relaxed_method::greedy));
    REQUIRE(t.merges() == X.rows() - 1);
    CHECK(t.costs() == bhclust::cost_kind::divergence);
    const auto model = bhclust::bind(family, X.view());
    check_greedy(t, divergence_costs<decltype(model)>(model, X));
  });
}

TEST_CASE("relaxed: the greedy method stops at λ, every family") {
  for_each_example(3, 13, 4, [](random_source& random, const any_family& family, const table& X) {
    const auto all = relaxed_bhc(X.view(), family, by(relaxed_method::greedy));
    const double lambda = all.cost()[at(random.below(X.rows() - 1))] + 1e-9;
    const auto t = relaxed_bhc(X.view(), family, by(relaxed_method::greedy, lambda));
    const auto model = bhclust::bind(family, X.view());
    divergence_costs<decltype(model)> costs(model, X);
    check_greedy(t, costs, lambda);
    for (index_t k = t.leaves(); k < t.nodes(); ++k) costs.join(t.left(k), t.right(k));
    for (const index_t a : t.roots()) {
      for (const index_t b : t.roots()) {
        if (a < b) CHECK(costs.cost(a, b) >= lambda - 1e-9);
      }
    }
  });
}

TEST_CASE("relaxed: the chain gives one tree whose costs are its clusters' divergences") {
  for_each_example(6, 17, 4, [](random_source&, const any_family& family, const table& X) {
    const auto t = relaxed_bhc(X.view(), family, by(relaxed_method::nn_chain));
    CHECK(t.merges() == X.rows() - 1);
    CHECK(t.roots().size() == 1);
    check_costs_recomputed(t, family, X);
  });
}

TEST_CASE("relaxed: chain and greedy method agree where d* is reducible") {
  for_each_example_of<bhclust::NormalKnownVariance>(
      12, 40, 4, [](random_source&, const bhclust::NormalKnownVariance& drawn, const table& full) {
        // missing cells make the weights differ from column to column: no longer Ward's cost
        auto cells = full.cells();
        std::replace_if(cells.begin(), cells.end(), [](double x) { return std::isnan(x); }, 0.0);
        const table X(cells, full.columns());
        const auto chain = relaxed_bhc(X.view(), drawn, by(relaxed_method::nn_chain));
        const auto greedy = relaxed_bhc(X.view(), drawn, by(relaxed_method::greedy));
        const auto a = sorted(chain.cost());
        const auto b = sorted(greedy.cost());
        for (std::size_t i = 0; i < a.size(); ++i) CHECK(near(a[i], b[i], 1.0));
        CHECK(bhclust::running_maximum_cost(greedy).back() == greedy.cost().back());
        CHECK(std::is_sorted(greedy.cost().begin(), greedy.cost().end(),
                             [](double x, double y) { return x < y - 1e-9; }));
        for (const double lambda : between(greedy.cost())) {
          CHECK(labels_below(chain, lambda) == labels_below(greedy, lambda));
        }
      });
}

TEST_CASE("relaxed: a λ-forest is the one tree cut at λ") {
  for (const auto method : {relaxed_method::nn_chain, relaxed_method::greedy}) {
    const table X(groups_of_reals(40), 1);
    const bhclust::NormalKnownVariance family;
    const auto one = relaxed_bhc(X.view(), family, by(method));
    for (const double lambda : between(one.cost())) {
      CAPTURE(lambda);
      const auto forest = relaxed_bhc(X.view(), family, by(method, lambda));
      CHECK(labels_of_roots(forest) == labels_below(one, lambda));
      const auto cut = bhclust::forest_of(one, bhclust::nodes_below_cost(one, lambda));
      CHECK(sorted(forest.cost()).size() == cut.cost().size());
      const auto a = sorted(forest.cost());
      const auto b = sorted(cut.cost());
      for (std::size_t i = 0; i < a.size(); ++i) CHECK(near(a[i], b[i], 1.0));
      for (const double cost : forest.cost()) CHECK(cost < lambda);
    }
  }
}

TEST_CASE("relaxed: λ = +inf is one tree, a tiny λ joins what is equal") {
  const table X({2.0, 7.0, 2.0, 7.0, 7.0, 1.0}, 1);
  const bhclust::NormalKnownVariance family;
  for (const auto method : {relaxed_method::nn_chain, relaxed_method::greedy}) {
    CHECK(relaxed_bhc(X.view(), family, by(method)).roots().size() == 1);
    const auto forest = relaxed_bhc(X.view(), family, by(method, 1e-300));
    CHECK(labels_of_roots(forest) == std::vector<index_t>{1, 0, 1, 0, 0, 2});
    for (const double cost : forest.cost()) CHECK(cost == 0.0);
    const auto half = relaxed_bhc(X.view(), family, by(method, 1.0));
    CHECK(labels_of_roots(half) == std::vector<index_t>{0, 1, 0, 1, 1, 0});
    // a merge that costs λ exactly is not made
    const table Y({1.0, 2.0}, 1);
    const double cost = relaxed_bhc(Y.view(), family, by(method)).cost()[0];
    CHECK(near(cost, 0.25, 0.0, 1e-15));
    CHECK(relaxed_bhc(Y.view(), family, by(method, cost)).merges() == 0);
    CHECK(relaxed_bhc(Y.view(), family, by(method, std::nextafter(cost, 1.0))).merges() == 1);
  }
}

TEST_CASE("relaxed: rows that are all equal end in one tree at no cost, every family") {
  for_each_example(3, 1, 3, [](random_source&, const any_family& family, const table& row) {
    const auto X = row.taken(std::vector<index_t>(100, 0));
    for (const auto method : {relaxed_method::nn_chain, relaxed_method::greedy}) {
      for (const double lambda : {infinite, 1e-6}) {
        const auto t = relaxed_bhc(X.view(), family, by(method, lambda));
        CHECK(t.merges() == 99);
        for (const double cost : t.cost()) CHECK(cost <= 1e-9);
      }
    }
  });
}

TEST_CASE("relaxed: n_clusters cuts the one tree") {
  const table X(groups_of_reals(30), 1);
  const bhclust::NormalKnownVariance family;
  for (const auto method : {relaxed_method::nn_chain, relaxed_method::greedy}) {
    const auto one = relaxed_bhc(X.view(), family, by(method));
    for (index_t k = 1; k <= 30; ++k) {
      CAPTURE(k);
      auto options = by(method);
      options.n_clusters = k;
      const auto forest = relaxed_bhc(X.view(), family, options);
      CHECK(count(forest.roots()) == k);
      CHECK(labels_of_roots(forest) == bhclust::labels_of(one, bhclust::nodes_at_count(one, k)));
      // the k - 1 dearest merges are undone
      const auto costs = sorted(one.cost());
      const auto kept = sorted(forest.cost());
      CHECK(std::equal(kept.begin(), kept.end(), costs.begin()));
    }
  }
}

TEST_CASE("relaxed: one row, two rows") {
  const std::vector<double> cells = {1.0, 3.0};
  const bhclust::NormalKnownVariance family;
  for (const auto method : {relaxed_method::nn_chain, relaxed_method::greedy}) {
    CHECK(relaxed_bhc(bhclust::rows(cells.data(), 1, 1), family, by(method)).merges() == 0);
    const auto two = relaxed_bhc(bhclust::rows(cells.data(), 2, 1), family, by(method));
    CHECK(two.children() == std::vector<index_t>{0, 1});
    CHECK(near(two.cost()[0], 1.0, 1.0, 1e-15));
    CHECK_THROWS_WITH_AS(
        static_cast<void>(relaxed_bhc(bhclust::rows(cells.data(), 0, 1), family, by(method))),
        doctest::Contains("X has no rows"), std::invalid_argument);
  }
}

TEST_CASE("relaxed: families of a user's own, with a potential or a divergence") {
  const auto cells = groups_of_reals(90);
  const table X(cells, 1);
  const bhclust::NormalKnownVariance ward;
  for (const auto method : {relaxed_method::nn_chain, relaxed_method::greedy}) {
    const auto wanted = sorted(relaxed_bhc(X.view(), ward, by(method)).cost());
    const auto potential = sorted(relaxed_bhc(X.view(), slow_family{}, by(method)).cost());
    const auto own = sorted(relaxed_bhc(X.view(), divergence_family{}, by(method)).cost());
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      CHECK(near(potential[i], wanted[i], 100.0));
      CHECK(near(own[i], wanted[i], 100.0));
    }
    const auto erased = relaxed_bhc(X.view(), any_family(slow_family{}), by(method));
    CHECK(sorted(erased.cost()) == potential);
  }
}

TEST_CASE("relaxed: a family without a potential is told what it lacks") {
  static_assert(!bhclust::model_of<bare_family>::relaxable);
  static_assert(bhclust::model_of<divergence_family>::relaxable);
  static_assert(bhclust::model_of<slow_family>::relaxable);
  const table X({0.0, 1.0, 1.0}, 1);
  const auto message = doctest::Contains(
      "this family has no Bregman potential, which RBHC needs; add potential(t) to it");
  for (const auto method : {relaxed_method::nn_chain, relaxed_method::greedy}) {
    CHECK_THROWS_WITH_AS(static_cast<void>(relaxed_bhc(X.view(), bare_family{}, by(method))),
                         message, std::invalid_argument);
    CHECK_THROWS_WITH_AS(
        static_cast<void>(relaxed_bhc(X.view(), any_family(bare_family{}), by(method))), message,
        std::invalid_argument);
  }
}

TEST_CASE("relaxed: the tree does not depend on the number of threads") {
  const table X(groups_of_reals(250), 1);
  slow_family family;
  family.delay = 40;
  for (const auto method : {relaxed_method::nn_chain, relaxed_method::greedy}) {
    const auto one = relaxed_bhc(X.view(), family, by(method));
    for (const int threads : {2, 3, 5}) {
      CAPTURE(threads);
      const auto many = relaxed_bhc(X.view(), family, by(method, infinite, threads));
      CHECK(many.children() == one.children());
      CHECK(many.cost() == one.cost());
    }
  }
}

TEST_CASE("relaxed: dead slots are dropped without a trace") {
  for (const index_t rows : {63, 64, 65, 150, 301}) {
    CAPTURE(rows);
    const table X(groups_of_reals(rows), 1);
    const bhclust::NormalKnownVariance family;
    const auto chain = relaxed_bhc(X.view(), family, by(relaxed_method::nn_chain));
    const auto greedy = relaxed_bhc(X.view(), family, by(relaxed_method::greedy));
    const auto a = sorted(chain.cost());
    const auto b = sorted(greedy.cost());
    REQUIRE(a.size() == at(rows - 1));
    for (std::size_t i = 0; i < a.size(); ++i) CHECK(near(a[i], b[i], 1.0));
  }
}

TEST_CASE("relaxed: thousands of rows on a line, where Ward's method is simple") {
  const auto cells = groups_of_reals(2500);
  const auto wanted = sorted(ward_on_a_line(cells));
  const table X(cells, 1);
  for (const auto method : {relaxed_method::nn_chain, relaxed_method::greedy}) {
    for (const int threads : {1, 3}) {
      const auto found = sorted(
          relaxed_bhc(X.view(), bhclust::NormalKnownVariance{}, by(method, infinite, threads))
              .cost());
      REQUIRE(found.size() == wanted.size());
      std::size_t wrong = 0;
      for (std::size_t i = 0; i < wanted.size(); ++i) {
        if (!near(found[i], wanted[i], 0.0, 1e-9)) ++wrong;
      }
      CHECK(wrong == 0);
    }
  }
}

TEST_CASE("relaxed: progress rises to the total, and an exception from it ends the work") {
  slow_family family;
  family.delay = 80;
  for (const auto method : {relaxed_method::nn_chain, relaxed_method::greedy}) {
    const table X(groups_of_reals(method == relaxed_method::greedy ? 300 : 150), 1);
    for (const int threads : {1, 3}) {
      CAPTURE(threads);
      std::vector<std::pair<index_t, index_t>> reports;
      auto options = by(method, infinite, threads);
      options.progress = [&](index_t done, index_t total) { reports.emplace_back(done, total); };
      family.scores->store(0);
      static_cast<void>(relaxed_bhc(X.view(), family, options));
      const long all = family.scores->exchange(0);
      REQUIRE(reports.size() >= 2);
      for (std::size_t i = 1; i < reports.size(); ++i) {
        CHECK(reports[i].first >= reports[i - 1].first);
        CHECK(reports[i].second == reports[0].second);
      }
      CHECK(reports.back().first == reports.back().second);
      options.progress = [](index_t, index_t) { throw cancelled{}; };
      CHECK_THROWS_AS(static_cast<void>(relaxed_bhc(X.view(), family, options)), cancelled);
      CHECK(family.scores->load() < all / 2);
    }
  }
}

TEST_CASE("relaxed: options out of range are refused") {
  const table X({1.0, 2.0, 4.0}, 1);
  const bhclust::NormalKnownVariance family;
  for (const double lambda : {0.0, -0.5, missing}) {
    CHECK_THROWS_WITH_AS(
        static_cast<void>(relaxed_bhc(X.view(), family, by(relaxed_method::nn_chain, lambda))),
        doctest::Contains("it must be above 0 (+inf gives one tree; then cut it)"),
        std::invalid_argument);
  }
  CHECK_THROWS_WITH_AS(
      static_cast<void>(relaxed_bhc(X.view(), family, by(relaxed_method::greedy, -0.5))),
      doctest::Contains("lam is -0.5;"), std::invalid_argument);
  relaxed_options options;
  options.n_clusters = 4;
  CHECK_THROWS_WITH_AS(
      static_cast<void>(relaxed_bhc(X.view(), family, options)),
      doctest::Contains("n_clusters is 4; X has 3 rows, so it must be between 1 and that"),
      std::invalid_argument);
  options.n_clusters = -1;
  CHECK_THROWS_WITH_AS(static_cast<void>(relaxed_bhc(X.view(), family, options)),
                       doctest::Contains("n_clusters is -1; X has 3 rows"), std::invalid_argument);
  options.n_clusters = 2;
  options.lambda = 3.0;
  CHECK_THROWS_WITH_AS(static_cast<void>(relaxed_bhc(X.view(), family, options)),
                       doctest::Contains("lam and n_clusters exclude each other"),
                       std::invalid_argument);
  CHECK_THROWS_WITH_AS(
      static_cast<void>(relaxed_bhc(X.view(), family, by(relaxed_method::nn_chain, 1.0, -1))),
      doctest::Contains("n_threads must be at least 1, or 0 for all cores"), std::invalid_argument);
}

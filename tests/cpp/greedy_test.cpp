// Greedy BHC against a twin that scores every pair at every step.
#include "examples.hpp"
#include "slow_family.hpp"
#include "tables.hpp"
#include "twins.hpp"
#include <bhclust/algorithm/greedy.hpp>
#include <bhclust/any_family.hpp>
#include <bhclust/family/bernoulli_beta.hpp>
#include <bhclust/family/multinomial_dirichlet.hpp>
#include <bhclust/family/normal_inverse_gamma.hpp>
#include <bhclust/family/normal_known_variance.hpp>
#include <bhclust/family/poisson_gamma.hpp>
#include <bhclust/inference/posterior.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

using namespace testkit;
using bhclust::any_family;
using bhclust::greedy_bhc;

namespace {

template <class Family>
void check_against_twin(const Family& family, const table& X, double alpha) {
  const auto t = greedy_bhc(X.view(), family, {alpha, 2, {}});
  REQUIRE(t.leaves() == X.rows());
  REQUIRE(t.merges() == X.rows() - 1);
  CHECK(t.costs() == bhclust::cost_kind::log_d);
  const auto model = bhclust::bind(family, X.view());
  check_greedy(t, log_d_costs<decltype(model)>(model, X, alpha));
}

std::vector<double> groups_of_reals(index_t rows) {
  random_source random(3);
  std::vector<double> cells;
  for (index_t i = 0; i < rows; ++i)
    cells.push_back(random.normal() + 5.0 * static_cast<double>(i % 3));
  return cells;
}

struct cancelled {};

}  // namespace

TEST_CASE("greedy: merge by merge against the twin, every family") {
  for_each_example(6, 13, 4, [](random_source& random, const any_family& family, const table& X) {
    check_against_twin(family, X, random.positive());
  });
}

TEST_CASE("greedy: concentrations far from 1") {
  // α weighs clusters and nothing else: a hyperparameter shared with it would show here
  for (const double alpha : {1e-12, 1e-3, 50.0, 1e12}) {
    CAPTURE(alpha);
    for_each_example(1, 11, 3, [alpha](random_source&, const any_family& family, const table& X) {
      check_against_twin(family, X, alpha);
    });
  }
}

TEST_CASE("greedy: ties among identical rows go to the oldest, every family") {
  // few different rows, many of each
  for (index_t kinds = 1; kinds <= 4; ++kinds) {
    for_each_example(2, kinds, 3,
                     [](random_source& random, const any_family& family, const table& few) {
                       std::vector<index_t> chosen;
                       for (int i = 0; i < 12; ++i) chosen.push_back(random.below(few.rows()));
                       check_against_twin(family, few.taken(chosen), 1.0);
                     });
  }
}

TEST_CASE("greedy: many rows of few kinds, past the dropping of dead slots") {
  random_source random(5);
  const auto cells_of = [&](index_t levels) {
    std::vector<double> kinds;
    for (int e = 0; e < 9 * 5; ++e) kinds.push_back(static_cast<double>(random.below(levels)));
    return table(kinds, 5);
  };
  const auto check = [&](const auto& family, const table& few) {
    std::vector<index_t> chosen;
    for (int i = 0; i < 80; ++i) chosen.push_back(random.below(few.rows()));
    check_against_twin(family, few.taken(chosen), 0.7);
  };
  check(bhclust::BernoulliBeta{}, cells_of(2));
  check(bhclust::PoissonGamma{}, cells_of(7));
  check(bhclust::MultinomialDirichlet{}, cells_of(4));
}

TEST_CASE("greedy: counts in few of many columns, some rows equal or empty") {
  random_source random(9);
  const index_t d = 30;
  std::vector<double> cells(at(70 * d), 0.0);
  for (index_t i = 0; i < 70; ++i) {
    const index_t topic = i % 3 * 10;
    for (index_t k = 0; k < i % 5; ++k) {
      cells[at(i * d + topic + random.below(6))] += static_cast<double>(1 + random.below(3));
    }
  }
  const table X(cells, d);
  check_against_twin(bhclust::MultinomialDirichlet::from_data(X.view()), X, 1.3);
  check_against_twin(bhclust::MultinomialDirichlet{}, X.as_sparse(), 1.3);
  std::vector<index_t> chosen;
  for (int i = 0; i < 70; ++i) chosen.push_back(random.below(9));
  check_against_twin(bhclust::MultinomialDirichlet{}, X.taken(chosen), 1.3);
}

TEST_CASE("greedy: sparse counts by shared columns as by the plain store") {
  random_source random(3);
  const index_t n = 300;
  const index_t d = 60;
  std::vector<double> cells(at(n * d), 0.0);
  for (index_t i = 0; i < n; ++i) {
    const index_t topic = i % 5 * 10;
    for (index_t k = 0; k < 1 + random.below(8); ++k) {
      cells[at(i * d + topic + random.below(14))] += static_cast<double>(1 + random.below(3));
    }
  }
  const table X(cells, d);
  const auto family = bhclust::MultinomialDirichlet::from_data(X.view());
  const auto model = bhclust::bind(family, X.view());
  using plain_store = bhclust::detail::cluster_store<std::decay_t<decltype(model.base())>,
                                                     bhclust::detail::evidence_score>;
  bhclust::detail::thread_team team(1);
  bhclust::detail::progress_meter progress({}, 2 * n - 1);
  bhclust::detail::agglomeration<plain_store, bhclust::detail::log_d_rule> plain(
      plain_store(model.base(), X.view()), bhclust::detail::log_d_rule(n, 1.0), n, team, progress);
  const auto wanted = plain.run();
  for (const int threads : {1, 3}) {
    CHECK(greedy_bhc(X.view(), family, {1.0, threads, {}}).children() == wanted.children());
  }
}

TEST_CASE("greedy: equal rows that are one cluster from the start") {
  for_each_example(2, 5, 3, [](random_source& random, const any_family& family, const table& few) {
    std::vector<index_t> chosen;
    for (int i = 0; i < 13; ++i) chosen.push_back(random.below(few.rows()));
    const table X = few.taken(chosen);
    bhclust::greedy_options options;
    options.alpha = 0.8;
    options.collapse = true;
    const auto t = greedy_bhc(X.view(), family, options);
    REQUIRE(t.merges() == 12);
    const auto model = bhclust::bind(family, X.view());
    const row_sets<decltype(model)> sets(model, X);
    const auto members = members_of(t);
    index_t first = t.leaves();  // where the merges of clusters begin
    const auto alike = [&](const std::vector<index_t>& rows) {
      const auto kinds = sets.kinds(rows);
      return kinds.front() == kinds.back();
    };
    while (first < t.nodes() && alike(members[at(first)])) ++first;
    for (index_t k = first; k < t.nodes(); ++k) CHECK(!alike(members[at(k)]));
    check_greedy(t, log_d_costs<decltype(model)>(model, X, options.alpha), infinite, first);
  });
}

TEST_CASE("greedy: a table without equal rows has no other tree by collapse") {
  for_each_example(1, 11, 4, [](random_source&, const any_family& family, const table& X) {
    const auto model = bhclust::bind(family, X.view());
    const row_sets<decltype(model)> sets(model, X);
    auto kinds = sets.kinds(iota(X.rows()));
    if (std::adjacent_find(kinds.begin(), kinds.end()) != kinds.end()) return;
    bhclust::greedy_options options;
    const auto plain = greedy_bhc(X.view(), family, options);
    options.collapse = true;
    CHECK(greedy_bhc(X.view(), family, options).children() == plain.children());
  });
}

TEST_CASE("greedy: of equal pairs the one with the oldest newer node, then older node, is first") {
  const table X({1.0, 1.0, 1.0, 1.0}, 1);
  CHECK(greedy_bhc(X.view(), bhclust::BernoulliBeta{}).children() ==
        std::vector<index_t>{0, 1, 2, 4, 3, 5});
  // the two kinds of rows mirror each other, so their pairs tie across kinds as well
  const table Y({2.5, 2.5, -2.5, -2.5, -2.5, 2.5}, 1);
  bhclust::NormalKnownVariance family;
  family.variance = 0.01;
  CHECK(greedy_bhc(Y.view(), family).children() ==
        std::vector<index_t>{0, 1, 5, 6, 2, 3, 4, 8, 7, 9});
}

TEST_CASE("greedy: no row, one row, two rows") {
  const std::vector<double> cells = {0.3, 1.7};
  const bhclust::NormalKnownVariance family;
  const auto one = greedy_bhc(bhclust::rows(cells.data(), 1, 1), family);
  CHECK(one.leaves() == 1);
  CHECK(one.merges() == 0);
  CHECK(one.roots() == std::vector<index_t>{0});
  const auto wide = greedy_bhc(bhclust::rows(cells.data(), 1, 2), family);
  CHECK(wide.merges() == 0);
  const auto two = greedy_bhc(bhclust::rows(cells.data(), 2, 1), family);
  CHECK(two.children() == std::vector<index_t>{0, 1});
  check_against_twin(family, table(cells, 1), 1.0);
  CHECK_THROWS_WITH_AS(static_cast<void>(greedy_bhc(bhclust::rows(cells.data(), 0, 1), family)),
                       doctest::Contains("X has no rows; at least one is needed"),
                       std::invalid_argument);
  CHECK_THROWS_WITH_AS(static_cast<void>(greedy_bhc(bhclust::rows(cells.data(), 1, 0), family)),
                       doctest::Contains("X has no columns; at least one is needed"),
                       std::invalid_argument);
}

TEST_CASE("greedy: two clusters of 23 rows far apart stay two") {
  // 1 - π, the prior weight of the split, is 1e-13 here: it must not come from a rounded π
  std::vector<double> cells;
  for (int i = 0; i < 46; ++i) cells.push_back((i < 23 ? -10.0 : 10.0) + 0.01 * i);
  const table X(cells, 1);
  bhclust::NormalKnownVariance family;
  family.prior_variance = 100.0;
  const double alpha = 1e-6;
  const auto t = greedy_bhc(X.view(), family, {alpha, 1, {}});
  const auto p = bhclust::posterior(t, X.view(), family, {alpha, {}});
  const auto cut = bhclust::map_nodes(t, p);
  REQUIRE(cut.size() == 2);
  CHECK(t.size(cut[0]) == 23);
  check_against_twin(family, X, alpha);
}

TEST_CASE("greedy: pairs are ranked by log d where their r are all exactly 1") {
  // identical rows of many columns: log d is below -37, where 1 / (1 + d) rounds to 1
  random_source random(8);
  std::vector<double> cells;
  for (int i = 0; i < 12; ++i) {
    const double level = i % 3 == 0 ? 0.0 : (i % 3 == 1 ? 0.05 : 0.4);
    for (int j = 0; j < 64; ++j) cells.push_back(level + 0.01 * random.normal());
  }
  const table X(cells, 64);
  bhclust::NormalKnownVariance family;
  family.variance = 0.01;
  family.prior_variance = 10.0;
  const auto t = greedy_bhc(X.view(), family);
  int certain = 0;
  for (const double log_d : t.cost()) certain += 1.0 / (1.0 + std::exp(log_d)) == 1.0 ? 1 : 0;
  CHECK(certain >= 6);
  check_against_twin(family, X, 1.0);
}

TEST_CASE("greedy: 200 rows of one kind, Γ(n) and the likelihood out of double's range") {
  std::vector<double> cells(400 * 64);
  for (std::size_t e = 0; e < cells.size(); ++e) cells[e] = (e / 64) % 2 == 0 ? 1.0 : 0.0;
  const table X(cells, 64);
  const bhclust::BernoulliBeta family;
  const auto t = greedy_bhc(X.view(), family);
  const auto p = bhclust::posterior(t, X.view(), family);
  CHECK(bhclust::map_nodes(t, p).size() == 2);
  CHECK(std::isfinite(p.log_evidence_bound));
  // the two halves have one log d a size: what merges them must be dear, what forms them cheap
  CHECK(t.cost().back() > 1000.0);
  for (std::size_t m = 0; m + 1 < t.cost().size(); ++m) CHECK(t.cost()[m] < 0.0);
}

TEST_CASE("greedy: dead slots are dropped without a trace") {
  // enough rows for several compactions
  for (const index_t rows : {63, 64, 65, 150, 301}) {
    CAPTURE(rows);
    const table X(groups_of_reals(rows), 1);
    const auto family = slow_family{};
    const auto t = greedy_bhc(X.view(), family, {1.0, 1, {}});
    REQUIRE(t.merges() == rows - 1);
    const auto model = bhclust::bind(family, X.view());
    if (rows <= 65) check_greedy(t, log_d_costs<decltype(model)>(model, X, 1.0));
    // the same scores by the family's own fast store
    bhclust::NormalKnownVariance fast;
    fast.prior_variance = 100.0;
    const auto same = greedy_bhc(X.view(), fast, {1.0, 1, {}});
    CHECK(same.children() == t.children());
    for (std::size_t m = 0; m < t.cost().size(); ++m)
      CHECK(near(same.cost()[m], t.cost()[m], 10.0, 1e-10));
  }
}

TEST_CASE("greedy: the tree does not depend on the number of threads") {
  // scores slow enough to be shared out
  const table X(groups_of_reals(700), 1);
  slow_family family;
  family.delay = 20;
  const auto one = greedy_bhc(X.view(), family, {1.0, 1, {}});
  for (const int threads : {0, 2, 3, 5}) {
    CAPTURE(threads);
    const auto many = greedy_bhc(X.view(), family, {1.0, threads, {}});
    CHECK(many.children() == one.children());
    CHECK(many.cost() == one.cost());
  }
}

TEST_CASE("greedy: the tree of every family does not depend on the number of threads") {
  for_each_example(1, 140, 4, [](random_source&, const any_family& family, const table& X) {
    const auto one = greedy_bhc(X.view(), family, {1.0, 1, {}});
    const auto three = greedy_bhc(X.view(), family, {1.0, 3, {}});
    CHECK(three.children() == one.children());
    CHECK(three.cost() == one.cost());
  });
}

TEST_CASE("greedy: the order of the rows does not change the clusters") {
  const auto cells = groups_of_reals(60);
  const table X(cells, 1);
  random_source random(4);
  const auto order = shuffled(random, 60);
  const table Y = X.taken(order);
  const bhclust::NormalInverseGamma family;
  const auto t = greedy_bhc(X.view(), family);
  const auto s = greedy_bhc(Y.view(), family);
  for (std::size_t m = 0; m < t.cost().size(); ++m) CHECK(near(s.cost()[m], t.cost()[m], 10.0));
  const auto original = members_of(t);
  const auto other = members_of(s);
  for (index_t k = 60; k < t.nodes(); ++k) {
    auto rows = other[at(k)];
    for (auto& i : rows) i = order[at(i)];
    std::sort(rows.begin(), rows.end());
    auto wanted = original[at(k)];
    std::sort(wanted.begin(), wanted.end());
    CHECK(rows == wanted);
  }
}

TEST_CASE("greedy: progress rises to the total and is reported while work goes on") {
  const table X(groups_of_reals(400), 1);
  slow_family family;
  family.delay = 100;
  for (const int threads : {1, 3}) {
    CAPTURE(threads);
    std::vector<std::pair<index_t, index_t>> reports;
    const auto t = greedy_bhc(X.view(), family, {1.0, threads, [&](index_t done, index_t total) {
                                                   reports.emplace_back(done, total);
                                                 }});
    CHECK(t.merges() == 399);
    REQUIRE(reports.size() >= 2);
    for (std::size_t i = 0; i < reports.size(); ++i) {
      CHECK(reports[i].second == reports[0].second);
      CHECK(reports[i].first <= reports[i].second);
      if (i > 0) CHECK(reports[i].first >= reports[i - 1].first);
    }
    CHECK(reports.back().first == reports.back().second);
  }
}

TEST_CASE("greedy: progress on a table that is done at once is one report") {
  int reports = 0;
  const table X({1.0, 2.0}, 1);
  static_cast<void>(greedy_bhc(X.view(), slow_family{}, {1.0, 1, [&](index_t done, index_t total) {
                                                           CHECK(done == total);
                                                           ++reports;
                                                         }}));
  CHECK(reports == 1);
}

TEST_CASE("greedy: an exception from progress ends the work and comes out") {
  const table X(groups_of_reals(600), 1);
  slow_family family;
  family.delay = 100;
  static_cast<void>(greedy_bhc(X.view(), family, {1.0, 2, {}}));
  const long all = family.scores->exchange(0);
  for (const int threads : {1, 2, 4}) {
    CAPTURE(threads);
    CHECK_THROWS_AS(
        static_cast<void>(greedy_bhc(X.view(), family,
                                     {1.0, threads, [](index_t, index_t) { throw cancelled{}; }})),
        cancelled);
    CHECK(family.scores->exchange(0) < all / 2);
  }
}

TEST_CASE("greedy: a concentration that is no positive number is refused") {
  const table X({1.0, 2.0}, 1);
  for (const double alpha : {0.0, -1.5, infinite, missing}) {
    CHECK_THROWS_WITH_AS(
        static_cast<void>(greedy_bhc(X.view(), slow_family{}, {alpha, 1, {}})),
        doctest::Contains(
            "the concentration must be a finite number above 0 (1.0 is a usual choice)"),
        std::invalid_argument);
  }
  CHECK_THROWS_WITH_AS(static_cast<void>(greedy_bhc(X.view(), slow_family{}, {-1.5, 1, {}})),
                       doctest::Contains("alpha is -1.5;"), std::invalid_argument);
  CHECK_THROWS_WITH_AS(static_cast<void>(greedy_bhc(X.view(), slow_family{}, {1.0, -2, {}})),
                       doctest::Contains("n_threads must be at least 1, or 0 for all cores"),
                       std::invalid_argument);
}

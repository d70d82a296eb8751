// Groups of rows as leaves, against the rows.
#include "examples.hpp"
#include "tables.hpp"
#include "twins.hpp"
#include <bhclust/algorithm/bayes_kmeans.hpp>
#include <bhclust/algorithm/greedy.hpp>
#include <bhclust/algorithm/randomized.hpp>
#include <bhclust/algorithm/relaxed.hpp>
#include <bhclust/any_family.hpp>
#include <bhclust/family/normal_inverse_gamma.hpp>
#include <bhclust/family/normal_inverse_wishart.hpp>
#include <bhclust/family/normal_known_variance.hpp>
#include <bhclust/groups.hpp>
#include <bhclust/inference/evidence.hpp>
#include <bhclust/inference/posterior.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <stdexcept>
#include <type_traits>
#include <vector>

using namespace testkit;
using bhclust::any_family;
using bhclust::group_statistics;
using bhclust::grouped;
using bhclust::index_t;
using bhclust::table_view;

namespace {

std::vector<index_t> counted(index_t n) {
  std::vector<index_t> all(static_cast<std::size_t>(n));
  std::iota(all.begin(), all.end(), index_t{0});
  return all;
}

/// Labels may be temporary.
template <class Family>
group_statistics aggregated(const table_view& X, const Family& family,
                            const std::vector<index_t>& labels, index_t groups,
                            const std::vector<index_t>& repeats = {}) {
  return bhclust::aggregate(X, family, labels, groups, repeats);
}

/// Labels 0 … groups - 1, each at least once.
std::vector<index_t> random_labels(random_source& random, index_t n, index_t groups) {
  std::vector<index_t> labels = counted(groups);
  while (static_cast<index_t>(labels.size()) < n) {
    labels.push_back(static_cast<index_t>(random.below(groups)));
  }
  return labels;
}

}  // namespace

TEST_CASE("groups: of one row each give the rows' posterior, every family") {
  for_each_example(2, 12, 3, [](random_source&, const any_family& family, const table& X) {
    const grouped<any_family> of_groups{family};
    const table_view rows = X.view();
    const auto S = aggregated(rows, of_groups, counted(rows.rows()), rows.rows());
    const table_view groups = S.view(rows.columns());
    const auto t = bhclust::greedy_bhc(rows, family);
    const auto p = bhclust::posterior(t, rows, family);
    const auto q = bhclust::posterior(t, groups, of_groups);
    CHECK(q.rows.size() == static_cast<std::size_t>(t.nodes()));
    CHECK(p.rows.empty());
    // rows may be kept in another form than groups, which shows in the last bits
    const auto near = [](double x) { return doctest::Approx(x).epsilon(1e-11); };
    CHECK(q.log_evidence_bound == near(p.log_evidence_bound));
    REQUIRE(p.log_tree.size() == q.log_tree.size());
    for (std::size_t k = 0; k < p.log_tree.size(); ++k) {
      CHECK(q.log_tree[k] == near(p.log_tree[k]));
    }
    CHECK(bhclust::exact_log_evidence(table_view(rows), family, 0.7) ==
          bhclust::exact_log_evidence(groups, of_groups, 0.7));
  });
}

TEST_CASE("groups: log p of a node is that of its rows, and its prior counts them") {
  for_each_example(2, 14, 3, [](random_source& random, const any_family& family, const table& X) {
    const grouped<any_family> of_groups{family};
    const table_view rows = X.view();
    const index_t n = std::min<index_t>(5, rows.rows());
    const auto labels = random_labels(random, rows.rows(), n);
    const auto S = aggregated(rows, of_groups, labels, n);
    CHECK(std::accumulate(S.weights.begin(), S.weights.end(), index_t{0}) == rows.rows());
    const auto t = bhclust::greedy_bhc(S.view(rows.columns()), of_groups);
    const auto p = bhclust::posterior(t, S.view(rows.columns()), of_groups);
    const auto model = bhclust::bind(family, rows);
    std::vector<double> all(static_cast<std::size_t>(model.width()), 0.0), one(all);
    for (index_t i = 0; i < rows.rows(); ++i) {
      std::fill(one.begin(), one.end(), 0.0);
      model.observe(rows.row(i), one.data());
      model.merge(all.data(), one.data());
    }
    const double log_p = model.log_marginal(all.data());
    CHECK(near(p.log_marginal.back(), log_p));
    CHECK(p.rows.back() == rows.rows());
    CHECK(p.n_rows(t) == rows.rows());
    const double r =
        std::exp(bhclust::detail::log_one_cluster(1.0, rows.rows(), log_p) - p.log_tree.back());
    CHECK(near(p.r(t.nodes() - 1), r, 1.0, 1e-9));
  });
}

TEST_CASE("groups: repeats are merged copies") {
  for_each_example(1, 8, 3, [](random_source& random, const any_family& family, const table& X) {
    const grouped<any_family> of_groups{family};
    const table_view rows = X.view();
    std::vector<index_t> repeats;
    for (index_t i = 0; i < rows.rows(); ++i) {
      repeats.push_back(1 + static_cast<index_t>(random.below(40)));
    }
    const auto S = aggregated(rows, of_groups, counted(rows.rows()), rows.rows(), repeats);
    CHECK(S.weights == repeats);
    const auto model = bhclust::bind(family, rows);
    std::vector<double> one(static_cast<std::size_t>(model.width())), sum(one);
    for (index_t i = 0; i < rows.rows(); ++i) {
      std::fill(one.begin(), one.end(), 0.0);
      model.observe(rows.row(i), one.data());
      sum = one;
      for (index_t k = 1; k < repeats[static_cast<std::size_t>(i)]; ++k) {
        model.merge(sum.data(), one.data());
      }
      CHECK(near(model.log_marginal(S.values.data() + i * S.width), model.log_marginal(sum.data()),
                 1.0, 1e-9));
    }
  });
}

TEST_CASE("groups: Ward's rounds merge what the plain scores merge") {
  random_source random(11);
  std::vector<double> cells;
  for (index_t i = 0; i < 600; ++i) {
    const double place = 5.0 * static_cast<double>(random.below(5));
    cells.push_back(place + random.normal());
    cells.push_back(random.normal() - place);
  }
  const table_view X = bhclust::rows(cells.data(), 300, 4);
  const grouped<bhclust::NormalKnownVariance> family{{2.0, 0.0, 9.0}};
  const auto S = aggregated(X, family, random_labels(random, 300, 90), 90);
  const auto sorted = [&](bhclust::relaxed_method method, int threads) {
    bhclust::relaxed_options options;
    options.method = method;
    options.n_threads = threads;
    auto cost = bhclust::relaxed_bhc(S.view(4), family, options).cost();
    std::sort(cost.begin(), cost.end());
    return cost;
  };
  const auto rounds = sorted(bhclust::relaxed_method::rounds, 1);
  const auto greedy = sorted(bhclust::relaxed_method::greedy, 1);
  CHECK(rounds == sorted(bhclust::relaxed_method::automatic, 2));
  REQUIRE(rounds.size() == greedy.size());
  for (std::size_t k = 0; k < rounds.size(); ++k) CHECK(near(rounds[k], greedy[k]));
}

TEST_CASE("groups: approximate trees of all leaves at once are greedy's") {
  for_each_example(1, 12, 3, [](random_source& random, const any_family& family, const table& X) {
    const grouped<any_family> of_groups{family};
    const index_t n = std::min<index_t>(8, X.view().rows());
    const auto S = aggregated(X.view(), of_groups, random_labels(random, X.view().rows(), n), n);
    const table_view groups = S.view(X.view().columns());
    const auto exact = bhclust::greedy_bhc(groups, of_groups);
    bhclust::bayes_kmeans_options options;
    options.seeds = counted(n);
    options.merge = false;
    CHECK(bhclust::bayes_kmeans_bhc(groups, of_groups, options).children() == exact.children());
    bhclust::randomized_options subset;
    subset.subset = n;
    if (n >= 2) {
      CHECK(bhclust::randomized_bhc(groups, of_groups, subset).children() == exact.children());
    }
  });
}

TEST_CASE("groups: numbers that no rows have are refused, every family") {
  for_each_example(1, 12, 3, [](random_source& random, const any_family& family, const table& X) {
    const grouped<any_family> of_groups{family};
    const index_t n = X.view().rows();
    const auto S = aggregated(X.view(), of_groups, random_labels(random, n, n / 2), n / 2);
    CHECK_NOTHROW(bhclust::check_data(of_groups, S.view(X.view().columns())));
    auto spoilt = S;
    for (auto& value : spoilt.values) value = -1.0;
    const auto X_spoilt = spoilt.view(X.view().columns());
    CHECK_THROWS_WITH_AS(bhclust::check_data(of_groups, X_spoilt),
                         doctest::Contains("values[0] cannot be the statistics of"),
                         std::invalid_argument);
  });
}

TEST_CASE("groups: no statistics at all are refused") {
  const grouped<bhclust::NormalKnownVariance> family{{1.0, 0.0, 9.0}};
  const std::vector<index_t> weights = {1, 1};
  const double nothing = 0.0;
  const table_view X = bhclust::groups(&nothing, weights.data(), 2, 0, 1);
  CHECK(X.grouped());
  CHECK_THROWS_WITH_AS(bhclust::check_data(family, X),
                       doctest::Contains("X has 0 statistics a group"), std::invalid_argument);
}

TEST_CASE("groups: what does not fit is refused") {
  const bhclust::NormalKnownVariance family;
  const grouped<bhclust::NormalKnownVariance> of_groups{family};
  const std::vector<double> cells = {0.0, 1.0, 2.0};
  const table_view X = bhclust::rows(cells.data(), 3, 1);
  CHECK_THROWS_AS(static_cast<void>(aggregated(X, of_groups, std::vector<index_t>{0, 1}, 2)),
                  std::invalid_argument);
  CHECK_THROWS_AS(static_cast<void>(aggregated(X, of_groups, std::vector<index_t>{0, 2, 2}, 3)),
                  std::invalid_argument);
  CHECK_THROWS_AS(static_cast<void>(aggregated(X, of_groups, std::vector<index_t>{0, 1, 3}, 3)),
                  std::invalid_argument);
  auto S = aggregated(X, of_groups, std::vector<index_t>{0, 0, 1}, 2);
  CHECK_THROWS_AS(static_cast<void>(bhclust::greedy_bhc(S.view(1), family)), std::invalid_argument);
  CHECK_THROWS_AS(static_cast<void>(bhclust::greedy_bhc(S.view(2), of_groups)),
                  std::invalid_argument);
  S.weights[1] = 0;
  CHECK_THROWS_AS(static_cast<void>(bhclust::greedy_bhc(S.view(1), of_groups)),
                  std::invalid_argument);
  S.weights[1] = 1;
  S.values[1] = std::numeric_limits<double>::quiet_NaN();
  CHECK_THROWS_AS(static_cast<void>(bhclust::greedy_bhc(S.view(1), of_groups)),
                  std::invalid_argument);
}

namespace {

/// Groups of 1 to 9 rows of random places.
template <class Family>
group_statistics scattered(const Family& family, index_t groups, index_t columns,
                           random_source& random) {
  std::vector<double> cells;
  std::vector<index_t> labels;
  for (index_t g = 0; g < groups; ++g) {
    const double place = 1000.0 + 20.0 * random.normal();
    for (index_t i = 0; i <= g % 9; ++i) {
      labels.push_back(g);
      for (index_t j = 0; j < columns; ++j) cells.push_back(place + random.normal());
    }
  }
  const table X(std::move(cells), columns);
  return aggregated(X.view(), family, labels, groups);
}

/// The family's own store of groups against the plain one, before and after merges.
template <class Family>
void check_group_store(const Family& family, index_t columns) {
  using bhclust::detail::batched_store;
  random_source random(21);
  const grouped<Family> of_groups{family};
  const auto S = scattered(of_groups, 70, columns, random);
  const table_view X = S.view(columns);
  const auto model = bhclust::bind(of_groups, X);
  using bare = typename std::decay_t<decltype(model)>::bare;
  using own =
      bhclust::detail::inner_group_store<bare, std::decay_t<decltype(model.base().inner())>>;
  REQUIRE(own::takes(model.base(), X));
  own fast(model.base(), X);
  batched_store<bare> plain(model.base(), X);
  for (index_t k = 0; k < 40; ++k) {
    REQUIRE(fast.merge(2 * k % 70, 2 * k + 1) == plain.merge(2 * k % 70, 2 * k + 1));
  }
  typename own::query q;
  typename batched_store<bare>::query p;
  std::vector<double> found(static_cast<std::size_t>(fast.slots())), expected(found);
  for (const index_t slot : {index_t{0}, index_t{33}, index_t{69}, index_t{80}, index_t{109}}) {
    fast.load(q, slot);
    plain.load(p, slot);
    fast.row(q, 0, 80, found.data());
    plain.row(p, 0, 80, expected.data());
    for (std::size_t s = 0; s < 80; ++s) {
      if (static_cast<index_t>(s) == slot) continue;
      CHECK_MESSAGE(near(found[s], expected[s], 100.0, 1e-9), slot << " and " << s);
    }
  }
}

}  // namespace

TEST_CASE("groups: stores of lanes score as the plain one does") {
  for (const index_t columns : {1, 3, 9}) {
    bhclust::NormalInverseGamma independent;
    independent.mean = 990.0;
    check_group_store(independent, columns);
    bhclust::NormalInverseWishart full;
    full.mean = 990.0;
    full.nu = 11.0;
    check_group_store(full, columns);
    bhclust::NormalKnownVariance known;
    known.mean = 990.0;
    check_group_store(known, columns);
  }
}

TEST_CASE("groups: missing cells, and more rows than there is a table for, have the plain store") {
  const bhclust::NormalInverseGamma family;
  const grouped<bhclust::NormalInverseGamma> of_groups{family};
  const table X({1.0, 2.0, 3.0, std::numeric_limits<double>::quiet_NaN(), 0.0, 5.0}, 2);
  const auto holes = aggregated(X.view(), of_groups, {0, 1, 2}, 3);
  const auto model = bhclust::bind(of_groups, holes.view(2));
  using bare = typename std::decay_t<decltype(model)>::bare;
  using own =
      bhclust::detail::inner_group_store<bare, std::decay_t<decltype(model.base().inner())>>;
  CHECK_FALSE(own::takes(model.base(), holes.view(2)));
  CHECK(bhclust::greedy_bhc(holes.view(2), of_groups).merges() == 2);
  const table one({1.0, 2.0}, 1);
  const auto many = aggregated(one.view(), of_groups, {0, 1}, 2, {1000000, 1000000});
  CHECK_FALSE(own::takes(bhclust::bind(of_groups, many.view(1)).base(), many.view(1)));
  CHECK(bhclust::greedy_bhc(many.view(1), of_groups).merges() == 1);
}

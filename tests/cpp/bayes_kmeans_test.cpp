// Bayes K-means BHC: the assignment of rows against a twin that scores partitions from the rows
// themselves, and the trees against greedy BHC.
#include "examples.hpp"
#include "slow_family.hpp"
#include "tables.hpp"
#include "twins.hpp"
#include "typed_examples.hpp"
#include <bhclust/algorithm/bayes_kmeans.hpp>
#include <bhclust/algorithm/greedy.hpp>
#include <bhclust/any_family.hpp>
#include <bhclust/families.hpp>
#include <bhclust/family/bernoulli_beta.hpp>
#include <bhclust/family/normal_inverse_gamma.hpp>
#include <bhclust/family/normal_known_variance.hpp>
#include <bhclust/inference/posterior.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <type_traits>
#include <vector>

using namespace testkit;
using bhclust::any_family;
using bhclust::bayes_kmeans_bhc;
using bhclust::bayes_kmeans_options;
using bhclust::greedy_bhc;

namespace {

using groups = std::vector<std::vector<index_t>>;

bayes_kmeans_options seeded(std::vector<index_t> seeds, bool merge, double alpha = 1.0) {
  bayes_kmeans_options options;
  options.alpha = alpha;
  options.seeds = std::move(seeds);
  options.merge = merge;
  options.n_threads = 2;
  return options;
}

void check_same(const tree& a, const tree& b) {
  CHECK(a.children() == b.children());
  CHECK(a.cost() == b.cost());
  CHECK(a.costs() == b.costs());
}

/// log of the partition's marginal likelihood, but for its constants.
template <class Model>
class partitions {
 public:
  partitions(const Model& model, const table& X, double alpha)
      : sets_(model, X), log_alpha_(std::log(alpha)) {}

  [[nodiscard]] double one(const std::vector<index_t>& rows) const {
    return log_alpha_ + std::lgamma(static_cast<double>(rows.size())) + sets_.log_marginal(rows);
  }
  /// What adding row i to a cluster brings.
  [[nodiscard]] double gain(std::vector<index_t> rows, index_t i) const {
    const double before = rows.empty() ? 0.0 : one(rows);
    rows.push_back(i);
    return one(rows) - before;
  }

 private:
  row_sets<Model> sets_;
  double log_alpha_;
};

/// Every cluster must be a node of the tree.
void check_clades(const tree& t, const groups& clusters) {
  auto members = members_of(t);
  for (auto& m : members) std::sort(m.begin(), m.end());
  for (auto cluster : clusters) {
    std::sort(cluster.begin(), cluster.end());
    CHECK(std::find(members.begin(), members.end(), cluster) != members.end());
  }
}

/// A cluster, and as much of it as its scores are made from: all, once a quarter has come.
template <class Rows>
struct growing {
  Rows now, scored;

  template <class Size>
  void update(const Size& size) {
    if (4 * (size(now) - size(scored)) >= size(scored)) scored = now;
  }
};

/// Follows the assignment: `found` holds the clusters, whose choices must have been best up to
/// rounding.
template <class Model>
void check_assignment(const Model& model, const table& X, const std::vector<index_t>& seeds,
                      double alpha, const groups& found) {
  const partitions<Model> p(model, X, alpha);
  std::vector<index_t> home(at(X.rows()));
  for (index_t c = 0; c < count(found); ++c) {
    for (const index_t i : found[at(c)]) home[at(i)] = c;
  }
  std::vector<growing<std::vector<index_t>>> clusters(found.size());
  const auto size = [](const std::vector<index_t>& rows) { return count(rows); };
  for (const index_t i : seeds) clusters[at(home[at(i)])].now.push_back(i);
  for (auto& cluster : clusters) {
    CHECK(cluster.now.size() <= 1);
    cluster.update(size);
  }
  for (index_t i = 0; i < X.rows(); ++i) {
    if (std::find(seeds.begin(), seeds.end(), i) != seeds.end()) continue;
    auto& chosen = clusters[at(home[at(i)])];
    const double got = p.gain(chosen.scored, i);
    double best = p.gain({}, i);
    for (const auto& cluster : clusters) best = std::max(best, p.gain(cluster.scored, i));
    CHECK_MESSAGE(near(got, best, 10.0, 1e-9), "row " << i << ": " << got << " of " << best);
    chosen.now.push_back(i);
    chosen.update(size);
  }
}

/// Costs must be log d.
template <class Family>
void check_costs(const tree& t, const table& X, const Family& family, double alpha) {
  const auto p = bhclust::posterior(t, X.view(), family, {alpha, {}});
  for (index_t k = t.leaves(); k < t.nodes(); ++k) {
    const double size = std::fabs(p.log_tree[at(k)]);
    CHECK(near(t.cost(k), -p.log_odds[at(k)], size, 1e-9));
  }
}

/// What the assignment alone finds.
template <class Family>
groups assigned(const Family& family, const table& X, const std::vector<index_t>& seeds,
                double alpha) {
  const auto model = bhclust::bind(family, X.view());
  bhclust::detail::thread_team team(2);
  bhclust::detail::progress_meter progress({}, 1);
  auto store = bhclust::detail::make_store<bhclust::detail::evidence_score>(model, X.view());
  bhclust::detail::row_assignment<decltype(store)> run(std::move(store), X.view(), alpha, team,
                                                       progress);
  run.run(seeds);
  return run.members();
}

template <class Family>
void check_all(const Family& family, const table& X, const std::vector<index_t>& seeds,
               double alpha) {
  const auto model = bhclust::bind(family, X.view());
  const auto clusters = assigned(family, X, seeds, alpha);
  check_assignment(model, X, seeds, alpha, clusters);
  const auto t = bayes_kmeans_bhc(X.view(), family, seeded(seeds, false, alpha));
  REQUIRE(t.merges() == X.rows() - 1);
  check_clades(t, clusters);
  check_costs(t, X, family, alpha);
}

table blobs(index_t rows, index_t d = 2) {
  random_source random(5);
  std::vector<double> cells;
  for (index_t i = 0; i < rows; ++i) {
    const double centre = 8.0 * static_cast<double>(random.below(4));
    for (index_t j = 0; j < d; ++j) cells.push_back(centre + random.normal());
  }
  return {std::move(cells), d};
}

}  // namespace

TEST_CASE("Bayes K-means: all rows as seeds, unmerged, is greedy BHC, every family") {
  for_each_example(4, 40, 4, [](random_source& random, const any_family& family, const table& X) {
    const double alpha = random.positive();
    check_same(bayes_kmeans_bhc(X.view(), family, seeded(iota(X.rows()), false, alpha)),
               greedy_bhc(X.view(), family, {alpha, 1, {}}));
  });
}

TEST_CASE("Bayes K-means: every family by its own type as by any_family") {
  bhclust::for_each_family([](auto tag) {
    using family_type = typename decltype(tag)::type;
    for_each_example_of<family_type>(
        1, 60, 3, [](random_source&, const family_type& family, const table& X) {
          const auto options = seeded({3, 17, 40}, true);
          check_same(bayes_kmeans_bhc(X.view(), family, options),
                     bayes_kmeans_bhc(X.view(), any_family(family), options));
        });
  });
}

TEST_CASE("Bayes K-means: one row, two, three") {
  for (index_t rows = 1; rows <= 3; ++rows) {
    for_each_example(2, rows, 2, [](random_source&, const any_family& family, const table& X) {
      check_same(bayes_kmeans_bhc(X.view(), family, seeded(iota(X.rows()), false)),
                 greedy_bhc(X.view(), family));
      CHECK(bayes_kmeans_bhc(X.view(), family).merges() == X.rows() - 1);
    });
  }
}

TEST_CASE("Bayes K-means: each row goes where the marginal likelihood is largest, every family") {
  for_each_example(3, 50, 4, [](random_source& random, const any_family& family, const table& X) {
    auto order = shuffled(random, X.rows());
    for (const index_t k : {1, 7}) {
      std::vector<index_t> seeds(order.begin(), order.begin() + k);
      std::sort(seeds.begin(), seeds.end());
      check_all(family, X, seeds, random.positive());
    }
  });
}

TEST_CASE("Bayes K-means: several blocks of rows, and slots dropped on the way") {
  const table X = blobs(5000, 1);
  bhclust::NormalKnownVariance family;
  family.prior_variance = 100.0;
  const std::vector<index_t> seeds = {3, 700, 2048, 4999};
  const auto clusters = assigned(family, X, seeds, 1.0);
  // the twin in one pass, by statistics
  const auto model = bhclust::bind(family, X.view());
  struct sum {
    statistics of;
    index_t rows = 0;
  };
  groups now;
  std::vector<growing<sum>> sums;
  const auto size = [](const sum& s) { return s.rows; };
  const auto put = [&](std::size_t home, const statistics& row, index_t i) {
    now[home].push_back(i);
    sums[home].now = {joined(model, sums[home].now.of, row), sums[home].now.rows + 1};
    sums[home].update(size);
  };
  const auto open = [&] {
    now.emplace_back();
    sums.push_back({{nothing(model), 0}, {nothing(model), 0}});
    return now.size() - 1;
  };
  for (const index_t i : seeds) put(open(), observed(model, X, {i}), i);
  for (index_t i = 0; i < X.rows(); ++i) {
    if (std::find(seeds.begin(), seeds.end(), i) != seeds.end()) continue;
    const auto row = observed(model, X, {i});
    double best = log_marginal(model, row);
    std::size_t home = now.size();
    for (std::size_t c = 0; c < now.size(); ++c) {
      const double gain = log_marginal(model, joined(model, sums[c].scored.of, row)) -
                          log_marginal(model, sums[c].scored.of) +
                          std::log(static_cast<double>(sums[c].scored.rows));
      if (gain >= best && (home == now.size() || gain > best)) {
        best = gain;
        home = c;
      }
    }
    put(home == now.size() ? open() : home, row, i);
  }
  groups found = clusters;
  for (auto* each : {&found, &now}) {
    for (auto& c : *each) std::sort(c.begin(), c.end());
    std::sort(each->begin(), each->end());
  }
  CHECK(found == now);
}

TEST_CASE("Bayes K-means: identical rows are one cluster, equal clusters the oldest's") {
  const table X(std::vector<double>(60, 1.0), 1);
  const auto clusters = assigned(bhclust::BernoulliBeta{}, X, {4, 9}, 1.0);
  REQUIRE(clusters.size() == 2);
  groups sorted = clusters;
  std::sort(sorted.begin(), sorted.end(),
            [](const auto& a, const auto& b) { return a.size() < b.size(); });
  CHECK(sorted[0] == std::vector<index_t>{9});
  // and merging makes them one
  const auto t = bayes_kmeans_bhc(X.view(), bhclust::BernoulliBeta{}, seeded({4, 9}, true));
  CHECK(t.children() ==
        bayes_kmeans_bhc(X.view(), bhclust::BernoulliBeta{}, seeded({4, 9}, false)).children());
  check_costs(t, X, bhclust::BernoulliBeta{}, 1.0);
  CHECK(bhclust::map_nodes(t, bhclust::posterior(t, X.view(), bhclust::BernoulliBeta{})) ==
        std::vector<index_t>{t.nodes() - 1});
}

TEST_CASE("Bayes K-means: merging raises the partition's marginal likelihood as far as it goes") {
  for_each_example(2, 40, 3, [](random_source& random, const any_family& family, const table& X) {
    const double alpha = random.positive();
    const auto model = bhclust::bind(family, X.view());
    const partitions<bhclust::model_of<any_family>> p(model, X, alpha);
    // the twin merges the best pair of the rows themselves
    groups now;
    for (index_t i = 0; i < X.rows(); ++i) now.push_back({i});
    while (now.size() > 1) {
      double best = 0.0;
      std::size_t a = 0;
      std::size_t b = 0;
      for (std::size_t i = 0; i < now.size(); ++i) {
        for (std::size_t j = 0; j < i; ++j) {
          auto both = now[j];
          both.insert(both.end(), now[i].begin(), now[i].end());
          const double rise = p.one(both) - p.one(now[i]) - p.one(now[j]);
          if (rise <= best + 1e-9) continue;
          best = rise;
          a = j;
          b = i;
        }
      }
      if (a == b) break;
      now[a].insert(now[a].end(), now[b].begin(), now[b].end());
      now.erase(now.begin() + static_cast<std::ptrdiff_t>(b));
    }
    const auto t = bayes_kmeans_bhc(X.view(), family, seeded(iota(X.rows()), true, alpha));
    check_clades(t, now);
    check_costs(t, X, family, alpha);
  });
}

TEST_CASE("Bayes K-means: trees of clusters by parts, every family") {
  for_each_example(2, 90, 3, [](random_source& random, const any_family& family, const table& X) {
    auto options = seeded({1, 40}, random.chance(0.5));
    options.exact_rows = 7;
    const auto t = bayes_kmeans_bhc(X.view(), family, options);
    REQUIRE(t.merges() == X.rows() - 1);
    check_costs(t, X, family, 1.0);
  });
  // equal rows all follow the first of a sample
  const table same(std::vector<double>(300, 2.0), 1);
  auto options = seeded({0}, true);
  options.exact_rows = 4;
  CHECK(bayes_kmeans_bhc(same.view(), bhclust::NormalInverseGamma{}, options).merges() == 299);
}

TEST_CASE("Bayes K-means: trees of rows that a store lends are those of rows gathered") {
  for_each_example(2, 60, 3, [](random_source&, const any_family& family, const table& X) {
    const auto model = bhclust::bind(family, X.view());
    const auto store =
        bhclust::detail::make_store<bhclust::detail::evidence_score>(model, X.view());
    bhclust::detail::thread_team team(1);
    bhclust::detail::progress_meter progress({}, 1);
    const auto grown = [&](bool lent) {
      bhclust::detail::cluster_trees<std::decay_t<decltype(model)>> trees(
          model, X.view(), 1.0, 8, 3, store, lent && bhclust::detail::lends_rows(store));
      std::vector<index_t> roots;
      return trees.run({iota(X.rows())}, roots, team, progress);
    };
    CHECK(grown(true).children() == grown(false).children());
  });
}

TEST_CASE("average linkage: its clusters are those of merging the least average cost") {
  random_source random(11);
  bhclust::detail::average_linkage linkage;
  for (index_t n = 1; n <= 40; ++n) {
    std::vector<double> cost(at(n * n));
    linkage.resize(n);
    for (index_t i = 0; i < n; ++i) {
      for (index_t j = 0; j < i; ++j) {
        cost[at(i * n + j)] = random.normal();
        linkage.costs_before(i)[j] = cost[at(i * n + j)];
      }
    }
    groups now;
    for (index_t i = 0; i < n; ++i) now.push_back({i});
    const auto t = linkage.run();
    REQUIRE(t.merges() == n - 1);
    while (now.size() > 1) {
      double best = std::numeric_limits<double>::infinity();
      std::size_t a = 0;
      std::size_t b = 0;
      for (std::size_t x = 0; x < now.size(); ++x) {
        for (std::size_t y = 0; y < x; ++y) {
          double sum = 0.0;
          for (const index_t i : now[x]) {
            for (const index_t j : now[y]) sum += cost[at(std::max(i, j) * n + std::min(i, j))];
          }
          sum /= static_cast<double>(now[x].size() * now[y].size());
          if (!(sum < best)) continue;
          best = sum;
          a = y;
          b = x;
        }
      }
      now[a].insert(now[a].end(), now[b].begin(), now[b].end());
      now.erase(now.begin() + static_cast<std::ptrdiff_t>(b));
      check_clades(t, {now[a]});
    }
  }
}

TEST_CASE("average linkage: equal and infinite costs end, too") {
  bhclust::detail::average_linkage linkage;
  for (const double cost : {0.0, std::numeric_limits<double>::infinity(), 1e308, -1e308}) {
    linkage.resize(17);
    for (index_t i = 1; i < 17; ++i) std::fill_n(linkage.costs_before(i), i, cost);
    CHECK(linkage.run().merges() == 16);
  }
  linkage.resize(9);
  for (index_t i = 1; i < 9; ++i) {
    for (index_t j = 0; j < i; ++j) {
      linkage.costs_before(i)[j] = i % 2 == j % 2 ? 1.0 : std::numeric_limits<double>::infinity();
    }
  }
  const auto t = linkage.run();
  check_clades(t, {{0, 2, 4, 6, 8}, {1, 3, 5, 7}});
}

TEST_CASE("Bayes K-means: few rows without seeds have greedy BHC's tree") {
  const table few = blobs(256);
  const table many = blobs(257);
  const bhclust::NormalInverseGamma family;
  check_same(bayes_kmeans_bhc(few.view(), family), greedy_bhc(few.view(), family));
  bayes_kmeans_options options;
  options.n_seeds = 16;
  const auto by_seeds = bayes_kmeans_bhc(few.view(), family, options);
  CHECK(by_seeds.merges() == 255);
  CHECK(by_seeds.children() != greedy_bhc(few.view(), family).children());
  CHECK(bayes_kmeans_bhc(many.view(), family).children() !=
        greedy_bhc(many.view(), family).children());
}

TEST_CASE("Bayes K-means: groups are its clusters, merged no further than there is room") {
  for_each_example(2, 60, 3, [](random_source& random, const any_family& family, const table& X) {
    auto options = seeded({0, 9, 17, 30}, true, random.positive());
    const auto clusters = assigned(family, X, options.seeds, options.alpha);
    const auto k = count(clusters);
    for (const index_t most : {k, index_t{60}, index_t{2}, index_t{1}}) {
      const auto labels = bhclust::bayes_kmeans_groups(X.view(), family, most, options);
      CHECK(1 + *std::max_element(labels.begin(), labels.end()) == std::min(k, most));
      for (const auto& cluster : clusters) {
        for (const index_t i : cluster) CHECK(labels[at(i)] == labels[at(cluster.front())]);
      }
    }
  });
}

TEST_CASE("Bayes K-means: the same seed gives the same tree, with any number of threads") {
  const table X = blobs(1500);
  const bhclust::NormalInverseGamma family;
  bayes_kmeans_options options;
  options.seed = 3;
  options.exact_rows = 150;
  options.n_threads = 1;
  const auto one = bayes_kmeans_bhc(X.view(), family, options);
  for (const int threads : {0, 2, 5}) {
    options.n_threads = threads;
    check_same(bayes_kmeans_bhc(X.view(), family, options), one);
  }
  options.seed = 4;
  CHECK(bayes_kmeans_bhc(X.view(), family, options).children() != one.children());
}

TEST_CASE("Bayes K-means: threads share the scores of many clusters with a block") {
  const table X = blobs(2000, 1);
  const bhclust::NormalKnownVariance family;
  std::vector<index_t> seeds;
  for (index_t i = 0; i < 1200; ++i) seeds.push_back(i);
  auto options = seeded(seeds, true);
  options.n_threads = 1;
  const auto one = bayes_kmeans_bhc(X.view(), family, options);
  options.n_threads = 3;
  check_same(bayes_kmeans_bhc(X.view(), family, options), one);
}

TEST_CASE("Bayes K-means: an exception from progress ends the work and comes out") {
  struct cancelled {};
  const table X = blobs(600, 1);
  slow_family family;
  family.delay = 100;
  for (const int threads : {1, 3}) {
    auto options = seeded(iota(20), true);
    options.n_threads = threads;
    options.progress = [](index_t, index_t) { throw cancelled{}; };
    CHECK_THROWS_AS(static_cast<void>(bayes_kmeans_bhc(X.view(), family, options)), cancelled);
  }
}

TEST_CASE("Bayes K-means: seeds that are no rows are refused") {
  const table X = blobs(10);
  const bhclust::NormalInverseGamma family;
  const auto refuses = [&](const bayes_kmeans_options& options, const char* message) {
    CHECK_THROWS_WITH_AS(static_cast<void>(bayes_kmeans_bhc(X.view(), family, options)), message,
                         std::invalid_argument);
  };
  refuses(seeded({2, 10}, true), "seeds holds 10; X has rows 0 to 9");
  refuses(seeded({-1}, true), "seeds holds -1; X has rows 0 to 9");
  refuses(seeded({2, 3, 2}, true), "seeds holds row 2 twice");
  bayes_kmeans_options options;
  options.n_seeds = 11;
  refuses(options, "n_seeds is 11; X has 10 row(s), so it must be between 1 and that");
  options.n_seeds = 0;
  options.exact_rows = 1;
  refuses(options, "exact_rows is 1; it must be at least 2");
}

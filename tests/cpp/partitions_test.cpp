// Pairs, numbers of clusters, samples and the Binder cut, against the list of all partitions.
#include "clusters.hpp"
#include "enumeration.hpp"
#include "refusals.hpp"
#include "tables.hpp"
#include "trees.hpp"
#include "twins.hpp"
#include <bhclust/family/bernoulli_beta.hpp>
#include <bhclust/family/normal_known_variance.hpp>
#include <bhclust/inference/cluster_count.hpp>
#include <bhclust/inference/coclustering.hpp>
#include <bhclust/inference/posterior.hpp>
#include <bhclust/inference/samples.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <vector>

using namespace testkit;
using bhclust::any_family;

namespace {

constexpr index_t rows = 7;

/// Trees with their posterior and all their partitions.
template <class Visit>
void for_each_enumeration(int rounds, const Visit& visit) {
  for_each_posterior(rounds, rows,
                     [&](const tree& t, const any_family& family, const table& X, double alpha,
                         random_source& random) {
                       const auto model = bhclust::bind(family, X.view());
                       const enumeration all(t, urn<decltype(model)>(model, X, alpha));
                       visit(t, bhclust::posterior(t, X.view(), family, {alpha, {}}), all, random);
                     });
}

tree small_forest() {
  const std::vector<index_t> children{0, 1, 3, 2};
  return bhclust::tree_from_children(5, bhclust::span<const index_t>(children));
}

bhclust::tree_posterior posterior_of(const tree& t) {
  const table X({0.0, 1.0, 1.0, 0.0, 1.0}, 1);
  return bhclust::posterior(t, X.view(), bhclust::BernoulliBeta{});
}

}  // namespace

TEST_CASE("partitions: pairs of rows, every family") {
  for_each_enumeration(2, [](const tree& t, const auto& p, const enumeration& all, random_source&) {
    const auto every = iota(rows);
    const bhclust::span<const index_t> view(every);
    const auto together = bhclust::coclustering(t, p, view, view);
    const std::vector<index_t> reversed(every.rbegin(), every.rend());
    const auto pairs =
        bhclust::coclustering_of_pairs(t, p, view, bhclust::span<const index_t>(reversed));
    for (index_t i = 0; i < rows; ++i) {
      CHECK(pairs[at(i)] == together[at(i * rows + rows - 1 - i)]);
    }
    for (index_t i = 0; i < rows; ++i) {
      for (index_t j = 0; j < rows; ++j) {
        const double wanted = all.probability([&](const partition& one) {
          const auto labels = labels_of(t, one);
          return labels[at(i)] == labels[at(j)];
        });
        CHECK(near(together[at(rows * i + j)], wanted, 1.0, 1e-10));
      }
    }
  });
}

TEST_CASE("partitions: common ancestors by walking up") {
  for (int round = 0; round < 20; ++round) {
    random_source random(static_cast<std::uint64_t>(round));
    const auto t = random_tree(random, 25, 1 + round % 4);
    const bhclust::common_ancestors meet(t);
    const auto members = members_of(t);
    for (index_t i = 0; i < 25; ++i) {
      for (index_t j = 0; j < 25; ++j) {
        index_t lowest = -1;
        for (index_t k = t.nodes() - 1; k >= 0; --k) {
          const auto& below = members[at(k)];
          const auto has = [&](index_t row) {
            return std::find(below.begin(), below.end(), row) != below.end();
          };
          if (has(i) && has(j)) lowest = k;
        }
        CHECK(meet(i, j) == lowest);
      }
    }
  }
}

TEST_CASE("partitions: the number of clusters, and the best partition for each") {
  for_each_enumeration(2, [](const tree& t, const auto& p, const enumeration& all, random_source&) {
    const auto roots = count(t.roots());
    const auto log_p = bhclust::log_cluster_count(t, p, rows);
    REQUIRE(count(log_p) == rows);
    for (index_t m = 1; m <= rows; ++m) {
      const double wanted = all.probability([&](const partition& one) { return count(one) == m; });
      CHECK(near(std::exp(log_p[at(m - 1)]), wanted, 1.0, 1e-10));
      if (m < roots) continue;
      double best = -infinite;
      for (const auto& one : all.partitions()) {
        if (count(one) == m) best = std::max(best, all.log_weight_of(one));
      }
      const auto found = bhclust::best_nodes_at_count(t, p, m);
      CHECK(count(found) == m);
      CHECK(near(all.log_weight_of(found), best));
    }
    const auto capped = bhclust::log_cluster_count(t, p, roots + 1);
    CHECK(count(capped) == std::min(roots + 1, rows));
    for (std::size_t m = 0; m < capped.size(); ++m) {
      CHECK(near(std::exp(capped[m]), std::exp(log_p[m]), 1.0, 1e-12));
    }
  });
}

TEST_CASE("partitions: the Binder cut has the least expected loss") {
  for_each_enumeration(
      2, [](const tree& t, const auto& p, const enumeration& all, random_source& random) {
        const double cost = random.positive();
        const auto loss = [&](const partition& chosen) {
          const auto mine = labels_of(t, chosen);
          double sum = 0.0;
          for (index_t i = 0; i < rows; ++i) {
            for (index_t j = 0; j < i; ++j) {
              const double together = all.probability([&](const partition& one) {
                const auto labels = labels_of(t, one);
                return labels[at(i)] == labels[at(j)];
              });
              sum += mine[at(i)] == mine[at(j)] ? cost * (1.0 - together) : together;
            }
          }
          return sum;
        };
        double least = infinite;
        for (const auto& one : all.partitions()) least = std::min(least, loss(one));
        CHECK(near(loss(bhclust::binder_nodes(t, p, cost)), least, 1.0, 1e-9));
      });
}

TEST_CASE("partitions: the entropy of a row's cluster") {
  for_each_enumeration(1, [](const tree& t, const auto& p, const enumeration& all, random_source&) {
    const auto found = bhclust::path_entropy(t, p);
    REQUIRE(count(found) == rows);
    for (index_t i = 0; i < rows; ++i) {
      double entropy = 0.0;
      for (index_t k = i; k >= 0; k = t.parent(k)) {
        const double own = all.in_partition(k);
        if (own > 0.0) entropy -= own * std::log(own);
      }
      CHECK(near(found[at(i)], entropy, 1.0, 1e-9));
    }
  });
}

TEST_CASE("partitions: samples come with the partitions' probabilities") {
  const table X({0.0, 0.6, 1.5, 2.0, 3.5}, 1);
  const bhclust::NormalKnownVariance family;
  const auto t = chain_tree(5);
  const auto p = bhclust::posterior(t, X.view(), family);
  const auto model = bhclust::bind(family, X.view());
  const enumeration all(t, urn<decltype(model)>(model, X, 1.0));
  constexpr index_t draws = 40000;
  const auto drawn = bhclust::sample_partitions(t, p, draws, 3);
  std::map<std::vector<index_t>, double> share;
  for (index_t s = 0; s < draws; ++s) {
    const auto first = drawn.begin() + 5 * s;
    share[std::vector<index_t>(first, first + 5)] += 1.0 / static_cast<double>(draws);
  }
  for (const auto& one : all.partitions()) {
    const double wanted = all.probability([&](const partition& other) { return other == one; });
    const double error = std::sqrt(wanted * (1.0 - wanted) / static_cast<double>(draws));
    CHECK(std::fabs(share[labels_of(t, one, p.log_marginal)] - wanted) <= 5.0 * error + 1e-12);
  }
  CHECK(bhclust::sample_partitions(t, p, draws, 3) == drawn);
  CHECK(bhclust::sample_partitions(t, p, draws, 4) != drawn);
}

TEST_CASE("partitions: refusals") {
  const auto t = small_forest();
  const auto p = posterior_of(t);
  const auto pair = [&](index_t i, index_t j) {
    const std::vector<index_t> first{i}, second{j};
    return bhclust::coclustering(t, p, bhclust::span<const index_t>(first),
                                 bhclust::span<const index_t>(second));
  };
  CHECK(pair(0, 2) == std::vector<double>{0.0});
  CHECK(pair(4, 4) == std::vector<double>{1.0});
  check_refused([&] { static_cast<void>(pair(0, 5)); },
                {"row 5 is not in the tree; its rows are 0 to 4"});
  check_refused([&] { static_cast<void>(pair(-1, 0)); }, {"row -1 is not in the tree"});
  for (const double cost : {0.0, -1.0, infinite, missing}) {
    check_refused([&] { static_cast<void>(bhclust::binder_nodes(t, p, cost)); },
                  {"together_cost is ", "it must be above 0 and finite"});
  }
  check_refused([&] { static_cast<void>(bhclust::log_cluster_count(t, p, 2)); },
                {"max_clusters is 2; the forest has 3 root(s), and no partition has fewer"});
  check_refused([&] { static_cast<void>(bhclust::best_nodes_at_count(t, p, 6)); },
                {"n_clusters is 6; there are 5 rows"});
  check_refused([&] { static_cast<void>(bhclust::sample_partitions(t, p, 0, 1)); },
                {"n_samples must be at least 1"});
}

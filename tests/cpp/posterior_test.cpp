// What a tree says of its partitions, against enumeration of all of them.
#include "clusters.hpp"
#include "enumeration.hpp"
#include "examples.hpp"
#include "tables.hpp"
#include "trees.hpp"
#include "twins.hpp"
#include <bhclust/algorithm/greedy.hpp>
#include <bhclust/any_family.hpp>
#include <bhclust/family/bernoulli_beta.hpp>
#include <bhclust/family/normal_inverse_gamma.hpp>
#include <bhclust/family/normal_known_variance.hpp>
#include <bhclust/inference/posterior.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

using namespace testkit;
using bhclust::any_family;
using bhclust::posterior;
using bhclust::tree_posterior;

namespace {

std::vector<double> two_groups(index_t rows) {
  std::vector<double> cells;
  for (index_t i = 0; i < rows; ++i)
    cells.push_back((i % 2 == 0 ? -4.0 : 4.0) + 0.1 * static_cast<double>(i % 7));
  return cells;
}

/// Subtrees of 1 to 80 leaves, each joined to those before it.
tree chain_of_subtrees(random_source& random, index_t leaves) {
  bhclust::tree_builder grown(leaves);
  index_t top = -1;
  for (index_t next = 0; next < leaves;) {
    const index_t end = std::min(leaves, next + 1 + random.below(80));
    index_t made = next++;
    while (next < end) made = grown.join(made, next++);
    top = top < 0 ? made : grown.join(top, made);
  }
  return std::move(grown).finish();
}

/// All that follows from the log marginal likelihoods, node by node.
void check_recursion(const tree& t, const tree_posterior& p) {
  std::vector<double> log_tree, log_split(at(t.nodes())), split(at(t.nodes()));
  for (index_t k = 0; k < t.nodes(); ++k) {
    const double whole = std::log(p.alpha) + std::lgamma(static_cast<double>(p.n_rows(t, k))) +
                         p.log_marginal[at(k)];
    const double apart = t.is_leaf(k) ? -bhclust::detail::infinity
                                      : log_tree[at(t.left(k))] + log_tree[at(t.right(k))];
    log_tree.push_back(log_sum_of({whole, apart}));
    CHECK(near(p.log_tree[at(k)], log_tree.back()));
    CHECK((p.log_odds[at(k)] == whole - apart || near(p.log_odds[at(k)], whole - apart, whole)));
  }
  for (index_t k = t.nodes() - 1; k >= 0; --k) {
    const double above = t.parent(k) < 0 ? 0.0 : log_split[at(t.parent(k))];
    const double odds = p.log_odds[at(k)];
    log_split[at(k)] = above - bhclust::detail::softplus(odds);
    CHECK(near(p.height[at(k)], std::exp(log_split[at(k)]), 1.0, 1e-11));
    CHECK(near(p.omega[at(k)], std::exp(above - bhclust::detail::softplus(-odds)), 1.0, 1e-11));
  }
}

}  // namespace

TEST_CASE("posterior: against enumeration of the tree's partitions, every family") {
  for_each_posterior(
      4, 7,
      [](const tree& t, const any_family& family, const table& X, double alpha, random_source&) {
        const auto p = posterior(t, X.view(), family, {alpha, {}});
        const auto model = bhclust::bind(family, X.view());
        const urn<decltype(model)> weights(model, X, alpha);
        const enumeration all(t, weights);
        const auto members = members_of(t);
        const auto below = partitions_below(t);
        CHECK(p.alpha == alpha);
        CHECK(
            near(p.log_evidence_bound, all.log_total() + log_prior_normaliser(alpha, t.leaves())));
        for (index_t k = 0; k < t.nodes(); ++k) {
          CAPTURE(k);
          std::vector<double> logs;
          for (const auto& one : below[at(k)]) logs.push_back(all.log_weight_of(one));
          const double log_tree = log_sum_of(logs);
          CHECK(
              near(p.log_marginal[at(k)], log_marginal(model, observed(model, X, members[at(k)]))));
          CHECK(near(p.log_tree[at(k)], log_tree));
          CHECK(near(p.r(k), std::exp(weights.log_weight(members[at(k)]) - log_tree), 1.0, 1e-10));
          CHECK(near(p.omega[at(k)], all.in_partition(k), 1.0, 1e-10));
          CHECK(near(p.height[at(k)], 1.0 - all.together(k), 1.0, 1e-10));
        }
      });
}

TEST_CASE("posterior: Heller & Ghahramani's recursion with priors π, as printed") {
  for_each_posterior(
      2, 8,
      [](const tree& t, const any_family& family, const table& X, double alpha, random_source&) {
        const auto p = posterior(t, X.view(), family, {alpha, {}});
        const auto model = bhclust::bind(family, X.view());
        const auto members = members_of(t);
        std::vector<double> d, likelihood;  // exp of p(D | T) relative to the separate rows
        for (index_t k = 0; k < t.nodes(); ++k) {
          if (t.is_leaf(k)) {
            d.push_back(alpha);
            likelihood.push_back(1.0);
            CHECK(p.r(k) == 1.0);
            continue;
          }
          double apart = 0.0;
          for (const index_t i : members[at(k)]) apart += p.log_marginal[at(i)];
          const double one =
              std::exp(log_marginal(model, observed(model, X, members[at(k)])) - apart);
          const double prior = alpha * std::tgamma(static_cast<double>(t.size(k)));
          const double split = d[at(t.left(k))] * d[at(t.right(k))];
          const double pi = prior / (prior + split);
          const double both = likelihood[at(t.left(k))] * likelihood[at(t.right(k))];
          d.push_back(prior + split);
          likelihood.push_back(pi * one + split / (prior + split) * both);
          CHECK(near(p.r(k), pi * one / likelihood.back(), 1.0, 1e-9));
        }
      });
}

TEST_CASE("posterior: the bound is below the evidence of the mixture over all partitions") {
  for_each_posterior(
      2, 6,
      [](const tree& t, const any_family& family, const table& X, double alpha, random_source&) {
        const auto model = bhclust::bind(family, X.view());
        const double exact = log_evidence_of_all(model, X, alpha);
        CHECK(posterior(t, X.view(), family, {alpha, {}}).log_evidence_bound <= exact + 1e-9);
      });
}

TEST_CASE("posterior: of one row and of two the bound is the evidence") {
  const table X({0.3, 1.1}, 1);
  const bhclust::NormalKnownVariance family;
  const auto one = posterior(chain_tree(1), X.taken({0}).view(), family, {2.5, {}});
  CHECK(near(one.log_evidence_bound, one.log_marginal[0]));
  const auto two = posterior(chain_tree(2), X.view(), family, {2.5, {}});
  // P(together) = 1 / (1 + α)
  const double exact = std::log(std::exp(two.log_marginal[2]) / 3.5 +
                                2.5 / 3.5 * std::exp(two.log_marginal[0] + two.log_marginal[1]));
  CHECK(near(two.log_evidence_bound, exact));
}

TEST_CASE("posterior: ω counts rows and clusters, heights rise") {
  for_each_posterior(
      2, 40,
      [](const tree& t, const any_family& family, const table& X, double alpha, random_source&) {
        const auto p = posterior(t, X.view(), family, {alpha, {}});
        double rows = 0.0;
        double clusters = 0.0;
        for (index_t k = 0; k < t.nodes(); ++k) {
          rows += p.omega[at(k)] * static_cast<double>(t.size(k));
          clusters += p.omega[at(k)];
          CHECK(p.height[at(k)] >= 0.0);
          CHECK(p.height[at(k)] <= 1.0);
          if (t.is_leaf(k)) CHECK(p.height[at(k)] == 0.0);
          if (t.parent(k) >= 0) CHECK(p.height[at(k)] <= p.height[at(t.parent(k))]);
        }
        CHECK(near(rows, 40.0, 40.0, 1e-10));
        CHECK(clusters >= static_cast<double>(t.roots().size()) - 1e-10);
        CHECK(clusters <= 40.0 + 1e-9);
      });
}

TEST_CASE("posterior: trees larger than the pieces they are cut into, by the plain recursion") {
  random_source random(17);
  constexpr index_t n = 1500;
  std::vector<double> cells;
  std::vector<index_t> weights;
  for (index_t i = 0; i < n; ++i) {
    cells.push_back(random.uniform(-3.0, 3.0));
    weights.push_back(1 + random.below(4));
  }
  const auto X = bhclust::rows(cells.data(), n, 1);
  const bhclust::NormalInverseGamma family;
  for (const auto& t : {random_tree(random, n), random_tree(random, n, 60), chain_tree(n),
                        chain_of_subtrees(random, n)}) {
    check_recursion(t, posterior(t, X, family, {2.0, {}, 2}));
    check_recursion(t, posterior(t, X.with_weights(weights.data()), family, {0.3, {}, 1}));
  }
}

TEST_CASE("posterior: the odds of a greedy tree are its costs") {
  for_each_example(2, 30, 3, [](random_source& random, const any_family& family, const table& X) {
    const double alpha = random.positive();
    const auto t = bhclust::greedy_bhc(X.view(), family, {alpha, 1, {}});
    const auto p = posterior(t, X.view(), family, {alpha, {}});
    for (index_t k = t.leaves(); k < t.nodes(); ++k) {
      CHECK(near(p.log_odds[at(k)], -t.cost(k), p.log_tree[at(k)]));
    }
  });
}

TEST_CASE("posterior: the most probable partition by brute force") {
  for_each_posterior(
      6, 8,
      [](const tree& t, const any_family& family, const table& X, double alpha, random_source&) {
        const auto p = posterior(t, X.view(), family, {alpha, {}});
        const auto model = bhclust::bind(family, X.view());
        const enumeration all(t, urn<decltype(model)>(model, X, alpha));
        const auto found = bhclust::map_nodes(t, p);
        CHECK(near(all.log_weight_of(found), all.log_weight_of(all.most_probable())));
        CHECK(std::count(all.partitions().begin(), all.partitions().end(), found) == 1);
      });
}

TEST_CASE("posterior: the most probable partition need not be the cut at r < 0.5") {
  int differ = 0;
  for (int round = 0; round < 200; ++round) {
    random_source random(static_cast<std::uint64_t>(round));
    std::vector<double> cells;
    for (int i = 0; i < 10; ++i) cells.push_back(random.normal());
    const table X(cells, 1);
    const bhclust::NormalKnownVariance family;
    const auto t = bhclust::greedy_bhc(X.view(), family);
    const auto p = posterior(t, X.view(), family);
    const auto map = bhclust::map_nodes(t, p);
    const auto half = bhclust::nodes_by_probability(t, p, 0.5);
    if (map != half) ++differ;
    const auto model = bhclust::bind(family, X.view());
    const enumeration all(t, urn<decltype(model)>(model, X, 1.0));
    CHECK(all.log_weight_of(map) >= all.log_weight_of(half) - 1e-12);
  }
  CHECK(differ > 0);
}

TEST_CASE("posterior: a tie between one cluster and two keeps one") {
  // rows without an observed cell: with α = 1 a pair is as probable as two singletons
  const table X({missing, missing}, 1);
  const bhclust::NormalKnownVariance family;
  const auto t = chain_tree(2);
  const auto p = posterior(t, X.view(), family);
  CHECK(p.r(2) == 0.5);
  CHECK(bhclust::map_nodes(t, p) == std::vector<index_t>{2});
  CHECK(bhclust::nodes_by_probability(t, p, 0.5) == std::vector<index_t>{2});
  CHECK(bhclust::nodes_by_probability(t, p, 0.500001) == std::vector<index_t>{0, 1});
}

TEST_CASE("posterior: cuts by probability stop at the first node that is sure enough") {
  for_each_posterior(2, 9,
                     [](const tree& t, const any_family& family, const table& X, double alpha,
                        random_source& random) {
                       const auto p = posterior(t, X.view(), family, {alpha, {}});
                       for (const double threshold : {0.0, 0.5, random.uniform(), 1.0}) {
                         const auto cut = bhclust::nodes_by_probability(t, p, threshold);
                         std::vector<index_t> wanted;
                         std::vector<index_t> open = t.roots();
                         while (!open.empty()) {
                           const index_t k = open.back();
                           open.pop_back();
                           if (t.is_leaf(k) || p.r(k) >= threshold) {
                             wanted.push_back(k);
                           } else {
                             open.push_back(t.left(k));
                             open.push_back(t.right(k));
                           }
                         }
                         std::sort(wanted.begin(), wanted.end());
                         CHECK(cut == wanted);
                       }
                       CHECK(bhclust::nodes_by_probability(t, p, 0.0) == t.roots());
                     });
}

TEST_CASE("posterior: cuts by number split the least sure node first") {
  for_each_posterior(
      1, 12,
      [](const tree& t, const any_family& family, const table& X, double alpha, random_source&) {
        const auto p = posterior(t, X.view(), family, {alpha, {}});
        std::vector<index_t> cut = t.roots();
        for (index_t k = count(cut); k <= 12; ++k) {
          std::sort(cut.begin(), cut.end());
          CHECK(bhclust::nodes_at_count(t, p, k) == cut);
          index_t least = -1;
          for (const index_t node : cut) {
            if (t.is_leaf(node)) continue;
            const bool less = least < 0 || p.log_odds[at(node)] < p.log_odds[at(least)] ||
                              (p.log_odds[at(node)] == p.log_odds[at(least)] && node > least);
            if (less) least = node;
          }
          if (least < 0) break;
          cut.erase(std::find(cut.begin(), cut.end(), least));
          cut.push_back(t.left(least));
          cut.push_back(t.right(least));
        }
      });
}

TEST_CASE("posterior: trees of a forest are independent") {
  const table X(two_groups(9), 1);
  const bhclust::NormalInverseGamma family;
  const std::vector<index_t> children{0, 1, 9, 2, 3, 4, 5, 6, 12, 7};
  const auto forest = bhclust::tree_from_children(9, bhclust::span<const index_t>(children));
  CHECK(forest.roots() == std::vector<index_t>{8, 10, 11, 13});
  const auto p = posterior(forest, X.view(), family, {0.7, {}});
  double bound = std::lgamma(0.7) - std::lgamma(9.7);
  for (const index_t root : forest.roots()) bound += p.log_tree[at(root)];
  CHECK(near(p.log_evidence_bound, bound));
  // the tree over rows 0, 1, 2 by itself
  const auto alone = posterior(chain_tree(3), X.taken({0, 1, 2}).view(), family, {0.7, {}});
  CHECK(near(p.log_tree[10], alone.log_tree[4]));
  CHECK(near(p.omega[10], alone.omega[4]));
  CHECK(near(p.height[10], alone.height[4]));
  CHECK(near(p.omega[9], alone.omega[3]));
}

TEST_CASE("posterior: 23 rows beside 23, each group sure of itself, and sure to be apart") {
  std::vector<double> cells;
  for (int i = 0; i < 46; ++i) cells.push_back(i < 23 ? -100.0 : 100.0);
  const table X(cells, 1);
  bhclust::NormalKnownVariance family;
  family.prior_variance = 1e4;
  std::vector<index_t> children;
  index_t top = 0;
  index_t made = 46;
  std::vector<index_t> tops;
  for (const index_t first : {0, 23}) {
    top = first;
    for (index_t i = first + 1; i < first + 23; ++i) {
      children.push_back(top);
      children.push_back(i);
      top = made++;
    }
    tops.push_back(top);
  }
  children.push_back(tops[0]);
  children.push_back(tops[1]);
  const auto t = bhclust::tree_from_children(46, bhclust::span<const index_t>(children));
  // the prior of the split, 1 - π, is far below the rounding of π
  const double alpha = 1e-6;
  const auto p = posterior(t, X.view(), family, {alpha, {}});
  const index_t root = t.nodes() - 1;
  const double whole = std::log(alpha) + std::lgamma(46.0) + p.log_marginal[at(root)];
  CHECK(near(p.log_odds[at(root)], whole - p.log_tree[at(tops[0])] - p.log_tree[at(tops[1])]));
  CHECK(p.log_odds[at(root)] < -1000.0);
  CHECK(p.r(tops[0]) > 0.5);
  CHECK(bhclust::map_nodes(t, p) == tops);
  CHECK(near(p.omega[at(tops[0])], p.r(tops[0])));
  CHECK(p.height[at(root)] == 1.0);
}

TEST_CASE("posterior: thousands of rows overflow nothing") {
  const index_t rows = 3000;
  std::vector<double> cells;
  for (index_t i = 0; i < rows; ++i) cells.push_back(i % 2 == 0 ? 1.0 : 0.0);
  const table X(cells, 1);
  const auto t = chain_tree(rows);
  const auto p = posterior(t, X.view(), bhclust::BernoulliBeta{});
  for (index_t k = 0; k < t.nodes(); ++k) {
    CHECK(std::isfinite(p.log_tree[at(k)]));
    CHECK(!std::isnan(p.log_odds[at(k)]));
    CHECK(std::isfinite(p.omega[at(k)]));
  }
  CHECK(std::isfinite(p.log_evidence_bound));
}

TEST_CASE("posterior: progress ends at the total, and an exception from it comes out") {
  const table X(two_groups(9), 1);
  const bhclust::NormalInverseGamma family;
  std::vector<std::pair<index_t, index_t>> reports;
  const auto t = chain_tree(9);
  static_cast<void>(posterior(t, X.view(), family, {1.0, [&](index_t done, index_t total) {
                                                      reports.emplace_back(done, total);
                                                    }}));
  REQUIRE(!reports.empty());
  CHECK(reports.back() == std::pair<index_t, index_t>(17, 17));
  CHECK_THROWS_AS(
      static_cast<void>(
          posterior(t, X.view(), family, {1.0, [](index_t, index_t) { throw std::bad_alloc(); }})),
      std::bad_alloc);
}

TEST_CASE("posterior: refusals") {
  const table X(two_groups(9), 1);
  const bhclust::NormalInverseGamma family;
  const auto t = chain_tree(8);
  CHECK_THROWS_WITH_AS(
      static_cast<void>(posterior(t, X.view(), family)),
      doctest::Contains("the tree has 8 leaves and X has 9 rows; they must be the same rows"),
      std::invalid_argument);
  const auto good = chain_tree(9);
  for (const double alpha : {0.0, -1.0, missing, infinite}) {
    CHECK_THROWS_WITH_AS(static_cast<void>(posterior(good, X.view(), family, {alpha, {}})),
                         doctest::Contains("the concentration must be a finite number above 0"),
                         std::invalid_argument);
  }
  const auto p = posterior(good, X.view(), family);
  for (const double threshold : {-0.1, 1.1, missing}) {
    CHECK_THROWS_WITH_AS(static_cast<void>(bhclust::nodes_by_probability(good, p, threshold)),
                         doctest::Contains("it is a probability, from 0 to 1"),
                         std::invalid_argument);
  }
  CHECK_THROWS_WITH_AS(static_cast<void>(bhclust::nodes_by_probability(good, p, 1.5)),
                       doctest::Contains("threshold is 1.5;"), std::invalid_argument);
  CHECK_THROWS_WITH_AS(static_cast<void>(bhclust::nodes_at_count(good, p, 10)),
                       doctest::Contains("n_clusters is 10; this tree has 1 root(s) and 9 leaves"),
                       std::invalid_argument);
  CHECK_THROWS_WITH_AS(static_cast<void>(bhclust::nodes_at_count(good, p, 0)),
                       doctest::Contains("n_clusters is 0; this tree has 1 root(s) and 9 leaves"),
                       std::invalid_argument);
}

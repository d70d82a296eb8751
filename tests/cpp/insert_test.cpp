// Rows put into trees and taken out of them, against trying every place.
#include "examples.hpp"
#include "slow_family.hpp"
#include "tables.hpp"
#include "trees.hpp"
#include "twins.hpp"
#include <bhclust/algorithm/greedy.hpp>
#include <bhclust/algorithm/insert.hpp>
#include <bhclust/any_family.hpp>
#include <bhclust/family/bernoulli_beta.hpp>
#include <bhclust/family/normal_inverse_gamma.hpp>
#include <bhclust/family/normal_known_variance.hpp>
#include <bhclust/inference/posterior.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <stdexcept>
#include <vector>

using namespace testkit;
using bhclust::any_family;
using bhclust::forget;
using bhclust::greedy_bhc;
using bhclust::insert;
using bhclust::insert_options;
using bhclust::tree;
using bhclust::tree_builder;

namespace {

table first_rows(const table& X, index_t n) { return X.taken(iota(n)); }

/// One more leaf, as the sibling of a node.
tree with_leaf_at(const tree& t, index_t place) {
  tree_builder grown(t.leaves() + 1);
  std::vector<index_t> name;
  for (index_t k = 0; k < t.nodes(); ++k) {
    index_t made = k;
    if (!t.is_leaf(k)) made = grown.join(name[at(t.left(k))], name[at(t.right(k))]);
    name.push_back(k == place ? grown.join(made, t.leaves()) : made);
  }
  return std::move(grown).finish();
}

template <class Family>
double evidence(const tree& t, const Family& family, const table& X, double alpha) {
  return bhclust::posterior(t, X.view(), family, {alpha, {}}).log_evidence_bound;
}

std::set<std::vector<index_t>> clades(const tree& t) {
  auto members = members_of(t);
  for (auto& rows : members) std::sort(rows.begin(), rows.end());
  return {members.begin(), members.end()};
}

std::set<std::vector<index_t>> clades_of_roots(const tree& t) {
  auto members = members_of(t);
  std::set<std::vector<index_t>> found;
  for (const index_t root : t.roots()) {
    std::sort(members[at(root)].begin(), members[at(root)].end());
    found.insert(members[at(root)]);
  }
  return found;
}

insert_options options(double alpha, bool everywhere, bool rotate) {
  return {alpha, everywhere, rotate, 2, {}};
}

/// Clusters of reals on a line, cluster after cluster.
table groups_of_reals(index_t rows, index_t groups, double apart) {
  random_source random(static_cast<std::uint64_t>(rows));
  std::vector<double> cells;
  for (index_t i = 0; i < rows; ++i) {
    cells.push_back(apart * static_cast<double>(i % groups) + random.normal());
  }
  return {cells, 1};
}

bhclust::NormalKnownVariance wide_prior() {
  bhclust::NormalKnownVariance family;
  family.prior_variance = 10000.0;
  return family;
}

}  // namespace

TEST_CASE("insert: looking everywhere finds the best of all places, every family") {
  for (const index_t roots : {1, 3}) {
    for_each_example(3, 13, 3,
                     [&](random_source& random, const any_family& family, const table& X) {
                       const double alpha = random.positive();
                       const tree t = random_tree(random, 12, roots);
                       double best = -infinite;
                       for (index_t place = 0; place < t.nodes(); ++place) {
                         best = std::max(best, evidence(with_leaf_at(t, place), family, X, alpha));
                       }
                       const tree grown = insert(t, X.view(), family, options(alpha, true, false));
                       CHECK(near(evidence(grown, family, X, alpha), best, std::fabs(best), 1e-9));
                       // 12 rows are few enough for every cluster to be looked through
                       const tree fast = insert(t, X.view(), family, options(alpha, false, false));
                       CHECK(evidence(fast, family, X, alpha) <= best + 1e-9 * std::fabs(best));
                     });
  }
}

TEST_CASE("insert: no place at or above the clusters is better than the one found") {
  for_each_example(3, 41, 3, [](random_source& random, const any_family& family, const table& X) {
    const double alpha = random.positive();
    const table old = first_rows(X, 40);
    const tree t = greedy_bhc(old.view(), family, {alpha, 1, {}});
    const auto p = bhclust::posterior(t, old.view(), family, {alpha, {}});
    const tree grown = insert(t, X.view(), family, options(alpha, false, false));
    const double found = evidence(grown, family, X, alpha);
    std::vector<index_t> upper = bhclust::map_nodes(t, p);
    for (std::size_t i = 0; i < upper.size(); ++i) {
      const index_t up = t.parent(upper[i]);
      if (up >= 0 && std::find(upper.begin(), upper.end(), up) == upper.end()) upper.push_back(up);
    }
    for (const index_t place : upper) {
      CHECK(evidence(with_leaf_at(t, place), family, X, alpha) <= found + 1e-9 * std::fabs(found));
    }
  });
}

TEST_CASE("insert: a tree of all rows with its log d, whose roots keep their rows, every family") {
  for (const bool everywhere : {false, true}) {
    for (const index_t roots : {1, 4}) {
      for_each_example(
          1, 40, 4, [&](random_source& random, const any_family& family, const table& X) {
            const double alpha = random.positive();
            const tree t = random_tree(random, 20, roots);
            const tree grown = insert(t, X.view(), family, options(alpha, everywhere, true));
            REQUIRE(grown.leaves() == 40);
            REQUIRE(grown.merges() == 40 - roots);
            const auto p = bhclust::posterior(grown, X.view(), family, {alpha, {}});
            for (index_t k = 40; k < grown.nodes(); ++k) {
              CHECK(near(grown.cost(k), -p.log_odds[at(k)], std::fabs(p.log_tree[at(k)]), 1e-9));
            }
            std::vector<index_t> added;
            for (index_t i = 20; i < 40; ++i) added.push_back(i);
            const tree before = forget(grown, added);
            CHECK(clades_of_roots(before) == clades_of_roots(t));
          });
    }
  }
}

TEST_CASE("insert: interchanges about one new row never lower the evidence, every family") {
  for_each_example(4, 31, 3, [](random_source& random, const any_family& family, const table& X) {
    const double alpha = random.positive();
    const tree t = random_tree(random, 30);
    const double plain =
        evidence(insert(t, X.view(), family, options(alpha, false, false)), family, X, alpha);
    const double turned =
        evidence(insert(t, X.view(), family, options(alpha, false, true)), family, X, alpha);
    CHECK(turned >= plain - 1e-9 * std::fabs(plain));
  });
}

TEST_CASE(
    "insert: what is put in without interchanges and taken out again leaves the tree as it was") {
  for_each_example(2, 30, 3, [](random_source& random, const any_family& family, const table& X) {
    const tree t = random_tree(random, 18, random.chance(0.5) ? 1 : 3);
    const tree grown = insert(t, X.view(), family, options(1.0, random.chance(0.5), false));
    std::vector<index_t> added;
    for (index_t i = 18; i < 30; ++i) added.push_back(i);
    CHECK(clades(forget(grown, added)) == clades(t));
  });
}

TEST_CASE("insert: one row before, no new row, duplicates") {
  const bhclust::NormalInverseGamma family;
  const table X({1.0, 1.0, 1.0, 1.0}, 1);
  const tree one = tree_builder(1).finish();
  CHECK(insert(one, X.view(), family).merges() == 3);
  CHECK(insert(one, first_rows(X, 1).view(), family).merges() == 0);
  const table many(std::vector<double>(3000, 1.0), 1);
  const tree t = insert(one, many.view(), bhclust::BernoulliBeta{});
  CHECK(t.merges() == 2999);
}

TEST_CASE("insert: rows of separate groups join their groups, and a new group stays apart") {
  const table X = groups_of_reals(400, 5, 100.0);
  std::vector<index_t> order;  // all rows of four groups, then the fifth's
  for (index_t i = 0; i < 400; ++i) {
    if (i % 5 != 4) order.push_back(i);
  }
  for (index_t i = 4; i < 400; i += 5) order.push_back(i);
  const table sorted = X.taken(order);
  const auto family = wide_prior();
  const tree t = greedy_bhc(first_rows(sorted, 100).view(), family, {1.0, 1, {}});
  const tree grown = insert(t, sorted.view(), family);
  const auto members = members_of(grown);
  int found = 0;
  for (index_t k = 400; k < grown.nodes(); ++k) {
    if (grown.size(k) != 80) continue;
    const index_t group = order[at(members[at(k)][0])] % 5;
    found += std::all_of(members[at(k)].begin(), members[at(k)].end(),
                         [&](index_t i) { return order[at(i)] % 5 == group; })
                 ? 1
                 : 0;
  }
  CHECK(found == 5);
}

TEST_CASE("insert: chains of 100,000 leaves, of one cluster and of many") {
  const index_t n = 100000;
  const auto family = wide_prior();
  for (const double apart : {0.0, 100.0}) {
    const table X = groups_of_reals(n + 50, 7, apart);
    const tree grown = insert(chain_tree(n), X.view(), family);
    CHECK(grown.leaves() == n + 50);
    std::vector<index_t> added;
    for (index_t i = n; i < n + 50; ++i) added.push_back(i);
    const tree kept = forget(grown, added);
    CHECK(kept.merges() == n - 1);
    CHECK(evidence(grown, family, X, 1.0) < 0.0);
  }
}

TEST_CASE("insert: the same tree with any number of threads") {
  const table X = groups_of_reals(3000, 1500, 40.0);
  const auto family = wide_prior();
  const tree t = greedy_bhc(first_rows(X, 2900).view(), family, {1.0, 0, {}});
  for (const bool everywhere : {false, true}) {
    const auto one = insert(t, X.view(), family, {1.0, everywhere, true, 1, {}});
    for (const int threads : {0, 2, 5}) {
      const auto more = insert(t, X.view(), family, {1.0, everywhere, true, threads, {}});
      CHECK(more.children() == one.children());
      CHECK(more.cost() == one.cost());
    }
  }
}

TEST_CASE("insert: an exception from progress ends the work and comes out") {
  struct cancelled {};
  const table X = groups_of_reals(300, 3, 4.0);
  slow_family family;
  family.delay = 100;
  for (const int threads : {1, 3}) {
    CHECK_THROWS_AS(static_cast<void>(insert(
                        chain_tree(200), X.view(), family,
                        {1.0, true, true, threads, [](index_t, index_t) { throw cancelled{}; }})),
                    cancelled);
  }
}

TEST_CASE("insert: a table shorter than the tree, and a bad concentration, are refused") {
  const table X({1.0, 2.0, 3.0}, 1);
  const bhclust::NormalInverseGamma family;
  CHECK_THROWS_WITH_AS(static_cast<void>(insert(chain_tree(4), X.view(), family)),
                       "the tree has 4 leaves and X has 3 rows; the first rows must be those of "
                       "the leaves",
                       std::invalid_argument);
  CHECK_THROWS_AS(static_cast<void>(insert(chain_tree(2), X.view(), family, {0.0})),
                  std::invalid_argument);
}

TEST_CASE("forget: the nodes are those of the tree without the rows, in order") {
  random_source random(3);
  for (int round = 0; round < 50; ++round) {
    const index_t n = 2 + random.below(20);
    const tree t = random_tree(random, n, 1 + random.below(std::min<index_t>(n, 3)));
    auto rows = shuffled(random, n);
    rows.resize(at(random.below(n)));
    std::vector<index_t> name(at(n), -1);
    index_t next = 0;
    for (index_t i = 0; i < n; ++i) {
      if (std::find(rows.begin(), rows.end(), i) == rows.end()) name[at(i)] = next++;
    }
    std::set<std::vector<index_t>> expected;
    for (const auto& members : clades(t)) {
      std::vector<index_t> left;
      for (const index_t i : members) {
        if (name[at(i)] >= 0) left.push_back(name[at(i)]);
      }
      if (!left.empty()) expected.insert(left);
    }
    const tree kept = forget(t, rows);
    CHECK(kept.leaves() == next);
    CHECK(clades(kept) == expected);
    CHECK(static_cast<std::size_t>(kept.nodes()) == expected.size());
  }
}

TEST_CASE("forget: rows that are not there, named twice, or all") {
  const tree t = chain_tree(3);
  const auto refuse = [&](const std::vector<index_t>& rows, const char* message) {
    CHECK_THROWS_WITH_AS(static_cast<void>(forget(t, rows)), message, std::invalid_argument);
  };
  refuse({1, 3}, "rows names 3; the tree has the rows 0 to 2");
  refuse({-1}, "rows names -1; the tree has the rows 0 to 2");
  refuse({1, 1}, "rows names 1 twice");
  refuse({2, 0, 1}, "rows names all 3 rows; at least one must be left");
  const std::vector<index_t> none;
  CHECK(forget(t, none).merges() == 2);
}

#include "refusals.hpp"
#include "tables.hpp"
#include "trees.hpp"
#include "twins.hpp"
#include "typed_examples.hpp"
#include <bhclust/algorithm/greedy.hpp>
#include <bhclust/analysis/cut.hpp>
#include <bhclust/analysis/linkage.hpp>
#include <bhclust/family/bernoulli_beta.hpp>
#include <bhclust/family/normal_inverse_gamma.hpp>
#include <bhclust/inference/posterior.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>
#include <vector>

using namespace testkit;
using bhclust::cost_kind;
using bhclust::linkage_heights;
using bhclust::linkage_of;

namespace {

tree read(const std::vector<double>& linkage) {
  return bhclust::tree_from_linkage(bhclust::span<const double>(linkage), count(linkage) / 4);
}

/// The clusters of a linkage matrix whose heights are at most `height`, by their smallest rows:
/// what SciPy's fcluster(Z, height, "distance") gives.
std::vector<index_t> flat_clusters(const std::vector<double>& linkage, double height) {
  const index_t leaves = count(linkage) / 4 + 1;
  std::vector<index_t> first = iota(leaves);  // of each cluster, its smallest row
  std::vector<index_t> label = iota(leaves);
  for (std::size_t i = 0; i < linkage.size(); i += 4) {
    const index_t a = first[static_cast<std::size_t>(linkage[i])];
    const index_t b = first[static_cast<std::size_t>(linkage[i + 1])];
    first.push_back(std::min(a, b));
    if (linkage[i + 2] > height) continue;
    const index_t la = label[at(a)];
    const index_t lb = label[at(b)];
    for (auto& l : label) {
      if (l == la || l == lb) l = std::min(la, lb);
    }
  }
  return label;
}

std::vector<index_t> smallest_rows(const std::vector<index_t>& labels) {
  std::vector<index_t> first(labels.size(), -1), smallest;
  for (std::size_t i = 0; i < labels.size(); ++i) {
    auto& f = first[at(labels[i])];
    if (f < 0) f = static_cast<index_t>(i);
    smallest.push_back(f);
  }
  return smallest;
}

/// What SciPy's is_valid_linkage and is_monotonic ask.
void check_valid(const std::vector<double>& linkage, index_t leaves) {
  REQUIRE(count(linkage) == 4 * (leaves - 1));
  std::set<double> used;
  std::vector<double> sizes(at(leaves), 1.0);
  for (index_t i = 0; i < leaves - 1; ++i) {
    const double a = linkage[at(4 * i)];
    const double b = linkage[at(4 * i + 1)];
    CHECK(a < b);
    CHECK(a >= 0.0);
    CHECK(b < static_cast<double>(leaves + i));
    CHECK(used.insert(a).second);
    CHECK(used.insert(b).second);
    sizes.push_back(sizes[static_cast<std::size_t>(a)] + sizes[static_cast<std::size_t>(b)]);
    CHECK(linkage[at(4 * i + 3)] == sizes.back());
    if (i > 0) CHECK(linkage[at(4 * i + 2)] >= linkage[at(4 * i - 2)]);
  }
}

std::set<std::set<index_t>> clades(const tree& t) {
  std::set<std::set<index_t>> found;
  for (const auto& rows : members_of(t)) found.emplace(rows.begin(), rows.end());
  return found;
}

}  // namespace

TEST_CASE("linkage: heights of the posterior are valid, monotone, and cut at log 2 as r does") {
  for (int round = 0; round < 40; ++round) {
    CAPTURE(round);
    random_source random(static_cast<std::uint64_t>(round));
    const bhclust::BernoulliBeta family;
    const auto X = random_table(random, family, 25, 6);
    const auto t = round % 2 == 0 ? bhclust::greedy_bhc(X.view(), family) : random_tree(random, 25);
    const auto p = bhclust::posterior(t, X.view(), family);
    const auto height = linkage_heights(t, p.log_odds);
    for (index_t k = 0; k < t.nodes(); ++k) {
      const auto own = t.is_leaf(k) ? 0.0 : -std::log(p.r(k));
      CHECK(height[at(k)] <= own + 1e-12);
      if (t.parent(k) >= 0) CHECK(height[at(k)] <= height[at(t.parent(k))]);
    }
    const auto linkage = linkage_of(t, height);
    check_valid(linkage, 25);
    CHECK(flat_clusters(linkage, std::log(2.0)) ==
          smallest_rows(bhclust::labels_of(t, bhclust::nodes_by_probability(t, p, 0.5))));
    CHECK(clades(read(linkage)) == clades(t));
  }
}

TEST_CASE("linkage: the height is the least -log r from the node up to the root") {
  const auto t = chain_tree(4);
  const std::vector<double> odds{infinite, infinite, infinite, infinite, 0.0, -1.0, -0.5};
  const auto height = linkage_heights(t, odds);
  CHECK(near(height[6], std::log1p(std::exp(0.5)), 1.0, 1e-15));
  CHECK(height[5] == height[6]);
  CHECK(near(height[4], std::log(2.0), 1.0, 1e-15));
  CHECK(height[0] == 0.0);
}

TEST_CASE("linkage: heights of a tree by itself") {
  const std::vector<index_t> children{0, 1, 4, 2, 5, 3};
  const auto with = [&](const std::vector<double>& cost, cost_kind costs) {
    return bhclust::tree_from_children(4, bhclust::span<const index_t>(children),
                                       bhclust::span<const double>(cost), costs);
  };
  CHECK(linkage_heights(with({1.0, 3.0, 2.0}, cost_kind::divergence)) ==
        std::vector<double>{0.0, 0.0, 0.0, 0.0, 1.0, 3.0, 3.0});
  const auto log_d = linkage_heights(with({-1.0, 2.0, 0.0}, cost_kind::log_d));
  CHECK(near(log_d[6], std::log(2.0), 1.0, 1e-15));
  CHECK(log_d[5] == log_d[6]);
  CHECK(near(log_d[4], std::log1p(std::exp(-1.0)), 1.0, 1e-15));
  CHECK(linkage_heights(with({}, cost_kind::none)) ==
        std::vector<double>{0.0, 0.0, 0.0, 0.0, 1.0, 2.0, 3.0});
  const std::vector<index_t> balanced{0, 1, 2, 3, 4, 5};
  CHECK(linkage_heights(bhclust::tree_from_children(4, bhclust::span<const index_t>(balanced))) ==
        std::vector<double>{0.0, 0.0, 0.0, 0.0, 1.0, 1.0, 2.0});
}

TEST_CASE("linkage: equal heights keep the order of the merges, so children come first") {
  const auto t = chain_tree(5);
  const auto linkage = linkage_of(t, std::vector<double>(9, 1.0));
  check_valid(linkage, 5);
  CHECK(read(linkage).children() == std::vector<index_t>{0, 1, 2, 5, 3, 6, 4, 7});
}

TEST_CASE("linkage: a matrix read and written again is the same") {
  for (int round = 0; round < 20; ++round) {
    random_source random(static_cast<std::uint64_t>(round));
    const auto t = random_tree(random, 2 + random.below(20));
    const auto linkage = linkage_of(t, linkage_heights(t));
    check_valid(linkage, t.leaves());
    CHECK(clades(read(linkage)) == clades(t));
    const auto s = read(linkage);
    CHECK(linkage_of(s, linkage_heights(s)) == linkage);
  }
}

TEST_CASE("linkage: one row has an empty matrix") {
  CHECK(linkage_of(chain_tree(1), {0.0}).empty());
  CHECK(read({}).leaves() == 1);
}

TEST_CASE("linkage: refusals") {
  const std::vector<index_t> children{0, 1};
  const auto forest = bhclust::tree_from_children(4, bhclust::span<const index_t>(children));
  check_refused(
      [&] { static_cast<void>(linkage_of(forest, linkage_heights(forest))); },
      {"this forest has 3 roots", "a linkage matrix needs one tree (fit with lam = inf)"});
  const std::vector<double> ragged{0.0, 1.0, 0.5, 2.0, 7.0};
  check_refused(
      [&] {
        static_cast<void>(bhclust::tree_from_linkage(bhclust::span<const double>(ragged), 1));
      },
      {"a linkage matrix has 4 columns"});
  check_refused([] { static_cast<void>(read({0.0, 1.5, 0.1, 2.0})); },
                {"linkage row 0 names cluster 1.5", "whole number from 0 to 1"});
  check_refused([] { static_cast<void>(read({0.0, 1.0, 0.1, 2.0, 4.0, 2.0, 0.2, 3.0})); },
                {"linkage row 1 names cluster 4", "whole number from 0 to 3"});
  check_refused([] { static_cast<void>(read({-1.0, 1.0, 0.1, 2.0})); },
                {"linkage row 0 names cluster -1"});
  check_refused([] { static_cast<void>(read({missing, 1.0, 0.1, 2.0})); },
                {"linkage row 0 names cluster", "nan"});
  check_refused([] { static_cast<void>(read({0.0, infinite, 0.1, 2.0})); },
                {"linkage row 0 names cluster inf"});
  check_refused([] { static_cast<void>(read({0.0, 1.0, 0.1, 2.0, 0.0, 2.0, 0.2, 3.0})); },
                {"merge 1 names node 0, which was merged before"});
}

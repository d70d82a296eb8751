#include "refusals.hpp"
#include "tables.hpp"
#include "trees.hpp"
#include "twins.hpp"
#include <bhclust/tree.hpp>

#include <doctest/doctest.h>

#include <utility>
#include <vector>

using namespace testkit;
using bhclust::cost_kind;
using bhclust::tree_builder;
using bhclust::tree_from_children;

namespace {

tree from(index_t leaves, const std::vector<index_t>& children,
          const std::vector<double>& cost = {}, cost_kind costs = cost_kind::none) {
  return tree_from_children(leaves, bhclust::span<const index_t>(children),
                            bhclust::span<const double>(cost), costs);
}

}  // namespace

TEST_CASE("tree: nothing was built") {
  const tree t;
  CHECK(t.leaves() == 0);
  CHECK(t.nodes() == 0);
  CHECK(t.merges() == 0);
  CHECK(t.roots().empty());
}

TEST_CASE("tree: one leaf") {
  const auto t = from(1, {});
  CHECK(t.leaves() == 1);
  CHECK(t.nodes() == 1);
  CHECK(t.is_leaf(0));
  CHECK(t.parent(0) == -1);
  CHECK(t.size(0) == 1);
  CHECK(t.roots() == std::vector<index_t>{0});
}

TEST_CASE("tree: what was joined is what is read") {
  const auto t = from(5, {3, 1, 5, 0, 2, 4}, {0.5, 1.5, 0.25}, cost_kind::divergence);
  CHECK(t.nodes() == 8);
  CHECK(t.merges() == 3);
  CHECK(t.left(5) == 3);
  CHECK(t.right(5) == 1);
  CHECK(t.left(6) == 5);
  CHECK(t.right(6) == 0);
  CHECK(t.sizes() == std::vector<index_t>{1, 1, 1, 1, 1, 2, 3, 2});
  CHECK(t.parents() == std::vector<index_t>{6, 5, 7, 5, 7, 6, -1, -1});
  CHECK(t.roots() == std::vector<index_t>{6, 7});
  CHECK(t.children() == std::vector<index_t>{3, 1, 5, 0, 2, 4});
  CHECK(t.costs() == cost_kind::divergence);
  CHECK(t.cost() == std::vector<double>{0.5, 1.5, 0.25});
  CHECK(t.cost(6) == 1.5);
  CHECK(t.is_leaf(4));
  CHECK(!t.is_leaf(5));
}

TEST_CASE("tree: random forests keep the invariants") {
  for (int round = 0; round < 30; ++round) {
    random_source random(static_cast<std::uint64_t>(round));
    const index_t leaves = 1 + random.below(40);
    const index_t roots = 1 + random.below(leaves);
    const auto t = random_tree(random, leaves, roots, cost_kind::log_d);
    CHECK(t.leaves() == leaves);
    CHECK(count(t.roots()) == roots);
    CHECK(t.merges() == leaves - roots);
    CHECK(count(t.cost()) == t.merges());
    index_t below_roots = 0;
    for (const index_t root : t.roots()) below_roots += t.size(root);
    CHECK(below_roots == leaves);
    const auto members = members_of(t);
    for (index_t k = leaves; k < t.nodes(); ++k) {
      CHECK(t.left(k) < k);
      CHECK(t.right(k) < k);
      CHECK(t.parent(t.left(k)) == k);
      CHECK(t.parent(t.right(k)) == k);
      CHECK(t.size(k) == count(members[at(k)]));
    }
  }
}

TEST_CASE("tree: costs are dropped from a tree that has none") {
  tree_builder grown(2);
  CHECK(grown.join(0, 1, 3.0) == 2);
  CHECK(grown.nodes() == 3);
  CHECK(grown.size(2) == 2);
  const auto t = std::move(grown).finish();
  CHECK(t.cost().empty());
  CHECK(t.costs() == cost_kind::none);
}

TEST_CASE("tree: a forest goes on, with costs") {
  tree_builder grown(from(4, {0, 1}));
  grown.set_costs({-2.0}, cost_kind::log_d);
  CHECK(grown.join(2, 4, 5.0) == 5);
  const auto t = std::move(grown).finish();
  CHECK(t.children() == std::vector<index_t>{0, 1, 2, 4});
  CHECK(t.cost() == std::vector<double>{-2.0, 5.0});
  CHECK(t.costs() == cost_kind::log_d);
  CHECK(t.size(5) == 3);
  tree_builder other(from(4, {0, 1}));
  check_refused([&] { other.set_costs({1.0, 2.0}, cost_kind::log_d); }, {"one cost"});
}

TEST_CASE("tree: refusals") {
  check_refused([] { static_cast<void>(from(0, {})); }, {"a tree needs at least one leaf"});
  check_refused([] { static_cast<void>(from(-3, {})); }, {"a tree needs at least one leaf"});
  check_refused([] { static_cast<void>(from(3, {0, 1, 2})); },
                {"children must hold two node ids a merge"});
  check_refused([] { static_cast<void>(from(3, {0, 1, 2, 3}, {0.5}, cost_kind::log_d)); },
                {"there are 1 costs for 2 merges"});
  check_refused([] { static_cast<void>(from(3, {0, 1, 2, 3}, {0.5, 0.6}, cost_kind::none)); },
                {"there are 2 costs for 2 merges"});
  check_refused([] { static_cast<void>(from(3, {0, 1, 1, 2})); },
                {"merge 1 names node 1, which was merged before"});
  check_refused([] { static_cast<void>(from(3, {0, 1, 0, 3})); },
                {"merge 1 names node 0, which was merged before"});
  check_refused([] { static_cast<void>(from(3, {0, 4})); },
                {"merge 0 names node 4, which does not exist yet"});
  check_refused([] { static_cast<void>(from(3, {3, 0})); },
                {"merge 0 names node 3, which does not exist yet"});
  check_refused([] { static_cast<void>(from(3, {-1, 0})); },
                {"merge 0 names node -1, which does not exist yet"});
  check_refused([] { static_cast<void>(from(3, {2, 2})); }, {"merge 0 joins node 2 to itself"});
}

TEST_CASE("tree: a refused merge leaves the builder as it was") {
  tree_builder grown(3);
  check_refused([&] { grown.join(0, 7); }, {"does not exist yet"});
  check_refused([&] { grown.join(1, 1); }, {"joins node 1 to itself"});
  CHECK(grown.nodes() == 3);
  CHECK(grown.join(0, 1) == 3);
  CHECK(grown.join(3, 2) == 4);
}

#include "refusals.hpp"
#include "tables.hpp"
#include "trees.hpp"
#include "twins.hpp"
#include <bhclust/analysis/cut.hpp>
#include <bhclust/tree.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <vector>

using namespace testkit;
using bhclust::cost_kind;

namespace {

/// Rows 0 … 5; merge 8 costs less than merge 7 below it.
tree inverted() {
  const std::vector<index_t> children{0, 1, 6, 2, 7, 3, 4, 5};
  const std::vector<double> cost{1.0, 5.0, 4.0, 2.0};
  return bhclust::tree_from_children(6, bhclust::span<const index_t>(children),
                                     bhclust::span<const double>(cost), cost_kind::divergence);
}

/// Whether the nodes of a cut cover every leaf once, in ascending order.
bool covers(const tree& t, const std::vector<index_t>& cut) {
  std::vector<index_t> leaves;
  const auto members = members_of(t);
  for (const index_t k : cut) {
    leaves.insert(leaves.end(), members[at(k)].begin(), members[at(k)].end());
  }
  std::sort(leaves.begin(), leaves.end());
  return leaves == iota(t.leaves()) && std::is_sorted(cut.begin(), cut.end());
}

}  // namespace

TEST_CASE("cut: from the roots down to the first node that stops") {
  const auto t = inverted();
  const auto none = [](index_t) { return false; };
  const auto all = [](index_t) { return true; };
  CHECK(bhclust::nodes_from_top(t, none) == iota(6));
  CHECK(bhclust::nodes_from_top(t, all) == std::vector<index_t>{8, 9});
  CHECK(bhclust::nodes_from_top(t, [](index_t k) { return k == 6; }) ==
        std::vector<index_t>{2, 3, 4, 5, 6});
  // a node below one that stops is not asked
  CHECK(bhclust::nodes_from_top(t, [](index_t k) {
          CHECK(k != 6);
          return k == 7 || k == 9;
        }) == std::vector<index_t>{3, 7, 9});
}

TEST_CASE("cut: heights are running maxima of costs that invert") {
  const auto t = inverted();
  CHECK(bhclust::running_maximum_cost(t) ==
        std::vector<double>{0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 5.0, 5.0, 2.0});
  CHECK(bhclust::nodes_below_cost(t, 4.5) == std::vector<index_t>{2, 3, 6, 9});
  CHECK(bhclust::nodes_below_cost(t, 5.0) == std::vector<index_t>{2, 3, 6, 9});
  CHECK(bhclust::nodes_below_cost(t, 5.1) == std::vector<index_t>{8, 9});
  CHECK(bhclust::nodes_below_cost(t, 1.0) == iota(6));
  CHECK(bhclust::nodes_below_cost(t, infinite) == std::vector<index_t>{8, 9});
  CHECK(bhclust::nodes_below_cost(t, -1.0) == iota(6));
}

TEST_CASE("cut: by number, the costliest merge goes first, of equal ones the latest") {
  const auto t = inverted();
  CHECK(bhclust::nodes_at_count(t, 2) == std::vector<index_t>{8, 9});
  CHECK(bhclust::nodes_at_count(t, 3) == std::vector<index_t>{3, 7, 9});
  CHECK(bhclust::nodes_at_count(t, 4) == std::vector<index_t>{2, 3, 6, 9});
  CHECK(bhclust::nodes_at_count(t, 5) == std::vector<index_t>{2, 3, 4, 5, 6});
  CHECK(bhclust::nodes_at_count(t, 6) == iota(6));
  const std::vector<index_t> children{0, 1, 2, 3, 4, 5};
  const std::vector<double> equal{2.0, 2.0, 2.0};
  const auto flat =
      bhclust::tree_from_children(4, bhclust::span<const index_t>(children),
                                  bhclust::span<const double>(equal), cost_kind::divergence);
  CHECK(bhclust::nodes_at_count(flat, 3) == std::vector<index_t>{2, 3, 4});
}

TEST_CASE("cut: every number of clusters can be had, each cut refining the one before") {
  for (int round = 0; round < 20; ++round) {
    random_source random(static_cast<std::uint64_t>(round));
    const index_t roots = 1 + random.below(3);
    const auto t = random_tree(random, 15, roots, cost_kind::divergence);
    std::vector<index_t> coarser;
    for (index_t k = roots; k <= 15; ++k) {
      const auto cut = bhclust::nodes_at_count(t, k);
      CHECK(count(cut) == k);
      CHECK(covers(t, cut));
      std::vector<index_t> kept;
      std::set_intersection(cut.begin(), cut.end(), coarser.begin(), coarser.end(),
                            std::back_inserter(kept));
      if (k > roots) CHECK(count(kept) == k - 2);
      coarser = cut;
    }
  }
}

TEST_CASE("cut: labels go by size, then by log marginal likelihood, then by first row") {
  const std::vector<index_t> children{5, 0, 4, 1, 6, 3};
  const auto t = bhclust::tree_from_children(6, bhclust::span<const index_t>(children));
  CHECK(t.roots() == std::vector<index_t>{2, 7, 8});
  CHECK(bhclust::labels_of(t, t.roots()) == std::vector<index_t>{0, 1, 2, 0, 1, 0});
  CHECK(bhclust::labels_of(t, iota(6)) == iota(6));
  const std::vector<double> rising{1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0};
  CHECK(bhclust::labels_of(t, t.roots(), rising) == std::vector<index_t>{0, 1, 2, 0, 1, 0});
  CHECK(bhclust::labels_of(t, iota(6), rising) == std::vector<index_t>{5, 4, 3, 2, 1, 0});
  // A chain of neighbours equal but for rounding, between others.
  const std::vector<double> near{-9.0, -2.0 - 2e-9, -2.0 - 4e-9, -2.0, -9.0, 7.0, 0.0, 0.0, 0.0};
  CHECK(bhclust::labels_of(t, iota(6), near) == std::vector<index_t>{4, 1, 2, 3, 5, 0});
  // Leaves that stand for several rows.
  const std::vector<index_t> rows{1, 1, 9, 1, 4, 1, 2, 5, 3};
  CHECK(bhclust::labels_of(t, t.roots(), {}, rows) == std::vector<index_t>{2, 1, 0, 2, 1, 2});
  CHECK(bhclust::labels_of(t, iota(6), rising, rows) == std::vector<index_t>{5, 4, 0, 3, 1, 2});
  CHECK(bhclust::cluster_of_nodes(t, {2, 3, 6, 7}) ==
        std::vector<index_t>{6, 7, 2, 3, 7, 6, 6, 7, -1});
}

TEST_CASE("cut: labels do not depend on the order of the rows") {
  for (int round = 0; round < 20; ++round) {
    random_source random(static_cast<std::uint64_t>(round));
    const auto t = random_tree(random, 14, 2);
    const auto cut = bhclust::nodes_from_top(t, [&](index_t) { return random.chance(0.4); });
    std::vector<double> value(static_cast<std::size_t>(t.nodes()));
    for (double& v : value) v = -random.uniform();
    const auto order = shuffled(random, 14);
    std::vector<index_t> children(t.children());
    for (index_t& child : children) {
      if (child < 14) child = order[static_cast<std::size_t>(child)];
    }
    const auto moved = bhclust::tree_from_children(14, bhclust::span<const index_t>(children));
    auto nodes = cut;
    auto values = value;
    for (index_t i = 0; i < 14; ++i) {
      values[static_cast<std::size_t>(order[static_cast<std::size_t>(i)])] =
          value[static_cast<std::size_t>(i)];
    }
    for (index_t& node : nodes) {
      if (node < 14) node = order[static_cast<std::size_t>(node)];
    }
    const auto before = bhclust::labels_of(t, cut, value);
    const auto after = bhclust::labels_of(moved, nodes, values);
    for (index_t i = 0; i < 14; ++i) {
      CHECK(after[static_cast<std::size_t>(order[static_cast<std::size_t>(i)])] ==
            before[static_cast<std::size_t>(i)]);
    }
  }
}

TEST_CASE("cut: the forest of a cut keeps what is below it") {
  const auto t = inverted();
  const auto forest = bhclust::forest_of(t, {2, 3, 6, 9});
  CHECK(forest.leaves() == 6);
  CHECK(forest.children() == std::vector<index_t>{0, 1, 4, 5});
  CHECK(forest.cost() == std::vector<double>{1.0, 2.0});
  CHECK(forest.costs() == cost_kind::divergence);
  CHECK(bhclust::forest_of(t, t.roots()).children() == t.children());
  CHECK(bhclust::forest_of(t, iota(6)).merges() == 0);
  for (int round = 0; round < 20; ++round) {
    random_source random(static_cast<std::uint64_t>(round));
    const auto s = random_tree(random, 14, 2);
    const auto cut = bhclust::nodes_from_top(s, [&](index_t) { return random.chance(0.4); });
    CHECK(covers(s, cut));
    const auto f = bhclust::forest_of(s, cut);
    CHECK(f.cost().empty());
    CHECK(bhclust::labels_of(f, f.roots()) == bhclust::labels_of(s, cut));
    CHECK(count(f.roots()) == count(cut));
  }
}

TEST_CASE("cut: refusals") {
  const auto t = inverted();
  check_refused([&] { static_cast<void>(bhclust::nodes_at_count(t, 1)); },
                {"n_clusters is 1", "2 root(s)", "6 leaves", "must lie between"});
  check_refused([&] { static_cast<void>(bhclust::nodes_at_count(t, 7)); }, {"n_clusters is 7"});
  check_refused([&] { static_cast<void>(bhclust::nodes_below_cost(t, missing)); },
                {"lam is NaN; it must be a number"});
  const auto bare = chain_tree(4);
  const auto message =
      "only a tree of RBHC can be cut by its costs; cut the posterior of this one instead";
  check_refused([&] { static_cast<void>(bhclust::nodes_below_cost(bare, 1.0)); }, {message});
  check_refused([&] { static_cast<void>(bhclust::nodes_at_count(bare, 2)); }, {message});
  check_refused(
      [&] { static_cast<void>(bhclust::running_maximum_cost(chain_tree(4, cost_kind::log_d))); },
      {message});
}

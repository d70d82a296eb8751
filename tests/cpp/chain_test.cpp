// A chain of a million leaves through everything that takes a tree: no recursion, nothing
// quadratic.
#include "clusters.hpp"
#include "tables.hpp"
#include "trees.hpp"
#include <bhclust/bhclust.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

using namespace testkit;

namespace {

constexpr index_t leaves = 1000000;
constexpr index_t root = 2 * leaves - 2;

/// Bits, the first half mostly zeros.
table bits() {
  std::vector<double> cells;
  for (index_t i = 0; i < leaves; ++i) {
    cells.push_back((i < leaves / 2) == (i % 10 == 0) ? 1.0 : 0.0);
  }
  return {std::move(cells), 1};
}

struct fixture {
  table X = bits();
  bhclust::BernoulliBeta family;
  tree t = chain_tree(leaves, bhclust::cost_kind::divergence);
  bhclust::tree_posterior p = bhclust::posterior(t, X.view(), family);
};

/// Built once for all cases.
const fixture& chain() {
  static const fixture made;
  return made;
}

}  // namespace

TEST_CASE("chain of a million leaves: the tree, its parts, a forest") {
  const auto& t = chain().t;
  CHECK(t.leaves() == leaves);
  CHECK(t.roots() == std::vector<index_t>{root});
  CHECK(t.size(root) == leaves);
  const auto again =
      bhclust::tree_from_children(leaves, bhclust::span<const index_t>(t.children()));
  CHECK(again.parents() == t.parents());
  const auto cut = bhclust::nodes_below_cost(t, 1000.5);
  CHECK(count(cut) == leaves - 1000);
  const auto forest = bhclust::forest_of(t, cut);
  CHECK(forest.merges() == 1000);
  CHECK(count(forest.roots()) == leaves - 1000);
}

TEST_CASE("chain of a million leaves: the posterior") {
  const auto& [X, family, t, p] = chain();
  const double rows = std::inner_product(
      p.omega.begin(), p.omega.end(), t.sizes().begin(), 0.0, std::plus<>(),
      [](double omega, index_t size) { return omega * static_cast<double>(size); });
  CHECK(near(rows, static_cast<double>(leaves), 0.0, 1e-9));
  CHECK(std::isfinite(p.log_evidence_bound));
  for (index_t k = leaves; k < t.nodes(); ++k) {
    if (p.height[at(k)] < p.height[at(t.left(k))]) FAIL("height falls at node " << k);
  }
}

TEST_CASE("chain of a million leaves: cuts and labels") {
  const auto& [X, family, t, p] = chain();
  for (const auto& cut :
       {bhclust::map_nodes(t, p), bhclust::nodes_by_probability(t, p, 0.5),
        bhclust::nodes_at_count(t, p, leaves / 2), bhclust::nodes_at_count(t, leaves / 2),
        bhclust::binder_nodes(t, p), bhclust::best_nodes_at_count(t, p, 3)}) {
    const auto labels = bhclust::labels_of(t, cut);
    CHECK(count(labels) == leaves);
    CHECK(labels.front() == 0);
    CHECK(*std::max_element(labels.begin(), labels.end()) == count(cut) - 1);
  }
}

TEST_CASE("chain of a million leaves: linkage both ways") {
  const auto& [X, family, t, p] = chain();
  const auto by_odds = bhclust::linkage_of(t, bhclust::linkage_heights(t, p.log_odds));
  CHECK(count(by_odds) == 4 * (leaves - 1));
  const auto linkage = bhclust::linkage_of(t, bhclust::linkage_heights(t));
  const auto s = bhclust::tree_from_linkage(bhclust::span<const double>(linkage), leaves - 1);
  CHECK(s.parents() == t.parents());
}

TEST_CASE("chain of a million leaves: Newick both ways") {
  const auto& t = chain().t;
  const auto height = bhclust::linkage_heights(t);
  const auto text = bhclust::to_newick(t, {}, bhclust::span<const double>(height));
  const auto s = bhclust::from_newick(text);
  CHECK(s.parents() == t.parents());
  // the other way round: the deep end comes last
  std::string mirrored;
  for (index_t i = 0; i < leaves - 1; ++i) mirrored += "(" + std::to_string(i) + ",";
  mirrored += std::to_string(leaves - 1) + std::string(at(leaves - 1), ')') + ";";
  CHECK(bhclust::from_newick(mirrored).children()[0] == leaves - 2);
  const std::string single = std::string(at(leaves), '(') + "0,1" + std::string(at(leaves), ')');
  CHECK(bhclust::from_newick(single + ";").merges() == 1);
}

TEST_CASE("chain of a million leaves: new rows") {
  const auto& [X, family, t, p] = chain();
  const table fresh({0.0, 1.0}, 1);
  const auto log_p = bhclust::log_predictive(t, p, X.view(), family, fresh.view(), {1, {}});
  CHECK(near(std::exp(log_p[0]) + std::exp(log_p[1]), 1.0, 1.0, 1e-6));
  const auto labels = bhclust::labels_of(t, bhclust::nodes_at_count(t, p, 3));
  CHECK(bhclust::log_responsibilities(labels, 1.0, X.view(), family, fresh.view()).size() == 8);
}

TEST_CASE("chain of a million leaves: pairs, samples, counts, bounds, purity") {
  const auto& [X, family, t, p] = chain();
  const std::vector<index_t> rows{0, 1, leaves / 2, leaves - 1};
  const auto pairs = bhclust::coclustering(t, p, bhclust::span<const index_t>(rows),
                                           bhclust::span<const index_t>(rows));
  CHECK(pairs[0] == 1.0);
  CHECK(near(pairs[3], 1.0 - p.height[at(root)], 1.0, 1e-12));
  CHECK(count(bhclust::path_entropy(t, p)) == leaves);
  CHECK(count(bhclust::sample_partitions(t, p, 1, 7)) == leaves);
  CHECK(bhclust::log_cluster_count(t, p, 5).size() == 5);
  const auto relocated = bhclust::relocate(t, p, X.view(), family);
  CHECK(relocated.log_evidence_bound >= p.log_evidence_bound);
  CHECK(bhclust::joint_evidence_bound(t, p, X.view(), family) >=
        relocated.log_evidence_bound - 1e-6);
  CHECK(bhclust::relocated_tree(t, root, bhclust::relocation::left_left).size(root) == leaves);
  CHECK(std::isfinite(bhclust::gradient_of_evidence(t, p, X.view(), family).alpha));
  std::vector<index_t> classes(at(leaves), 1);
  std::fill(classes.begin(), classes.begin() + leaves / 2, 0);
  const double purity = bhclust::dendrogram_purity(t, bhclust::span<const index_t>(classes));
  CHECK(purity > 0.5);
  CHECK(purity < 1.0);
}

#include "clusters.hpp"
#include "refusals.hpp"
#include "tables.hpp"
#include "trees.hpp"
#include "twins.hpp"
#include <bhclust/analysis/purity.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <vector>

using namespace testkit;
using bhclust::purity_weights;

namespace {

double purity(const tree& t, const std::vector<index_t>& classes,
              purity_weights weights = purity_weights::rows) {
  return bhclust::dendrogram_purity(t, bhclust::span<const index_t>(classes), weights);
}

/// The share of the class in the smallest subtree with both rows, over all pairs of rows of a
/// class.
double by_pairs(const tree& t, const std::vector<index_t>& classes, purity_weights weights) {
  const auto members = members_of(t);
  double sum = 0.0;
  double total = 0.0;
  for (index_t i = 0; i < t.leaves(); ++i) {
    const index_t own = classes[at(i)];
    const auto size = std::count(classes.begin(), classes.end(), own);
    for (index_t j = 0; j < t.leaves(); ++j) {
      if (i == j || classes[at(j)] != own) continue;
      const auto both = std::find_if(members.begin(), members.end(), [&](const auto& rows) {
        return std::count(rows.begin(), rows.end(), i) + std::count(rows.begin(), rows.end(), j) ==
               2;
      });
      const auto same = std::count_if(both->begin(), both->end(),
                                      [&](index_t k) { return classes[at(k)] == own; });
      const double weight =
          weights == purity_weights::rows ? 1.0 / static_cast<double>(size - 1) : 1.0;
      sum += weight * static_cast<double>(same) / static_cast<double>(both->size());
      total += weight;
    }
  }
  return sum / total;
}

}  // namespace

TEST_CASE("purity: by listing all pairs") {
  for (int round = 0; round < 30; ++round) {
    random_source random(static_cast<std::uint64_t>(round));
    const auto t = random_tree(random, 14);
    std::vector<index_t> classes{0, 0};
    while (count(classes) < 14) classes.push_back(random.below(4));
    for (const auto weights : {purity_weights::rows, purity_weights::pairs}) {
      CHECK(near(purity(t, classes, weights), by_pairs(t, classes, weights), 1.0, 1e-12));
    }
  }
}

TEST_CASE("purity: one for a tree that has the classes as subtrees") {
  const auto t = chain_tree(4);
  CHECK(purity(t, {0, 0, 0, 1}) == 1.0);
  CHECK(purity(t, {0, 0, 0, 0}) == 1.0);
  CHECK(near(purity(t, {0, 1, 1, 0}), 0.5 * (2.0 / 3.0 + 0.5), 1.0, 1e-15));
}

TEST_CASE("purity: refusals") {
  check_refused([] { static_cast<void>(purity(chain_tree(3), {0, 1})); },
                {"y has 2 entries for 3 leaves"});
  check_refused([] { static_cast<void>(purity(chain_tree(3), {0, 1, 2})); },
                {"no class in y has two rows, so dendrogram purity says nothing"});
  random_source random(1);
  const auto forest = random_tree(random, 5, 3);
  check_refused([&] { static_cast<void>(purity(forest, {0, 0, 0, 0, 0})); },
                {"the forest has 3 roots; dendrogram purity needs one tree"});
}

// Bounds beyond the tree against the sum over all partitions, and moves that raise the tree's
// bound.
#include "clusters.hpp"
#include "enumeration.hpp"
#include "refusals.hpp"
#include "tables.hpp"
#include "trees.hpp"
#include "twins.hpp"
#include "typed_examples.hpp"
#include <bhclust/algorithm/refine.hpp>
#include <bhclust/inference/evidence.hpp>
#include <bhclust/inference/hyperparameters.hpp>
#include <bhclust/inference/posterior.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <vector>

using namespace testkit;
using bhclust::any_family;
using bhclust::posterior;
using bhclust::relocation;
using bhclust::relocation_set;

namespace {

constexpr double slack = 1e-9;

/// log Σ over the tree's partitions and those with one relocation, by listing both.
template <class Model>
double listed_relocations(const tree& t, const Model& model, const table& X, double alpha) {
  const urn<Model> weights(model, X, alpha);
  const auto members = members_of(t);
  const auto below = partitions_below(t);
  const auto log_weight = [&](const partition& one) {
    double sum = 0.0;
    for (const index_t k : one) sum += weights.log_weight(members[at(k)]);
    return sum;
  };
  std::vector<double> logs;
  for (const auto& one : partitions_of(t)) logs.push_back(log_weight(one));
  for (index_t k = t.leaves(); k < t.nodes(); ++k) {
    for (const auto& [opened, joined] :
         {std::pair{t.left(k), t.right(k)}, std::pair{t.right(k), t.left(k)}}) {
      if (t.is_leaf(opened)) continue;
      for (const auto& [moved, left_over] : {std::pair{t.left(opened), t.right(opened)},
                                             std::pair{t.right(opened), t.left(opened)}}) {
        auto crossing = members[at(moved)];
        crossing.insert(crossing.end(), members[at(joined)].begin(), members[at(joined)].end());
        // what is beside k on the way to its root, and the other roots
        std::vector<index_t> beside{left_over};
        index_t top = k;
        for (; t.parent(top) >= 0; top = t.parent(top)) {
          const index_t up = t.parent(top);
          beside.push_back(t.left(up) == top ? t.right(up) : t.left(up));
        }
        for (const index_t root : t.roots()) {
          if (root != top) beside.push_back(root);
        }
        double sum = weights.log_weight(crossing);
        for (const index_t node : beside) {
          std::vector<double> parts;
          for (const auto& one : below[at(node)]) parts.push_back(log_weight(one));
          sum += log_sum_of(parts);
        }
        logs.push_back(sum);
      }
    }
  }
  return log_sum_of(logs) + log_prior_normaliser(alpha, X.rows());
}

}  // namespace

TEST_CASE("evidence: bounds lie between the tree's and the sum over all partitions, in order") {
  for_each_posterior(
      2, 6,
      [](const tree& t, const any_family& family, const table& X, double alpha, random_source&) {
        const auto p = posterior(t, X.view(), family, {alpha, {}});
        const auto model = bhclust::bind(family, X.view());
        const double exact = log_evidence_of_all(model, X, alpha);
        const double two =
            bhclust::relocate(t, p, X.view(), family, relocation_set::two).log_evidence_bound;
        const double four = bhclust::relocate(t, p, X.view(), family).log_evidence_bound;
        const double joint = bhclust::joint_evidence_bound(t, p, X.view(), family);
        const double pairs = bhclust::all_pairs_evidence_bound(t, p, X.view(), family);
        CHECK(near(bhclust::exact_log_evidence(X.view(), family, alpha), exact));
        CHECK(p.log_evidence_bound <= two + slack);
        CHECK(two <= four + slack);
        CHECK(four <= joint + slack);
        CHECK(joint <= pairs + slack);
        CHECK(pairs <= exact + slack);
        CHECK(near(four, listed_relocations(t, model, X, alpha)));
      });
}

TEST_CASE("evidence: for three rows every bound beyond the tree is exact") {
  for_each_posterior(
      3, 3,
      [](const tree& t, const any_family& family, const table& X, double alpha, random_source&) {
        if (t.merges() < 2) return;
        const auto p = posterior(t, X.view(), family, {alpha, {}});
        const double exact = bhclust::exact_log_evidence(X.view(), family, alpha);
        CHECK(near(bhclust::relocate(t, p, X.view(), family).log_evidence_bound, exact));
        CHECK(near(bhclust::joint_evidence_bound(t, p, X.view(), family), exact));
        CHECK(near(bhclust::all_pairs_evidence_bound(t, p, X.view(), family), exact));
      });
}

TEST_CASE("evidence: a relocated tree has the crossing cluster") {
  const auto t = chain_tree(5);
  const auto s = bhclust::relocated_tree(t, 8, relocation::left_left);
  // node 7 = {0, 1, 2, 3} opens; 3 crosses over to 4, {0, 1, 2} is left over
  const auto members = members_of(s);
  const auto has = [&](std::vector<index_t> rows) {
    return std::any_of(members.begin(), members.end(), [&](std::vector<index_t> m) {
      std::sort(m.begin(), m.end());
      return m == rows;
    });
  };
  CHECK(has({3, 4}));
  CHECK(has({0, 1, 2}));
  CHECK(!has({0, 1, 2, 3}));
  CHECK(s.roots().size() == 1);
  check_refused([&] { static_cast<void>(bhclust::relocated_tree(t, 3, relocation::left_left)); },
                {"node 3 is not an inner node of the tree (they go from 5 to 8)"});
  check_refused([&] { static_cast<void>(bhclust::relocated_tree(t, 9, relocation::left_left)); },
                {"node 9 is not an inner node"});
  check_refused([&] { static_cast<void>(bhclust::relocated_tree(t, 8, relocation::right_left)); },
                {"node 8 has no such relocation: its child is a leaf"});
}

TEST_CASE("evidence: the gradient is the slope of the bound, for α and every hyperparameter") {
  random_source random(4);
  bhclust::NormalInverseGamma family;
  const auto X = random_table(random, family, 12, 2, layout::with_missing);
  const auto t = random_tree(random, 12, 2);
  const auto bound = [&](const bhclust::NormalInverseGamma& f, double alpha) {
    return posterior(t, X.view(), f, {alpha, {}}).log_evidence_bound;
  };
  const auto p = posterior(t, X.view(), family, {0.8, {}});
  const auto g = bhclust::gradient_of_evidence(t, p, X.view(), family);
  constexpr double step = 1e-5;
  CHECK(near(g.alpha, (bound(family, 0.8 + step) - bound(family, 0.8 - step)) / (2.0 * step), 1.0,
             1e-6));
  REQUIRE(g.family.size() == 8);
  std::size_t next = 0;
  for (const auto& field : bhclust::NormalInverseGamma::parameters()) {
    for (std::size_t j = 0; j < 2; ++j) {
      auto above = family;
      auto below = family;
      std::vector<double> values(2, (family.*field.member)[0]);
      values[j] += step;
      above.*field.member = values;
      values[j] -= 2.0 * step;
      below.*field.member = values;
      CHECK(near(g.family[next++], (bound(above, 0.8) - bound(below, 0.8)) / (2.0 * step), 1.0,
                 1e-6));
    }
  }
}

TEST_CASE("evidence: refining never lowers the bound, and reaches the best tree of a few rows") {
  for_each_posterior(
      1, 9,
      [](const tree& t, const any_family& family, const table& X, double alpha, random_source&) {
        const double before = posterior(t, X.view(), family, {alpha, {}}).log_evidence_bound;
        for (const index_t regrafts :
             {index_t{0}, index_t{5}, std::numeric_limits<index_t>::max()}) {
          bhclust::refine_options options;
          options.alpha = alpha;
          options.max_regrafts = regrafts;
          const auto better = bhclust::refine(t, X.view(), family, options);
          CHECK(better.roots().size() == t.roots().size());
          CHECK(posterior(better, X.view(), family, {alpha, {}}).log_evidence_bound >=
                before - slack);
        }
      });
  // two groups taken apart at random come together
  const table X({0.0, 9.0, 0.1, 9.1, 0.2, 9.2, 0.3, 9.3}, 1);
  bhclust::NormalKnownVariance family;
  family.prior_variance = 100.0;
  const auto wanted = std::vector<index_t>{0, 1, 0, 1, 0, 1, 0, 1};
  for (int round = 0; round < 10; ++round) {
    random_source random(static_cast<std::uint64_t>(round));
    const auto t = bhclust::refine(random_tree(random, 8), X.view(), family);
    CHECK(bhclust::labels_of(t, bhclust::map_nodes(t, posterior(t, X.view(), family))) == wanted);
  }
}

TEST_CASE("evidence: refusals") {
  const table X({0.0, 1.0, 2.0}, 1);
  const bhclust::NormalKnownVariance family;
  const auto t = chain_tree(3);
  const auto p = posterior(t, X.view(), family);
  const auto other = chain_tree(4);
  const char* const message = "the tree has 4 leaves and X has 3 rows";
  check_refused([&] { static_cast<void>(bhclust::relocate(other, p, X.view(), family)); },
                {message});
  check_refused(
      [&] { static_cast<void>(bhclust::joint_evidence_bound(other, p, X.view(), family)); },
      {message});
  check_refused(
      [&] { static_cast<void>(bhclust::all_pairs_evidence_bound(other, p, X.view(), family)); },
      {message});
  check_refused(
      [&] { static_cast<void>(bhclust::gradient_of_evidence(other, p, X.view(), family)); },
      {message});
  check_refused([&] { static_cast<void>(bhclust::refine(other, X.view(), family)); }, {message});
  const table many(std::vector<double>(16, 0.5), 1);
  check_refused(
      [&] { static_cast<void>(bhclust::exact_log_evidence(many.view(), family, 1.0)); },
      {"X has 16 rows; the exact evidence is a sum over all partitions and takes at most 15"});
  check_refused([&] { static_cast<void>(bhclust::exact_log_evidence(X.view(), family, 0.0)); },
                {"alpha is 0;"});
  bhclust::refine_options options;
  options.max_regrafts = -1;
  check_refused([&] { static_cast<void>(bhclust::refine(t, X.view(), family, options)); },
                {"max_regrafts is -1; it must be at least 0"});
  options = {};
  options.max_seconds = -1.0;
  check_refused([&] { static_cast<void>(bhclust::refine(t, X.view(), family, options)); },
                {"max_seconds is -1; it must be at least 0"});
  options = {};
  options.alpha = missing;
  check_refused([&] { static_cast<void>(bhclust::refine(t, X.view(), family, options)); },
                {"alpha is nan;"});
}

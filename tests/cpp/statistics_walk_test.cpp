#include "examples.hpp"
#include "gaussian_tables.hpp"
#include "random_source.hpp"
#include "tables.hpp"
#include "trees.hpp"
#include <bhclust/family/normal_inverse_gamma.hpp>
#include <bhclust/inference/evidence.hpp>
#include <bhclust/inference/hyperparameters.hpp>
#include <bhclust/inference/posterior.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <vector>

using namespace testkit;
using bhclust::any_family;
using bhclust::tree_posterior;

namespace {

tree_posterior posterior_on(const tree& t, const bhclust::table_view& X, const any_family& family,
                            int threads) {
  bhclust::posterior_options options;
  options.n_threads = threads;
  return bhclust::posterior(t, X, family, options);
}

/// Trees of more rows than a separate subtree has, of all shapes.
std::vector<tree> large_trees(random_source& random, index_t n) {
  return {random_tree(random, n), random_tree(random, n, 40), random_tree(random, n, n),
          chain_tree(n)};
}

}  // namespace

TEST_CASE("statistics walk: the separate subtrees are disjoint and neither large nor small") {
  random_source random(5);
  for (const auto& t : large_trees(random, 3000)) {
    const bhclust::detail::separate_subtrees apart(t);
    std::vector<int> above(at(t.nodes()), 0);
    for (index_t k = t.nodes() - 1; k >= 0; --k) {
      const index_t up = t.parent(k);
      above[at(k)] = (up < 0 ? 0 : above[at(up)]) + (apart.has(k) ? 1 : 0);
      CHECK(above[at(k)] <= 1);
      if (apart.has(k)) {
        CHECK(t.size(k) <= 256);
        CHECK(t.size(k) >= 32);
        CHECK(apart.roots()[apart.number_of(k)] == k);
      }
    }
  }
}

TEST_CASE("statistics walk: every node's statistics are those of its rows, whatever the threads") {
  for_each_example(1, 700, 3, [](random_source& random, const any_family& family, const table& X) {
    const auto model = bhclust::bind(family, X.view());
    for (const auto& t : large_trees(random, X.rows())) {
      const auto one = posterior_on(t, X.view(), family, 1);
      const auto three = posterior_on(t, X.view(), family, 3);
      CHECK(one.log_marginal == three.log_marginal);
      CHECK(one.omega == three.omega);
      bhclust::detail::for_each_node_statistics(
          t, X.view(), model, [&](index_t k, const double* statistics) {
            const double wanted = model.log_marginal(statistics);
            CHECK(std::fabs(one.log_marginal[at(k)] - wanted) <=
                  1e-12 * (static_cast<double>(t.size(k)) + std::fabs(wanted)));
          });
    }
  });
}

TEST_CASE("statistics walk: gradients and relocations do not depend on the threads") {
  for_each_example(1, 600, 2, [](random_source& random, const any_family& family, const table& X) {
    const auto t = random_tree(random, X.rows());
    const auto p = posterior_on(t, X.view(), family, 1);
    const auto one = bhclust::gradient_of_evidence(t, p, X.view(), family, {}, 1);
    const auto three = bhclust::gradient_of_evidence(t, p, X.view(), family, {}, 3);
    CHECK(one.alpha == three.alpha);
    CHECK(one.family == three.family);
    const auto four = bhclust::relocation_set::four;
    const auto r1 = bhclust::relocate(t, p, X.view(), family, four, {}, 1);
    const auto r3 = bhclust::relocate(t, p, X.view(), family, four, {}, 3);
    CHECK(r1.log_crossing == r3.log_crossing);
    CHECK(r1.log_evidence_bound == r3.log_evidence_bound);
  });
}

TEST_CASE("NormalInverseGamma: eight at a time is one at a time, on hard tables and few rows") {
  for (auto t : gaussian::hard(40, 3)) {
    t.cells[4] = std::numeric_limits<double>::quiet_NaN();
    for (index_t i = 0; i < t.n; i += 2) t.cells[at(3 * i + 2)] = missing;
    INFO(t.kind);
    const auto model = bhclust::bind(bhclust::NormalInverseGamma::from_data(t.view()), t.view());
    for (index_t count = 1; count <= 8; ++count) {
      std::vector<double> statistics(at(count * model.width()), 0.0);
      std::vector<double> found(at(count));
      for (index_t c = 0; c < count; ++c) {
        for (index_t i = 0; i < c * c / 2; ++i) {
          model.observe(t.view().row(i), statistics.data() + c * model.width());
        }
      }
      model.log_marginals(statistics.data(), count, found.data());
      for (index_t c = 0; c < count; ++c) {
        const double wanted = model.log_marginal(statistics.data() + c * model.width());
        CHECK(found[at(c)] == doctest::Approx(wanted).epsilon(1e-13));
      }
    }
  }
}

TEST_CASE("NormalInverseGamma: eight at a time where squares leave the range of doubles") {
  const bhclust::NormalInverseGamma family{0.0, 1.0, 1.0, 1e-300};
  const auto model = bhclust::bind(family, 1);
  const double t[] = {1.0, 1e150, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 2.0, 3.0, 0.0, 1e-310};
  double found[3];
  model.log_marginals(t, 3, found);
  CHECK(std::isfinite(found[0]));
  CHECK(found[0] == model.log_marginal(t));
  CHECK(found[1] == 0.0);
  CHECK(found[2] == model.log_marginal(t + 8));
}

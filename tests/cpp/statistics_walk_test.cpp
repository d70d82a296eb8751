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
        CHECK(apart.roots()[at(apart.number_of(k))] == k);
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

TEST_CASE("NormalInverseGamma: many clusters at a time are one at a time, on hard tables") {
  for (const index_t d : {1, 3, 8, 11}) {
    for (auto t : gaussian::hard(40, d)) {
      for (const bool holes : {false, true}) {
        if (holes) {
          for (index_t i = 0; i < t.n; i += 2) t.cells[at(d * i + d / 2)] = missing;
        }
        INFO(t.kind << ", " << d << " columns");
        const auto one = bhclust::bind(bhclust::NormalInverseGamma::from_data(t.view()), t.view());
        const auto many = bhclust::detail::prepared(one, 20);  // tables for half of the rows
        for (index_t count = 1; count <= 8; ++count) {
          std::vector<double> wanted, found(at(count));
          std::vector<double> statistics(at(count * many.width()), 0.0);
          for (index_t c = 0; c < count; ++c) {
            std::vector<double> own(at(one.width()), 0.0), half(at(many.width()), 0.0);
            double* all = statistics.data() + c * many.width();
            const index_t rows = c * c / 2 + (c == 7 ? 16 : 0);
            for (index_t i = 0; i < rows; ++i) {
              one.observe(t.view().row(i), own.data());
              many.observe(t.view().row(i), i % 3 == 0 ? half.data() : all);
            }
            many.merge(all, half.data());
            wanted.push_back(one.log_marginal(own.data()));
            CHECK(many.log_marginal(all) == doctest::Approx(wanted.back()).epsilon(1e-13));
          }
          many.log_marginals(statistics.data(), count, found.data());
          for (index_t c = 0; c < count; ++c) {
            CHECK(found[at(c)] == doctest::Approx(wanted[at(c)]).epsilon(1e-13));
          }
        }
      }
    }
  }
}

TEST_CASE("NormalInverseGamma: many at a time where squares leave the range of doubles") {
  const bhclust::NormalInverseGamma family{0.0, 1.0, 1.0, 1e-300};
  const auto one = bhclust::bind(family, 1);
  const auto many = bhclust::detail::prepared(one, 10);
  const double rows[] = {1e150, 3.0, 1e100};
  std::vector<double> all(at(4 * many.width()), 0.0);
  std::vector<double> found(4);
  for (index_t i = 0; i < 3; ++i) {
    many.observe(bhclust::row_view(rows + i, 1), all.data() + i * many.width());
  }
  many.log_marginals(all.data(), 4, found.data());
  for (index_t i = 0; i < 3; ++i) {
    std::vector<double> own(at(one.width()), 0.0);
    one.observe(bhclust::row_view(rows + i, 1), own.data());
    CHECK(std::isfinite(found[at(i)]));
    CHECK(found[at(i)] == doctest::Approx(one.log_marginal(own.data())).epsilon(1e-14));
  }
  CHECK(found[3] == 0.0);
}

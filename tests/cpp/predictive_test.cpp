// Densities and clusters of new rows, against the urn over all partitions of the tree.
#include "clusters.hpp"
#include "examples.hpp"
#include "refusals.hpp"
#include "tables.hpp"
#include "trees.hpp"
#include "twins.hpp"
#include "typed_examples.hpp"
#include <bhclust/any_family.hpp>
#include <bhclust/family/bernoulli_beta.hpp>
#include <bhclust/family/normal_inverse_gamma.hpp>
#include <bhclust/family/normal_known_variance.hpp>
#include <bhclust/inference/posterior.hpp>
#include <bhclust/inference/predictive.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

using namespace testkit;
using bhclust::any_family;
using bhclust::log_predictive;
using bhclust::log_responsibilities;

namespace {

constexpr index_t rows = 7;

/// Old rows and new ones of one random table.
struct split_table {
  table old_rows, new_rows;
};

split_table split(const table& X) {
  const auto all = iota(X.rows());
  return {X.taken({all.begin(), all.begin() + rows}), X.taken({all.begin() + rows, all.end()})};
}

template <class Visit>
void for_each_prediction(int rounds, index_t fresh, const Visit& visit) {
  for_each_example(rounds, rows + fresh, 3,
                   [&](random_source& random, const any_family& family, const table& X) {
                     const auto [before, after] = split(X);
                     visit(random, family, before, after, random.positive());
                   });
}

/// log p(x | cluster), each from its rows.
template <class Model>
double log_joins(const Model& model, const table& X, const std::vector<index_t>& cluster,
                 const table& fresh, index_t i) {
  const auto t = observed(model, X, cluster);
  return log_marginal(model, joined(model, t, observed(model, fresh, {i}))) -
         log_marginal(model, t);
}

}  // namespace

TEST_CASE("predictive: the urn's next draw averaged over the tree's partitions, every family") {
  for_each_prediction(
      2, 3,
      [](random_source& random, const any_family& family, const table& X, const table& fresh,
         double alpha) {
        const auto t = random_tree(random, rows, 1 + random.below(2));
        const auto p = bhclust::posterior(t, X.view(), family, {alpha, {}});
        const auto found = log_predictive(t, p, X.view(), family, fresh.view());
        REQUIRE(count(found) == fresh.rows());
        const auto model = bhclust::bind(family, X.view());
        const auto members = members_of(t);
        const double total = static_cast<double>(rows) + alpha;
        for (index_t i = 0; i < fresh.rows(); ++i) {
          double density = 0.0;
          double weights = 0.0;
          for (const auto& clusters : partitions_of(t)) {
            double log_weight = -p.log_evidence_bound + std::lgamma(alpha) - std::lgamma(total);
            double next = alpha / total * std::exp(log_joins(model, X, {}, fresh, i));
            for (const index_t k : clusters) {
              const auto size = static_cast<double>(t.size(k));
              log_weight += std::log(alpha) + std::lgamma(size) + p.log_marginal[at(k)];
              next += size / total * std::exp(log_joins(model, X, members[at(k)], fresh, i));
            }
            weights += std::exp(log_weight);
            density += std::exp(log_weight) * next;
          }
          CHECK(near(weights, 1.0, 1.0, 1e-9));
          CHECK(near(found[at(i)], std::log(density), 1.0, 1e-9));
        }
      });
}

TEST_CASE("predictive: densities of bits sum to one, of reals integrate to one") {
  random_source random(2);
  const table X({0.0, 1.0, 1.0, 1.0, 0.0, 0.0, 1.0}, 1);
  const auto t = random_tree(random, rows);
  const bhclust::BernoulliBeta bits;
  const table both({0.0, 1.0}, 1);
  const auto p = bhclust::posterior(t, X.view(), bits, {0.3, {}});
  const auto log_p = log_predictive(t, p, X.view(), bits, both.view());
  CHECK(near(std::exp(log_p[0]) + std::exp(log_p[1]), 1.0, 1.0, 1e-12));
  const table Y({-3.0, -2.5, -3.1, 4.0, 4.4, 3.9, 0.2}, 1);
  const bhclust::NormalInverseGamma reals;
  const auto q = bhclust::posterior(t, Y.view(), reals, {0.3, {}});
  std::vector<double> grid;
  constexpr double step = 0.02;
  for (double u = -30.0; u < 30.0; u += step) grid.push_back(std::sinh(u));
  const table points(grid, 1);
  const auto log_q = log_predictive(t, q, Y.view(), reals, points.view());
  double sum = 0.0;
  for (std::size_t i = 0; i < grid.size(); ++i) {
    sum += step * std::exp(log_q[i]) * std::sqrt(1.0 + grid[i] * grid[i]);
  }
  CHECK(near(sum, 1.0, 1.0, 1e-9));
}

TEST_CASE("predictive: responsibilities are the urn's, every family") {
  for_each_prediction(2, 3,
                      [](random_source& random, const any_family& family, const table& X,
                         const table& fresh, double alpha) {
                        std::vector<index_t> labels{0, 1, 2};
                        for (index_t i = 3; i < rows; ++i) labels.push_back(random.below(3));
                        const auto found =
                            log_responsibilities(labels, alpha, X.view(), family, fresh.view());
                        REQUIRE(count(found) == 4 * fresh.rows());
                        const auto model = bhclust::bind(family, X.view());
                        for (index_t i = 0; i < fresh.rows(); ++i) {
                          std::vector<double> logs;
                          for (index_t c = 0; c < 3; ++c) {
                            std::vector<index_t> cluster;
                            for (index_t k = 0; k < rows; ++k) {
                              if (labels[at(k)] == c) cluster.push_back(k);
                            }
                            logs.push_back(std::log(static_cast<double>(cluster.size())) +
                                           log_joins(model, X, cluster, fresh, i));
                          }
                          logs.push_back(std::log(alpha) + log_joins(model, X, {}, fresh, i));
                          double sum = logs[0];
                          for (std::size_t c = 1; c < logs.size(); ++c) sum = log_sum(sum, logs[c]);
                          double ones = 0.0;
                          for (std::size_t c = 0; c < logs.size(); ++c) {
                            const double log_r = found[at(4 * i) + c];
                            CHECK(near(log_r, logs[c] - sum, 10.0, 1e-10));
                            ones += std::exp(log_r);
                          }
                          CHECK(near(ones, 1.0, 1.0, 1e-12));
                        }
                      });
}

TEST_CASE("predictive: a fitted row far from the others goes to its own cluster") {
  const table X({-50.0, -50.5, -49.0, 50.0, 50.5, 49.0, 0.1}, 1);
  bhclust::NormalKnownVariance family;
  family.prior_variance = 1e4;
  const std::vector<index_t> labels{0, 0, 0, 1, 1, 1, 2};
  const auto log_r = log_responsibilities(labels, 1.0, X.view(), family, X.view());
  for (index_t i = 0; i < rows; ++i) {
    const auto* row = log_r.data() + 4 * i;
    CHECK(std::max_element(row, row + 4) - row == labels[at(i)]);
  }
  const table far({1e6}, 1);
  const auto fresh = log_responsibilities(labels, 1.0, X.view(), family, far.view());
  CHECK(std::exp(fresh[3]) > 0.999);
  for (const double x : fresh) CHECK(std::isfinite(x));
}

TEST_CASE("predictive: results do not depend on the number of threads, nor rows on each other") {
  random_source random(9);
  const bhclust::NormalInverseGamma family;
  const auto X = random_table(random, family, rows, 2);
  const auto fresh = random_table(random, family, 300, 2);
  const auto t = random_tree(random, rows);
  const auto p = bhclust::posterior(t, X.view(), family);
  const std::vector<index_t> labels{0, 0, 1, 1, 0, 2, 1};
  const auto one = log_predictive(t, p, X.view(), family, fresh.view(), {1, {}});
  const auto own = log_responsibilities(labels, 1.0, X.view(), family, fresh.view(), {1, {}});
  for (const int threads : {2, 5}) {
    CHECK(log_predictive(t, p, X.view(), family, fresh.view(), {threads, {}}) == one);
    CHECK(log_responsibilities(labels, 1.0, X.view(), family, fresh.view(), {threads, {}}) == own);
  }
  const auto single = fresh.taken({123});
  CHECK(log_predictive(t, p, X.view(), family, single.view())[0] == one[123]);
}

TEST_CASE("predictive: progress ends at the total, and an exception from it comes out") {
  const table X({1.0, 2.0, 3.0}, 1);
  const bhclust::NormalKnownVariance family;
  const auto t = chain_tree(3);
  const auto p = bhclust::posterior(t, X.view(), family);
  std::vector<std::pair<index_t, index_t>> reports;
  const bhclust::progress_function report = [&](index_t done, index_t total) {
    reports.emplace_back(done, total);
  };
  static_cast<void>(log_predictive(t, p, X.view(), family, X.view(), {1, report}));
  REQUIRE(!reports.empty());
  CHECK(reports.back().first == reports.back().second);
  reports.clear();
  static_cast<void>(log_responsibilities({0, 0, 0}, 1.0, X.view(), family, X.view(), {1, report}));
  REQUIRE(!reports.empty());
  CHECK(reports.back().first == reports.back().second);
  const bhclust::progress_function stop = [](index_t, index_t) { throw std::bad_alloc(); };
  CHECK_THROWS_AS(static_cast<void>(log_predictive(t, p, X.view(), family, X.view(), {1, stop})),
                  std::bad_alloc);
}

TEST_CASE("predictive: refusals") {
  const table X({1.0, 2.0, 3.0}, 1);
  const table wide({1.0, 2.0}, 2);
  const table bad({1.0, missing, infinite}, 1);
  const bhclust::NormalKnownVariance family;
  const auto t = chain_tree(3);
  const auto p = bhclust::posterior(t, X.view(), family);
  const auto predict = [&](const table& fresh) {
    return log_predictive(t, p, X.view(), family, fresh.view());
  };
  const auto respond = [&](const std::vector<index_t>& labels, const table& fresh,
                           double alpha = 1.0) {
    return log_responsibilities(labels, alpha, X.view(), family, fresh.view());
  };
  check_refused([&] { static_cast<void>(predict(wide)); },
                {"X_new has 2 columns; the fitted X has 1"});
  check_refused([&] { static_cast<void>(respond({0, 0, 0}, wide)); },
                {"X_new has 2 columns; the fitted X has 1"});
  check_refused([&] { static_cast<void>(predict(bad)); }, {"row 2, column 0 is inf"});
  check_refused([&] { static_cast<void>(respond({0, 0, 0}, bad)); }, {"row 2, column 0 is inf"});
  const auto empty = bhclust::rows(X.cells().data(), 0, 1);
  check_refused([&] { static_cast<void>(log_predictive(t, p, X.view(), family, empty)); },
                {"has no rows; at least one is needed"});
  check_refused(
      [&] { static_cast<void>(log_predictive(chain_tree(2), p, X.view(), family, X.view())); },
      {"the tree has 2 leaves and X has 3 rows"});
  check_refused([&] { static_cast<void>(respond({0, 0}, X)); },
                {"labels must have one entry a row of X"});
  check_refused([&] { static_cast<void>(respond({0, -1, 0}, X)); }, {"labels must be 0 or more"});
  check_refused([&] { static_cast<void>(respond({0, 0, 0}, X, 0.0)); }, {"alpha is 0;"});
}

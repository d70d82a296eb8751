// RBHC of rows that are equal: joined first, at no cost.
#include "random_source.hpp"
#include "relaxed_runs.hpp"
#include "tables.hpp"
#include <bhclust/algorithm/relaxed.hpp>
#include <bhclust/family/normal_known_variance.hpp>
#include <bhclust/family/poisson_gamma.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <vector>

using namespace testkit;
using bhclust::relaxed_bhc;
using bhclust::relaxed_method;

namespace {

/// Rows of normal numbers and a missing cell here and there, each several times.
table with_copies(index_t rows, index_t different, double holes) {
  random_source random(8);
  std::vector<double> cells;
  for (index_t i = 0; i < 2 * different; ++i) {
    cells.push_back(random.uniform() < holes ? missing : random.normal());
  }
  std::vector<index_t> chosen;
  for (index_t i = 0; i < rows; ++i) chosen.push_back(random.below(different));
  return table(cells, 2).taken(chosen);
}

}  // namespace

TEST_CASE("equal rows: the two oldest nodes of a group first, groups in order of their first row") {
  const double nan = missing;
  const table X({5, nan, 1, 2, 5, nan, 0, 3, 5, nan, 1, 2, -0.0, 3}, 2);
  const auto t =
      relaxed_bhc(X.view(), bhclust::NormalKnownVariance{}, by(relaxed_method::nn_chain));
  const std::vector<index_t> first(t.children().begin(), t.children().begin() + 8);
  CHECK(first == std::vector<index_t>{0, 2, 4, 7, 1, 5, 3, 6});
  for (index_t k = 7; k < 11; ++k) CHECK(t.cost(k) == 0.0);
  CHECK(t.merges() == 6);
}

TEST_CASE("equal rows: zeros of sparse rows may be stored or not") {
  const std::vector<double> values{1.0, 0.0, 1.0, 2.0};
  const std::vector<index_t> columns{1, 2, 1, 0};
  const std::vector<index_t> starts{0, 2, 3, 4};
  const auto X = bhclust::sparse_rows(values.data(), columns.data(), starts.data(), 3, 3);
  const auto t = relaxed_bhc(X, bhclust::PoissonGamma{}, by(relaxed_method::nn_chain));
  CHECK(t.left(3) == 0);
  CHECK(t.right(3) == 1);
  CHECK(t.cost(3) == 0.0);
  CHECK(t.cost(4) > 0.0);
}

TEST_CASE("equal rows: the chain finds what the greedy method does where d* is reducible") {
  const auto X = with_copies(300, 40, 0.0);
  const bhclust::NormalKnownVariance family;
  const auto chain = relaxed_bhc(X.view(), family, by(relaxed_method::nn_chain));
  const auto greedy = relaxed_bhc(X.view(), family, by(relaxed_method::greedy));
  const auto costs = sorted(greedy.cost());
  const auto found = sorted(chain.cost());
  for (std::size_t i = 0; i < found.size(); ++i) {
    CHECK(found[i] == doctest::Approx(costs[i]).epsilon(1e-9));
  }
  for (const double quantile : {0.3, 0.9, 0.97, 0.99}) {
    const double lambda = costs[static_cast<std::size_t>(quantile * 299.0)] * (1.0 + 1e-9) + 1e-12;
    CHECK(labels_below(chain, lambda) == labels_below(greedy, lambda));
  }
}

TEST_CASE("equal rows: one tree, also with missing cells, whatever the number of threads") {
  const auto X = with_copies(500, 30, 0.2);
  const bhclust::NormalKnownVariance family;
  const auto one = relaxed_bhc(X.view(), family, by(relaxed_method::nn_chain));
  CHECK(one.merges() == 499);
  const auto zeros = std::count(one.cost().begin(), one.cost().end(), 0.0);
  CHECK(zeros >= 470);
  const auto many = relaxed_bhc(X.view(), family, by(relaxed_method::nn_chain, infinite, 3));
  CHECK(many.children() == one.children());
  CHECK(many.cost() == one.cost());
}

// Missing cells against the mixture over all partitions of the tree.
#include "clusters.hpp"
#include "enumeration.hpp"
#include "examples.hpp"
#include "refusals.hpp"
#include "slow_family.hpp"
#include "tables.hpp"
#include "trees.hpp"
#include "twins.hpp"
#include <bhclust/any_family.hpp>
#include <bhclust/family/bernoulli_beta.hpp>
#include <bhclust/family/categorical_dirichlet.hpp>
#include <bhclust/family/geometric_beta.hpp>
#include <bhclust/family/normal_inverse_gamma.hpp>
#include <bhclust/family/normal_inverse_wishart.hpp>
#include <bhclust/family/poisson_gamma.hpp>
#include <bhclust/inference/imputation.hpp>
#include <bhclust/inference/posterior.hpp>
#include <bhclust/product.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

using namespace testkit;
using bhclust::any_family;
using bhclust::impute;
using bhclust::impute_levels;
using bhclust::predictive_options;

namespace {

constexpr index_t rows = 7;

template <class Model>
index_t all_means(const Model& model) {
  index_t size = 0;
  for (index_t j = 0; j < model.columns(); ++j) size += model.mean_size(j);
  return size;
}

/// One row's means, averaged over partitions with weights of any scale.
class average {
 public:
  explicit average(index_t size) : sum_(at(size), 0.0) {}

  template <class Model>
  void add(const Model& model, const statistics& t, double weight) {
    std::vector<double> mean(sum_.size());
    model.predictive_mean(t.data(), mean.data());
    for (std::size_t m = 0; m < sum_.size(); ++m) sum_[m] += weight * mean[m];
    weight_ += weight;
  }
  double operator[](index_t m) const { return sum_[at(m)] / weight_; }

 private:
  std::vector<double> sum_;
  double weight_ = 0.0;
};

/// A row's cells as impute has them.
template <class Model>
void check_row(const Model& model, const table& X, index_t i, const average& wanted,
               const std::vector<double>& found) {
  index_t place = 0;
  for (index_t j = 0; j < X.columns(); ++j) {
    CAPTURE(i);
    CAPTURE(j);
    const double x = found[at(i * X.columns() + j)];
    const index_t size = model.mean_size(j);
    if (!std::isnan(X.cell(i, j))) {
      CHECK(x == X.cell(i, j));
    } else if (size == 1) {
      CHECK(near(x, wanted[place], 1.0, 1e-9));
    } else {
      for (index_t v = 0; v < size; ++v) {
        CHECK(wanted[place + static_cast<index_t>(x)] >= wanted[place + v] - 1e-12);
      }
    }
    place += size;
  }
}

/// Families whose every mean is finite under their priors.
bool has_means(const any_family& family) {
  return family.name() != "GeometricBeta" && family.name() != "NegativeBinomialBeta" &&
         family.name() != "ExponentialGamma";
}

}  // namespace

TEST_CASE("imputation: of fitted rows, against enumeration, every family") {
  for_each_posterior(
      3, rows,
      [](const tree& t, const any_family& family, const table& X, double alpha, random_source&) {
        if (!has_means(family)) return;
        const auto p = bhclust::posterior(t, X.view(), family, {alpha, {}});
        const auto found = impute(t, p, X.view(), family);
        REQUIRE(count(found) == rows * X.columns());
        const auto model = bhclust::bind(family, X.view());
        const urn<decltype(model)> weights(model, X, alpha);
        const enumeration all(t, weights);
        const auto members = members_of(t);
        for (index_t i = 0; i < rows; ++i) {
          average wanted(all_means(model));
          for (const auto& one : all.partitions()) {
            const double weight = std::exp(all.log_weight_of(one) - all.log_total());
            for (const index_t k : one) {
              const auto& cluster = members[at(k)];
              if (std::find(cluster.begin(), cluster.end(), i) == cluster.end()) continue;
              wanted.add(model, observed(model, X, cluster), weight);
            }
          }
          check_row(model, X, i, wanted, found);
        }
      });
}

TEST_CASE("imputation: of new rows, against the urn over all partitions, every family") {
  int round = 0;
  for_each_example(
      2, rows + 4, 3, [&](random_source& random, const any_family& family, const table& both) {
        if (!has_means(family)) return;
        const auto order = iota(rows + 4);
        const auto X = both.taken({order.begin(), order.begin() + rows});
        const auto fresh = both.taken({order.begin() + rows, order.end()});
        const auto t = random_tree(random, rows, 1 + round++ % 3);
        const double alpha = random.positive();
        const auto p = bhclust::posterior(t, X.view(), family, {alpha, {}});
        const auto found = impute(t, p, X.view(), family, fresh.view());
        const auto model = bhclust::bind(family, X.view());
        const urn<decltype(model)> weights(model, X, alpha);
        const enumeration all(t, weights);
        const auto members = members_of(t);
        for (index_t i = 0; i < fresh.rows(); ++i) {
          const auto x = observed(model, fresh, {i});
          average wanted(all_means(model));
          const auto add = [&](const statistics& t0, double weight) {
            const auto with_row = joined(model, t0, x);
            const double joins = log_marginal(model, with_row) - log_marginal(model, t0);
            // the row's own cells too say what the cluster is like, at other times of a curve
            wanted.add(model, with_row, weight * std::exp(joins));
          };
          for (const auto& one : all.partitions()) {
            const double weight = std::exp(all.log_weight_of(one) - all.log_total());
            for (const index_t k : one) {
              add(observed(model, X, members[at(k)]), weight * static_cast<double>(t.size(k)));
            }
            add(nothing(model), weight * alpha);
          }
          check_row(model, fresh, i, wanted, found);
        }
      });
}

TEST_CASE("imputation: probabilities of levels") {
  const double na = missing;
  const table X({0.0, 1.0, 0.0, 1.0, 2.0, 5.0, 2.0, na, na, 6.0, na, na}, 2);
  bhclust::CategoricalDirichlet codes;
  codes.levels = 3.0;
  const bhclust::Product family{{{codes, {0}}, {bhclust::PoissonGamma{}, {1}}}};
  const std::vector<index_t> children{0, 1, 2, 3, 4, 7, 5, 6, 8, 9};
  const auto t = bhclust::tree_from_children(6, bhclust::span<const index_t>(children));
  const auto p = bhclust::posterior(t, X.view(), family);
  const auto cells = impute(t, p, X.view(), family);
  for (const bool again : {false, true}) {
    const auto found = again ? impute_levels(t, p, X.view(), family, X.view(), 0)
                             : impute_levels(t, p, X.view(), family, 0);
    REQUIRE(count(found) == 18);
    CHECK(found[0] == 1.0);
    CHECK(found[1] == 0.0);
    CHECK(found[3 * 2 + 2] == 1.0);
    for (const index_t i : {4, 5}) {
      const double* row = found.data() + 3 * i;
      CHECK(near(row[0] + row[1] + row[2], 1.0));
      CHECK(row[1] > 0.0);
    }
    CHECK(found[3 * 4 + 2] > found[3 * 4]);
  }
  CHECK(cells[2 * 4] == 2.0);
  check_refused([&] { static_cast<void>(impute_levels(t, p, X.view(), family, 1)); },
                {"column 1 holds numbers, which have no levels"});
  for (const index_t column : {-2, 2}) {
    check_refused([&] { static_cast<void>(impute_levels(t, p, X.view(), family, column)); },
                  {"X has the columns 0 to 1"});
  }
}

TEST_CASE("imputation: a row of nothing but holes, a column of nothing but holes") {
  const double na = missing;
  const table X({na, na, 1.0, na, 3.0, na}, 2);
  bhclust::NormalInverseGamma family;
  family.mean = {0.0, 7.0};
  const auto t = chain_tree(3);
  const auto p = bhclust::posterior(t, X.view(), family);
  const auto cells = impute(t, p, X.view(), family);
  CHECK(cells[0] > 0.0);
  for (const std::size_t e : {1U, 3U, 5U}) CHECK(near(cells[e], 7.0));
  const table fresh({na, na}, 2);
  const auto new_cells = impute(t, p, X.view(), family, fresh.view());
  CHECK(near(new_cells[1], 7.0));
  CHECK(new_cells[0] > 0.0);
}

TEST_CASE("imputation: columns a few at a time give what all at once do") {
  random_source random(8);
  bhclust::CategoricalDirichlet codes;
  codes.levels = {3.0, 2.0, 4.0, 3.0};
  std::vector<double> cells;
  for (index_t e = 0; e < 4 * 30; ++e) {
    cells.push_back(random.chance(0.3) ? missing : static_cast<double>(random.below(2)));
  }
  const table X(cells, 4);
  const auto t = random_tree(random, 30);
  const auto p = bhclust::posterior(t, X.view(), codes);
  const auto model = bhclust::bind(codes, X.view());
  const bhclust::detail::mean_layout layout(model);
  const auto fill = [&](index_t room) {
    bhclust::detail::missing_cells gaps(layout, X.view());
    bhclust::detail::progress_meter progress({}, 1);
    bhclust::detail::fill_fitted(t, p, X.view(), model, layout, gaps, room, progress);
    std::vector<double> all;
    for (const index_t i : gaps.rows()) {
      gaps.for_each(i, [&](index_t j, const double* mean) {
        all.insert(all.end(), mean, mean + layout.size(j));
      });
    }
    return all;
  };
  const auto whole = fill(1000);
  for (const index_t room : {0, 1, 4, 6, 9}) CHECK(fill(room) == whole);
}

TEST_CASE("imputation: a chain of many rows, and rows far from all clusters") {
  const index_t n = 100000;
  std::vector<double> cells;
  for (index_t i = 0; i < n; ++i) cells.push_back(i % 10 == 0 ? missing : (i % 3 == 0 ? 1.0 : 0.0));
  const table X(cells, 1);
  const bhclust::BernoulliBeta bits;
  const auto t = chain_tree(n);
  const auto p = bhclust::posterior(t, X.view(), bits);
  const auto found = impute(t, p, X.view(), bits);
  for (index_t i = 0; i < n; i += 10) {
    CHECK(found[at(i)] > 0.32);
    CHECK(found[at(i)] < 0.35);
  }
  bhclust::NormalInverseGamma reals;
  const table Y({0.0, 1.0, 0.1, 1.1, 50.0, 9.0}, 2);
  const auto s = chain_tree(3);
  const auto q = bhclust::posterior(s, Y.view(), reals);
  const table far({1e140, missing, -1e140, missing}, 2);
  for (const double x : impute(s, q, Y.view(), reals, far.view())) CHECK(std::isfinite(x));
}

TEST_CASE("imputation: results do not depend on the number of threads, nor rows on each other") {
  random_source random(9);
  std::vector<double> cells;
  for (index_t e = 0; e < 2 * 300; ++e) {
    cells.push_back(random.chance(0.4) ? missing : random.normal());
  }
  const table fresh(cells, 2);
  const auto X = fresh.taken(iota(9));
  const bhclust::NormalInverseGamma family;
  const auto t = random_tree(random, 9);
  const auto p = bhclust::posterior(t, X.view(), family);
  const auto one = impute(t, p, X.view(), family, fresh.view(), predictive_options{1, {}});
  for (const int threads : {2, 5}) {
    CHECK(impute(t, p, X.view(), family, fresh.view(), predictive_options{threads, {}}) == one);
  }
  const auto single = fresh.taken({123});
  const auto alone = impute(t, p, X.view(), family, single.view());
  CHECK(alone[0] == one[246]);
  CHECK(alone[1] == one[247]);
}

TEST_CASE("imputation: progress ends at the total, and an exception from it comes out") {
  const table X({1.0, missing, 3.0}, 1);
  const bhclust::NormalInverseGamma family;
  const auto t = chain_tree(3);
  const auto p = bhclust::posterior(t, X.view(), family);
  for (const bool fitted : {true, false}) {
    std::vector<std::pair<index_t, index_t>> reports;
    const predictive_options options{
        1, [&](index_t done, index_t total) { reports.emplace_back(done, total); }};
    static_cast<void>(fitted ? impute(t, p, X.view(), family, options)
                             : impute(t, p, X.view(), family, X.view(), options));
    REQUIRE(!reports.empty());
    CHECK(reports.back().first == reports.back().second);
    const predictive_options stop{1, [](index_t, index_t) { throw std::bad_alloc(); }};
    CHECK_THROWS_AS(static_cast<void>(fitted ? impute(t, p, X.view(), family, stop)
                                             : impute(t, p, X.view(), family, X.view(), stop)),
                    std::bad_alloc);
  }
}

TEST_CASE("imputation: what has no holes comes back, columns in no block as they are") {
  const table X({1.0, 0.0, 3.0, 2.0, 0.0, 0.0}, 2);
  const bhclust::PoissonGamma counts;
  const auto t = chain_tree(3);
  const auto p = bhclust::posterior(t, X.view(), counts);
  CHECK(impute(t, p, X.view(), counts) == X.cells());
  CHECK(impute(t, p, X.view(), counts, X.view()) == X.cells());
  const auto sparse = X.as_sparse();
  CHECK(impute(t, p, sparse.view(), counts) == X.cells());
  const table Y({1.0, missing, missing, 2.0}, 2);
  const bhclust::Product first{{{counts, {0}}}};
  const auto s = chain_tree(2);
  const auto q = bhclust::posterior(s, Y.view(), first);
  for (const auto& cells :
       {impute(s, q, Y.view(), first), impute(s, q, Y.view(), first, Y.view())}) {
    CHECK(std::isnan(cells[1]));
    CHECK(cells[2] > 0.0);
    CHECK(cells[3] == 2.0);
  }
}

TEST_CASE("imputation: refusals") {
  const table X({1.0, 2.0, missing}, 1);
  const table wide({1.0, 2.0}, 2);
  const bhclust::NormalInverseGamma family;
  const auto t = chain_tree(3);
  const auto p = bhclust::posterior(t, X.view(), family);
  check_refused([&] { static_cast<void>(impute(t, p, X.view(), family, wide.view())); },
                {"X_new has 2 columns; the fitted X has 1"});
  check_refused([&] { static_cast<void>(impute(chain_tree(2), p, X.view(), family)); },
                {"the tree has 2 leaves and X has 3 rows"});
  const bhclust::GeometricBeta counts;
  const auto q = bhclust::posterior(t, X.view(), counts);
  for (const bool fitted : {true, false}) {
    check_refused(
        [&] {
          static_cast<void>(fitted ? impute(t, q, X.view(), counts)
                                   : impute(t, q, X.view(), counts, X.view()));
        },
        {"row 2, column 0 is missing, and its expected value is infinite under GeometricBeta"});
  }
  const table Y({1.0, 2.0, 3.0}, 1);
  const bhclust::NormalInverseWishart full;
  const auto r = bhclust::posterior(t, Y.view(), full);
  check_refused([&] { static_cast<void>(impute(t, r, Y.view(), full, X.view())); },
                {"row 2, column 0 is NaN; NormalInverseWishart takes no missing values"});
}

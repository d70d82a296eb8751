// No NaN comes out where none went in: cells at the ends of the families' domains, constants,
// duplicates, far offsets.
#include "clusters.hpp"
#include "tables.hpp"
#include "typed_examples.hpp"
#include <bhclust/bhclust.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

using namespace testkit;

namespace {

std::vector<double> cells_at_the_ends(bhclust::cell kind) {
  switch (kind) {
    case bhclust::cell::real:
      return {0.0, -0.0, 1e-310, -1e-300, 1e-30, -1.0, 1.0 + 1e-15, 1e30, -1e30, 9e149, -9e149};
    case bhclust::cell::positive:
      return {5e-324, 1e-310, 1e-30, 1.0, 1.0 + 1e-15, 1e30, 9e299};
    case bhclust::cell::bit:
      return {0.0, -0.0, 1.0};
    case bhclust::cell::count:
      return {0.0, -0.0, 1.0, 2.0, 171.0, 1e9, 9007199254740992.0};
    case bhclust::cell::code:
      return {0.0, -0.0, 1.0, 5.0};
  }
  return {};
}

/// A family that takes all of these cells.
template <class Family>
Family lenient() {
  Family family;
  if constexpr (std::is_same_v<Family, bhclust::CategoricalDirichlet>) family.levels = 6.0;
  if constexpr (std::is_same_v<Family, bhclust::NormalInverseWishart>) family.nu = 4.0;
  return family;
}

/// Every extreme cell beside every other: rows of two columns, and repeats.
template <class Family>
table extreme_table() {
  const auto ends = cells_at_the_ends(Family::takes().cells);
  std::vector<double> cells;
  for (std::size_t i = 0; i < ends.size(); ++i) {
    for (std::size_t k = 0; k < 3; ++k) {
      cells.push_back(ends[i]);
      cells.push_back(ends[(i + k * k) % ends.size()]);
    }
  }
  if constexpr (std::is_same_v<Family, bhclust::VonMisesFisher>) {
    cells = {1.0, 0.0, -1.0, 0.0, 0.0, 1.0, 0.0, -1.0, 0.6, 0.8, 1.0, 1e-310, 1.0, -0.0, 1.0, 1e-9};
  }
  return {std::move(cells), 2};
}

/// A run of every algorithm over the rows; all that comes out must be a number.
template <class Family>
void check_all_finite(const Family& family, const table& X) {
  const bhclust::any_family any(family);
  const auto t = bhclust::greedy_bhc(X.view(), any, {1.0, 1, {}});
  CHECK(t.merges() == X.rows() - 1);
  const auto p = bhclust::posterior(t, X.view(), any);
  for (index_t k = 0; k < t.nodes(); ++k) {
    CHECK(std::isfinite(p.log_marginal[at(k)]));
    CHECK(std::isfinite(p.log_tree[at(k)]));
    CHECK(!std::isnan(p.log_odds[at(k)]));
    CHECK(p.omega[at(k)] >= 0.0);
    CHECK(p.height[at(k)] >= 0.0);
  }
  for (const double cost : t.cost()) CHECK(std::isfinite(cost));
  CHECK(std::isfinite(p.log_evidence_bound));
  for (const auto method : {bhclust::relaxed_method::nn_chain, bhclust::relaxed_method::greedy}) {
    bhclust::relaxed_options options;
    options.method = method;
    options.n_threads = 1;
    const auto r = bhclust::relaxed_bhc(X.view(), any, options);
    CHECK(r.merges() == X.rows() - 1);
    for (const double cost : r.cost()) CHECK((cost >= 0.0 && std::isfinite(cost)));
  }
  for (const double x : bhclust::log_predictive(t, p, X.view(), any, X.view())) {
    CHECK(!std::isnan(x));
  }
}

}  // namespace

TEST_CASE("extremes: cells at the ends of every domain, with the plain hyperparameters") {
  bhclust::for_each_family([](auto tag) {
    using family_type = typename decltype(tag)::type;
    INFO(std::string(family_type::name()));
    check_all_finite(lenient<family_type>(), extreme_table<family_type>());
  });
}

TEST_CASE("extremes: statistics of all subsets of three rows are finite") {
  bhclust::for_each_family([](auto tag) {
    using family_type = typename decltype(tag)::type;
    INFO(std::string(family_type::name()));
    const auto X = extreme_table<family_type>();
    const auto model = bhclust::bind(lenient<family_type>(), X.view());
    for (index_t i = 0; i < X.rows(); ++i) {
      for (index_t j = 0; j < X.rows(); ++j) {
        const auto a = observed(model, X, {i, j});
        const auto b = observed(model, X, {i, j, (i + j) % X.rows()});
        CHECK(std::isfinite(log_marginal(model, a)));
        CHECK(std::isfinite(log_marginal(model, b)));
        const double d = divergence(model, a, b);
        CHECK(std::isfinite(d));
        CHECK(d >= 0.0);
      }
    }
  });
}

TEST_CASE("extremes: duplicates and constants of every extreme cell") {
  bhclust::for_each_family([](auto tag) {
    using family_type = typename decltype(tag)::type;
    const auto ends = extreme_table<family_type>();
    for (index_t i = 0; i < ends.rows(); i += 3) {
      INFO(std::string(family_type::name()) << ", row " << i);
      const table X = ends.taken(std::vector<index_t>(5, i));
      check_all_finite(lenient<family_type>(), X);
    }
  });
}

TEST_CASE("extremes: one row, and one row of one column") {
  bhclust::for_each_family([](auto tag) {
    using family_type = typename decltype(tag)::type;
    INFO(std::string(family_type::name()));
    check_all_finite(lenient<family_type>(), extreme_table<family_type>().taken({4}));
    check_all_finite(lenient<family_type>(), table({1.0}, 1));
  });
}

TEST_CASE("extremes: a table without an observed cell") {
  bhclust::for_each_family([](auto tag) {
    using family_type = typename decltype(tag)::type;
    if (!family_type::takes().missing) return;
    INFO(std::string(family_type::name()));
    const table X(std::vector<double>(8, missing), 2);
    const auto family = lenient<family_type>();
    const auto t = bhclust::greedy_bhc(X.view(), family);
    const auto p = bhclust::posterior(t, X.view(), family);
    for (const double x : p.log_marginal) CHECK(x == 0.0);
    // the evidence of nothing is one, whatever the tree: the partitions of the tree share it
    CHECK(p.log_evidence_bound <= 0.0);
    check_all_finite(family, X);
  });
}

TEST_CASE("extremes: more columns than rows") {
  bhclust::for_each_family([](auto tag) {
    using family_type = typename decltype(tag)::type;
    INFO(std::string(family_type::name()));
    random_source random(5);
    auto family = lenient<family_type>();
    if constexpr (std::is_same_v<family_type, bhclust::NormalInverseWishart>) family.nu = 42.0;
    check_all_finite(family, random_table(random, family, 4, 40));
  });
}

TEST_CASE("extremes: defaults made from hostile tables") {
  bhclust::for_each_family([](auto tag) {
    using family_type = typename decltype(tag)::type;
    const auto ends = extreme_table<family_type>();
    std::vector<table> tables{ends,
                              ends.taken({0}),
                              ends.taken({3}),
                              ends.taken(std::vector<index_t>(4, 2)),
                              table({1.0}, 1),
                              table({1.0, 1.0, 1.0}, 1)};
    random_source random(5);
    const auto family = lenient<family_type>();
    tables.push_back(random_table(random, family, 3, 40));
    for (const layout kind : layouts_of<family_type>()) {
      tables.push_back(random_table(random, family, 12, 2, kind));
    }
    if (family_type::takes().missing) {
      tables.emplace_back(std::vector<double>(6, missing), 2);
      tables.emplace_back(std::vector<double>{1.0, missing, 1.0, missing}, 2);
    }
    if (family_type::takes().cells == bhclust::cell::count) {
      tables.emplace_back(std::vector<double>(6, 0.0), 2);
    }
    if (family_type::takes().sparse) {
      const std::size_t dense = tables.size();
      for (std::size_t i = 0; i < dense; ++i) {
        const bool holes = std::any_of(tables[i].cells().begin(), tables[i].cells().end(),
                                       [](double x) { return std::isnan(x); });
        if (!holes && !tables[i].sparse()) tables.push_back(tables[i].as_sparse());
      }
    }
    for (std::size_t i = 0; i < tables.size(); ++i) {
      INFO(std::string(family_type::name())
           << ", table " << i << ", " << tables[i].rows() << " x " << tables[i].columns()
           << (tables[i].sparse() ? ", sparse" : ""));
      check_all_finite(family_type::from_data(tables[i].view()), tables[i]);
    }
  });
}

TEST_CASE("extremes: an offset does not change a Gaussian tree") {
  // about zero and far from it: the same rows, so the same tree and the same evidence, as long as
  // the offset leaves the cells their digits (multiples of 2^-10 up to 2^27)
  bhclust::for_each_family([](auto tag) {
    using family_type = typename decltype(tag)::type;
    if constexpr (std::is_same_v<family_type, bhclust::NormalInverseWishart> ||
                  std::is_same_v<family_type, bhclust::NormalInverseGamma> ||
                  std::is_same_v<family_type, bhclust::NormalKnownVariance> ||
                  std::is_same_v<family_type, bhclust::GaussianProcess>) {
      INFO(std::string(family_type::name()));
      random_source random(11);
      std::vector<double> cells;
      for (int i = 0; i < 60; ++i) {
        const double centre = 2.0 * static_cast<double>(random.below(4));
        for (int j = 0; j < 3; ++j) {
          cells.push_back(std::round(1024.0 * (centre + random.normal())) / 1024.0);
        }
      }
      const auto fitted = [&](double offset) {
        auto moved = cells;
        for (double& x : moved) x += offset;
        const table X(moved, 3);
        auto family = lenient<family_type>();
        family.mean = offset;
        const auto t = bhclust::greedy_bhc(X.view(), family);
        bhclust::relaxed_options options;
        const auto r = bhclust::relaxed_bhc(X.view(), family, options);
        return std::tuple(t.children(), bhclust::posterior(t, X.view(), family).log_evidence_bound,
                          r.children(), r.cost());
      };
      const auto [children, evidence, relaxed, costs] = fitted(0.0);
      for (const double offset : {1e5, 1e6, 1e8}) {
        CAPTURE(offset);
        const auto [moved_children, moved_evidence, moved_relaxed, moved_costs] = fitted(offset);
        CHECK(moved_children == children);
        CHECK(near(moved_evidence, evidence, 1.0, 1e-10));
        CHECK(moved_relaxed == relaxed);
        for (std::size_t i = 0; i < costs.size(); ++i)
          CHECK(near(moved_costs[i], costs[i], 1.0, 1e-9));
      }
    }
  });
}

TEST_CASE("extremes: a unit of measurement does not change a Gaussian tree") {
  // powers of two, so that not a digit is lost
  for (const double unit : {std::ldexp(1.0, -100), std::ldexp(1.0, 100), std::ldexp(1.0, 480)}) {
    CAPTURE(unit);
    random_source random(12);
    std::vector<double> cells, scaled;
    for (int i = 0; i < 90; ++i) {
      cells.push_back(random.normal() + 4.0 * static_cast<double>(random.below(3)));
      scaled.push_back(cells.back() * unit);
    }
    bhclust::NormalInverseGamma small, large;
    small.mean = large.mean = 0.0;
    large.b = small.b[0] * unit * unit;
    const table X(cells, 3);
    const table Y(scaled, 3);
    if (!std::isfinite(large.b[0])) continue;
    const bhclust::any_family one(small);
    const bhclust::any_family other(large);
    CHECK(bhclust::greedy_bhc(X.view(), one).children() ==
          bhclust::greedy_bhc(Y.view(), other).children());
    CHECK(bhclust::relaxed_bhc(X.view(), one).children() ==
          bhclust::relaxed_bhc(Y.view(), other).children());
  }
}

TEST_CASE("extremes: two clusters of 200 rows of one count each") {
  // Γ(200) overflows, and so does a product of likelihoods
  std::vector<double> cells;
  for (int i = 0; i < 400; ++i) cells.push_back(i % 2 == 0 ? 0.0 : 60.0);
  const table X(cells, 1);
  const bhclust::any_family family(bhclust::PoissonGamma{});
  const auto t = bhclust::greedy_bhc(X.view(), family);
  const auto p = bhclust::posterior(t, X.view(), family);
  CHECK(bhclust::map_nodes(t, p).size() == 2);
  CHECK(std::isfinite(p.log_evidence_bound));
}

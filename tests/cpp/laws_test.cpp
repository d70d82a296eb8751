// What must hold for every family of the list, from arbitrary clusters. Fast scores against slow
// ones are in store_test.cpp.
#include "clusters.hpp"
#include "examples.hpp"
#include "tables.hpp"
#include "typed_examples.hpp"
#include <bhclust/families.hpp>
#include <bhclust/family.hpp>
#include <bhclust/product.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

using namespace testkit;
using bhclust::bind;
using bhclust::for_each_family;

namespace {

constexpr int rounds = 12;
constexpr index_t rows = 14;
constexpr index_t most_columns = 5;

/// Calls visit(random, model, table) for examples of every family.
template <class Visit>
void for_each_model(const Visit& visit) {
  for_each_example(rounds, rows, most_columns,
                   [&](random_source& random, const bhclust::any_family& family, const table& X) {
                     visit(random, bind(family, X.view()), X);
                   });
}

/// As above with the family, by its type.
template <class Visit>
void for_each_typed_model(const Visit& visit) {
  for_each_family([&](auto tag) {
    using family_type = typename decltype(tag)::type;
    for_each_example_of<family_type>(
        rounds, rows, most_columns,
        [&](random_source& random, const family_type& family, const table& X) {
          visit(random, family, bind(family, X.view()), X);
        });
  });
}

template <class Model>
double log_marginal_of(const Model& model, const table& X, const std::vector<index_t>& chosen) {
  return log_marginal(model, observed(model, X, chosen));
}

/// A family's hyperparameters for one of its columns.
template <class Family>
Family for_column(const Family& family, index_t j) {
  Family one = family;
  for (const auto& field : Family::parameters()) {
    one.*field.member = parameter((family.*field.member)[j]);
  }
  return one;
}

template <class Family>
constexpr bool has_independent_columns = !std::is_same_v<Family, bhclust::NormalInverseWishart> &&
                                         !std::is_same_v<Family, bhclust::MultinomialDirichlet> &&
                                         !std::is_same_v<Family, bhclust::VonMisesFisher> &&
                                         !std::is_same_v<Family, bhclust::GaussianProcess>;

/// A hyperparameter with an entry for each number that its gradient has.
parameter spread(const parameter& p, bhclust::shape shape, index_t columns) {
  if (shape == bhclust::shape::scalar || p.rank() == 2) return p;
  std::vector<double> values;
  for (index_t j = 0; j < columns; ++j) values.push_back(p[j]);
  if (shape != bhclust::shape::matrix) return values;
  std::vector<double> diagonal(at(columns * columns), 0.0);
  for (index_t j = 0; j < columns; ++j) diagonal[at(j * (columns + 1))] = values[at(j)];
  return parameter::matrix(std::move(diagonal));
}

parameter moved(const parameter& p, index_t entry, index_t twin, double step) {
  auto values = p.values();
  values[at(entry)] += step;
  if (twin != entry) values[at(twin)] += step;
  if (p.rank() == 0) return values[0];
  return p.rank() == 1 ? parameter(std::move(values)) : parameter::matrix(std::move(values));
}

/// What is not learned, with a gradient of 0: numbers of levels, r, directions, times, choices.
template <class Family>
bool fixed(const Family& family, const bhclust::parameter_field<Family>& field) {
  if (field.values == bhclust::range::whole || field.values == bhclust::range::choice) return true;
  if constexpr (std::is_same_v<Family, bhclust::GaussianProcess>) {
    return field.member == &Family::times;
  }
  if constexpr (std::is_same_v<Family, bhclust::NegativeBinomialBeta>) {
    return field.member == &Family::r;
  }
  if constexpr (std::is_same_v<Family, bhclust::VonMisesFisher>) {
    if (field.member == &Family::mean_direction) return true;
    return field.member == &Family::prior_kappa && family.prior_kappa[0] == 0.0;
  }
  return false;
}

}  // namespace

TEST_CASE("law: the order of the rows does not matter") {
  for_each_model([](random_source& random, const auto& model, const table& X) {
    auto before = arbitrary_state(random, model, X);
    auto after = before.t;
    for (const index_t i : iota(rows)) model.observe(X.view().row(i), before.t.data());
    for (const index_t i : shuffled(random, rows)) model.observe(X.view().row(i), after.data());
    CHECK(near(log_marginal(model, before.t), log_marginal(model, after)));
  });
}

TEST_CASE("law: a cluster's past does not matter") {
  for_each_model([](random_source& random, const auto& model, const table& X) {
    const auto past = arbitrary_state(random, model, X, 12);
    CHECK(near(log_marginal(model, past.t), log_marginal_of(model, X, past.rows), 100.0));
  });
}

TEST_CASE("law: merging is pooling") {
  for_each_model([](random_source& random, const auto& model, const table& X) {
    const auto a = arbitrary_state(random, model, X);
    const auto b = arbitrary_state(random, model, X);
    auto pooled = a.rows;
    pooled.insert(pooled.end(), b.rows.begin(), b.rows.end());
    const double wanted = log_marginal_of(model, X, pooled);
    CHECK(near(log_marginal(model, joined(model, a.t, b.t)), wanted, 100.0));
    CHECK(near(log_marginal(model, joined(model, b.t, a.t)), wanted, 100.0));
  });
}

TEST_CASE("law: what is added and removed again leaves nothing behind") {
  for_each_model([](random_source& random, const auto& model, const table& X) {
    const auto a = arbitrary_state(random, model, X);
    const auto b = arbitrary_state(random, model, X);
    const auto again = without(model, joined(model, a.t, b.t), b.t);
    CHECK(near(log_marginal(model, again), log_marginal(model, a.t), 100.0));
    const auto c = arbitrary_state(random, model, X);
    CHECK(near(log_marginal(model, joined(model, again, c.t)),
               log_marginal(model, joined(model, a.t, c.t)), 100.0));
    CHECK(without(model, b.t, b.t) == nothing(model));
  });
}

TEST_CASE("law: rows removed one by one in another order leave an empty cluster") {
  for_each_model([](random_source& random, const auto& model, const table& X) {
    auto t = observed(model, X, iota(rows));
    for (const index_t i : shuffled(random, rows)) {
      model.remove(t.data(), observed(model, X, {i}).data());
    }
    CHECK(near(log_marginal(model, t), 0.0, 10.0));
    const double first = log_marginal_of(model, X, {0});
    CHECK(near(log_marginal(model, joined(model, t, observed(model, X, {0}))), first, 10.0));
  });
}

TEST_CASE("law: the empty cluster has probability one and changes nothing") {
  for_each_model([](random_source& random, const auto& model, const table& X) {
    const auto empty = nothing(model);
    const auto a = arbitrary_state(random, model, X);
    CHECK(log_marginal(model, empty) == 0.0);
    CHECK(joined(model, a.t, empty) == a.t);
    CHECK(without(model, a.t, empty) == a.t);
    CHECK(log_marginal(model, joined(model, empty, a.t)) == log_marginal(model, a.t));
    CHECK(divergence(model, a.t, empty) == 0.0);
    CHECK(divergence(model, empty, a.t) == 0.0);
  });
}

TEST_CASE("law: the chain rule") {
  for_each_model([](random_source& random, const auto& model, const table& X) {
    const auto order = shuffled(random, rows);
    double sum = 0.0;
    for (index_t i = 0; i < rows; ++i) {
      // each condition is built anew, in its own order, and the new row joins it as a cluster
      std::vector<index_t> earlier(order.begin(), order.begin() + i);
      random.shuffle(earlier);
      const auto condition = observed(model, X, earlier);
      const auto row = observed(model, X, {order[at(i)]});
      sum += log_marginal(model, joined(model, row, condition)) - log_marginal(model, condition);
    }
    CHECK(near(sum, log_marginal_of(model, X, iota(rows)), 100.0));
  });
}

TEST_CASE("law: independent columns multiply, each with its own hyperparameters") {
  for_each_typed_model([](random_source& random, const auto& family, const auto& model,
                          const table& X) {
    using family_type = std::decay_t<decltype(family)>;
    if constexpr (has_independent_columns<family_type>) {
      const auto order = shuffled(random, rows);
      const std::vector<index_t> some(order.begin(), order.begin() + 5);
      const std::vector<index_t> others(order.begin() + 5, order.end());
      double product = 0.0;
      double costs = 0.0;
      for (index_t j = 0; j < X.columns(); ++j) {
        const table column = X.column(j);
        const auto one = bind(for_column(family, j), column.view());
        product += log_marginal_of(one, column, some);
        costs += divergence(one, observed(one, column, some), observed(one, column, others));
      }
      CHECK(near(product, log_marginal_of(model, X, some)));
      CHECK(near(costs, divergence(model, observed(model, X, some), observed(model, X, others))));
    }
  });
}

TEST_CASE("law: scalar hyperparameters stand for every column") {
  for_each_typed_model([](random_source&, const auto& family, const auto&, const table& X) {
    using family_type = std::decay_t<decltype(family)>;
    family_type scalar = family;
    family_type vector = family;
    for (const auto& field : family_type::parameters()) {
      if (field.shape == bhclust::shape::scalar || field.shape == bhclust::shape::vector_only)
        continue;
      if (std::is_same_v<family_type, bhclust::VonMisesFisher>) continue;  // a direction, or none
      if (std::string(field.name) == "times") continue;                    // a scalar is a distance
      double value = (family.*field.member)[0];
      if (field.values == bhclust::range::whole) value = 9.0;  // levels enough for any table here
      scalar.*field.member = value;
      vector.*field.member = std::vector<double>(at(X.columns()), value);
    }
    CHECK(log_marginal_of(bind(scalar, X.view()), X, iota(rows)) ==
          log_marginal_of(bind(vector, X.view()), X, iota(rows)));
  });
}

TEST_CASE("law: a missing cell says nothing") {
  for_each_typed_model(
      [](random_source& random, const auto& family, const auto& model, const table& X) {
        using family_type = std::decay_t<decltype(family)>;
        if (!family_type::takes().missing || X.sparse()) return;
        const table blank(std::vector<double>(at(X.columns()), missing), X.columns());
        const auto a = arbitrary_state(random, model, X);
        auto t = a.t;
        model.observe(blank.view().row(0), t.data());
        CHECK(log_marginal(model, t) == log_marginal(model, a.t));
        if (X.columns() > 1) return;
        std::vector<index_t> present;
        for (const index_t i : a.rows) {
          if (!bhclust::is_missing(X.cell(i, 0))) present.push_back(i);
        }
        CHECK(log_marginal_of(model, X, a.rows) == log_marginal_of(model, X, present));
      });
}

TEST_CASE("law: sparse rows are dense rows") {
  for_each_model([](random_source& random, const auto& model, const table& X) {
    if (!X.sparse()) return;
    const table dense(X.cells(), X.columns());
    const auto order = shuffled(random, rows);
    const std::vector<index_t> some(order.begin(), order.begin() + 6);
    const std::vector<index_t> others(order.begin() + 6, order.end());
    CHECK(near(log_marginal_of(model, X, some), log_marginal_of(model, dense, some), 0.0, 1e-13));
    CHECK(near(divergence(model, observed(model, X, some), observed(model, X, others)),
               divergence(model, observed(model, dense, some), observed(model, dense, others)), 0.0,
               1e-13));
  });
}

TEST_CASE("law: divergences are symmetric, never negative, and zero between equals") {
  for_each_model([](random_source& random, const auto& model, const table& X) {
    const auto a = arbitrary_state(random, model, X);
    const auto b = arbitrary_state(random, model, X);
    const double d = divergence(model, a.t, b.t);
    CHECK(d >= 0.0);
    CHECK(near(d, divergence(model, b.t, a.t), 0.0, 1e-12));
    CHECK(near(divergence(model, a.t, a.t), 0.0, 1.0, 1e-13));
    const auto x = observed(model, X, {random.below(rows)});
    CHECK(divergence(model, x, x) == 0.0);
  });
}

TEST_CASE("law: the sum of all costs of a tree does not depend on the tree") {
  // d* is a difference of potentials, f(a) + f(b) - f(a ∪ b)
  for_each_model([](random_source& random, const auto& model, const table& X) {
    const auto a = arbitrary_state(random, model, X).t;
    const auto b = arbitrary_state(random, model, X).t;
    const auto c = arbitrary_state(random, model, X).t;
    const double left = divergence(model, a, b) + divergence(model, joined(model, a, b), c);
    const double right = divergence(model, b, c) + divergence(model, a, joined(model, b, c));
    CHECK(near(left, right, 10.0));
  });
}

TEST_CASE("law: gradients are slopes of the log marginal") {
  for_each_typed_model(
      [](random_source& random, const auto& family, const auto& model, const table& X) {
        using family_type = std::decay_t<decltype(family)>;
        const auto cluster = arbitrary_state(random, model, X).t;
        std::vector<double> gradient(at(model.gradient_size()), 7.0);
        model.add_gradient(cluster.data(), 0.5, gradient.data());
        const index_t d = X.columns();
        index_t next = 0;
        for (const auto& field : family_type::parameters()) {
          const index_t size = bhclust::gradient_size(field.shape, d);
          const auto here = spread(family.*field.member, field.shape, d);
          for (index_t e = 0; e < size; ++e) {
            CAPTURE(std::string(field.name));
            CAPTURE(e);
            const double found = 2.0 * (gradient[at(next + e)] - 7.0);
            if (fixed(family, field)) {
              CHECK(found == 0.0);
              continue;
            }
            // entries of a symmetric matrix move together with their mirror images
            const index_t twin = here.rank() == 2 ? e % d * d + e / d : e;
            const double both = twin == e ? found : found + 2.0 * (gradient[at(next + twin)] - 7.0);
            const double step = 1e-5 * std::max(0.1, std::fabs(here.values()[at(e)]));
            family_type above = family;
            family_type below = family;
            above.*field.member = moved(here, e, twin, step);
            below.*field.member = moved(here, e, twin, -step);
            const double slope =
                (log_marginal(bind(above, d), cluster) - log_marginal(bind(below, d), cluster)) /
                (2.0 * step);
            CHECK(near(both, slope, 10.0, 1e-6));
          }
          next += size;
        }
        CHECK(next == model.gradient_size());
      });
}

TEST_CASE("special case: one column of NormalInverseWishart is NormalInverseGamma") {
  for (int round = 0; round < 20; ++round) {
    CAPTURE(round);
    random_source random(static_cast<std::uint64_t>(round));
    auto wishart = random_family<bhclust::NormalInverseWishart>(random, 1);
    wishart.psi = random.uniform(0.1, 3.0);
    bhclust::NormalInverseGamma gamma;
    gamma.mean = wishart.mean[0];
    gamma.kappa = wishart.kappa;
    gamma.a = 0.5 * wishart.nu[0];
    gamma.b = 0.5 * wishart.psi[0];
    const auto X = random_table(random, wishart, rows, 1);
    const auto m = bind(wishart, X.view());
    const auto g = bind(gamma, X.view());
    const auto a = shuffled(random, 6);
    const auto b = shuffled(random, rows);
    CHECK(near(log_marginal_of(m, X, a), log_marginal_of(g, X, a)));
    CHECK(near(divergence(m, observed(m, X, a), observed(m, X, b)),
               divergence(g, observed(g, X, a), observed(g, X, b))));
  }
}

TEST_CASE("special case: two levels of CategoricalDirichlet are BernoulliBeta") {
  for (int round = 0; round < 20; ++round) {
    CAPTURE(round);
    random_source random(static_cast<std::uint64_t>(round));
    bhclust::BernoulliBeta bits;
    bits.a = bits.b = random_value(random, bhclust::range::positive);
    bhclust::CategoricalDirichlet codes;
    codes.concentration = bits.a;
    codes.levels = 2.0;
    const auto X = random_table(random, bits, rows, 3, layout::with_missing);
    CHECK(near(log_marginal_of(bind(bits, X.view()), X, iota(rows)),
               log_marginal_of(bind(codes, X.view()), X, iota(rows))));
  }
}

TEST_CASE("special case: NegativeBinomialBeta with r = 1 is GeometricBeta") {
  for (int round = 0; round < 20; ++round) {
    CAPTURE(round);
    random_source random(static_cast<std::uint64_t>(round));
    const auto geometric = random_family<bhclust::GeometricBeta>(random, 3);
    bhclust::NegativeBinomialBeta binomial;
    binomial.a = geometric.a;
    binomial.b = geometric.b;
    const auto X = random_table(random, geometric, rows, 3, layout::with_missing);
    const auto g = bind(geometric, X.view());
    const auto b = bind(binomial, X.view());
    CHECK(near(log_marginal_of(g, X, iota(rows)), log_marginal_of(b, X, iota(rows))));
    CHECK(near(divergence(g, observed(g, X, {0, 1}), observed(g, X, {2, 3, 4})),
               divergence(b, observed(b, X, {0, 1}), observed(b, X, {2, 3, 4}))));
  }
}

TEST_CASE("special case: MultinomialDirichlet of one count a row is CategoricalDirichlet") {
  for (int round = 0; round < 20; ++round) {
    CAPTURE(round);
    random_source random(static_cast<std::uint64_t>(round));
    bhclust::CategoricalDirichlet codes;
    codes.concentration = random_value(random, bhclust::range::positive);
    codes.levels = 4.0;
    bhclust::MultinomialDirichlet counts;
    counts.concentration = codes.concentration;
    const auto X = random_table(random, codes, rows, 1);
    std::vector<double> one_hot(at(4 * rows), 0.0);
    for (index_t i = 0; i < rows; ++i) {
      one_hot[at(4 * i + static_cast<index_t>(X.cell(i, 0)))] = 1.0;
    }
    const table Y(one_hot, 4);
    const auto c = bind(codes, X.view());
    const auto m = bind(counts, Y.view());
    CHECK(near(log_marginal_of(c, X, iota(rows)), log_marginal_of(m, Y, iota(rows))));
    CHECK(near(divergence(c, observed(c, X, {0, 1}), observed(c, X, {2, 3, 4})),
               divergence(m, observed(m, Y, {0, 1}), observed(m, Y, {2, 3, 4}))));
  }
}

TEST_CASE("special case: NormalInverseGamma sure of its variance is NormalKnownVariance") {
  for (int round = 0; round < 20; ++round) {
    CAPTURE(round);
    random_source random(static_cast<std::uint64_t>(round));
    bhclust::NormalKnownVariance known;
    known.variance = random.uniform(0.5, 2.0);
    known.prior_variance = random.uniform(0.5, 2.0);
    known.mean = random.normal();
    bhclust::NormalInverseGamma sure;
    sure.mean = known.mean;
    sure.kappa = known.variance[0] / known.prior_variance[0];
    sure.a = 1e9;
    sure.b = 1e9 * known.variance[0];
    const auto X = random_table(random, known, rows, 2, layout::with_missing);
    CHECK(near(log_marginal_of(bind(known, X.view()), X, iota(rows)),
               log_marginal_of(bind(sure, X.view()), X, iota(rows)), 1.0, 1e-6));
  }
}

TEST_CASE("special case: GaussianProcess at one time is NormalKnownVariance") {
  for (int round = 0; round < 20; ++round) {
    CAPTURE(round);
    random_source random(static_cast<std::uint64_t>(round));
    auto process = random_family<bhclust::GaussianProcess>(random, 1);
    process.times = {random.normal()};
    const bhclust::NormalKnownVariance known{process.noise, process.mean, process.amplitude};
    const auto X = random_table(random, known, rows, 1, layout::with_missing);
    CHECK(near(log_marginal_of(bind(process, X.view()), X, iota(rows)),
               log_marginal_of(bind(known, X.view()), X, iota(rows))));
  }
}

TEST_CASE("special case: GaussianProcess at times far apart has independent columns") {
  for (int round = 0; round < 20; ++round) {
    CAPTURE(round);
    random_source random(static_cast<std::uint64_t>(round));
    auto process = random_family<bhclust::GaussianProcess>(random, 3);
    process.times = {1e4, -1e4, 0.0};
    process.kernel = static_cast<double>(round % 3);  // a spline has no such limit
    process.length_scale = 1.0;
    const bhclust::NormalKnownVariance known{process.noise, process.mean, process.amplitude};
    const auto X = random_table(random, known, rows, 3, layout::with_missing);
    CHECK(near(log_marginal_of(bind(process, X.view()), X, iota(rows)),
               log_marginal_of(bind(known, X.view()), X, iota(rows))));
  }
}

TEST_CASE("special case: VonMisesFisher on a line has two directions") {
  bhclust::VonMisesFisher family;
  family.kappa = 0.7;
  const table X({1.0, -1.0, 1.0, 1.0, 1.0}, 1);
  const auto model = bind(family, X.view());
  const double wanted = std::log(std::cosh(0.7 * 3.0)) - 5.0 * std::log(2.0 * std::cosh(0.7));
  CHECK(near(log_marginal_of(model, X, iota(5)), wanted, 1.0, 1e-14));
}

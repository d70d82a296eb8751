// Probabilities sum to one and densities integrate to one: of a new row given any cluster, the
// empty one included. With the chain rule (laws_test.cpp) this holds for every number of rows.
#include "clusters.hpp"
#include "tables.hpp"
#include "typed_examples.hpp"
#include <bhclust/families.hpp>
#include <bhclust/family.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <functional>
#include <type_traits>
#include <vector>

using namespace testkit;
using bhclust::cell;

namespace {

constexpr double pi = 3.14159265358979323846;
constexpr int rounds = 6;
constexpr index_t rows = 14;

/// p(x | cluster).
template <class Model>
class density {
 public:
  density(const Model& model, const statistics& cluster)
      : model_(model), cluster_(cluster), log_given_(log_marginal(model, cluster)) {}

  double operator()(const std::vector<double>& x) const {
    auto t = cluster_;
    model_.observe(bhclust::row_view(x.data(), count(x)), t.data());
    return std::exp(log_marginal(model_, t) - log_given_);
  }

 private:
  const Model& model_;
  const statistics& cluster_;
  double log_given_;
};

/// Σ f(x) over all x with x[j] in 0 … values[j]-1.
template <class F>
double sum_over_grid(const std::vector<index_t>& values, const F& f) {
  std::vector<double> x(values.size(), 0.0);
  double sum = 0.0;
  for (;;) {
    sum += f(x);
    std::size_t j = 0;
    while (j < x.size() && ++x[j] == static_cast<double>(values[j])) x[j++] = 0.0;
    if (j == x.size()) return sum;
  }
}

/// Σ f(x) over all rows of counts with a total.
template <class F>
double sum_over_compositions(index_t total, index_t columns, const F& f) {
  const auto each = std::vector<index_t>(at(columns), total + 1);
  return sum_over_grid(each, [&](const std::vector<double>& x) {
    double sum = 0.0;
    for (const double c : x) sum += c;
    return sum == static_cast<double>(total) ? f(x) : 0.0;
  });
}

template <class F>
double sum_over_counts(index_t end, const F& f) {
  double sum = 0.0;
  for (index_t x = end - 1; x >= 0; --x) sum += f({static_cast<double>(x)});
  return sum;
}

/// ∫ f over the line by x = sinh(u), which turns tails of any power into exponential ones.
template <class F>
double integral_over_line(double step, double end, const F& f) {
  double sum = 0.0;
  for (double u = -end; u <= end; u += step) sum += f(std::sinh(u)) * std::cosh(u);
  return sum * step;
}

template <class F>
double integral_over_half_line(double step, double end, const F& f) {
  double sum = 0.0;
  for (double u = -end; u <= end; u += step) sum += f({std::exp(u)}) * std::exp(u);
  return sum * step;
}

template <class F>
double integral_over_circle(const F& f) {
  constexpr int points = 240;
  double sum = 0.0;
  for (int k = 0; k < points; ++k) {
    const double angle = 2.0 * pi * k / points;
    sum += f({std::cos(angle), std::sin(angle)});
  }
  return sum * 2.0 * pi / points;
}

/// ∫ f over the unit sphere: the height by the tanh-sinh rule, the angle by equal steps.
template <class F>
double integral_over_sphere(const F& f) {
  constexpr double step = 0.05;
  double sum = 0.0;
  for (double u = -3.2; u <= 3.2; u += step) {
    const double z = std::tanh(0.5 * pi * std::sinh(u));
    const double weight = 0.5 * pi * std::cosh(u) / std::pow(std::cosh(0.5 * pi * std::sinh(u)), 2);
    const double radius = std::sqrt(1.0 - z * z);
    sum += weight * integral_over_circle([&](const std::vector<double>& xy) {
             return f({radius * xy[0], radius * xy[1], z});
           });
  }
  return sum * step;
}

template <class Family>
double total_over_domain(const Family& family, index_t columns,
                         const std::function<double(const std::vector<double>&)>& p) {
  if constexpr (std::is_same_v<Family, bhclust::VonMisesFisher>) {
    if (columns == 1) return p({-1.0}) + p({1.0});
    return columns == 2 ? integral_over_circle(p) : integral_over_sphere(p);
  } else if constexpr (std::is_same_v<Family, bhclust::MultinomialDirichlet>) {
    return sum_over_compositions(4, columns, p);
  } else if constexpr (std::is_same_v<Family, bhclust::CategoricalDirichlet>) {
    std::vector<index_t> levels;
    for (index_t j = 0; j < columns; ++j) levels.push_back(static_cast<index_t>(family.levels[j]));
    return sum_over_grid(levels, p);
  } else {
    switch (family.takes().cells) {
      case cell::bit:
        return sum_over_grid(std::vector<index_t>(at(columns), 2), p);
      case cell::count:
        return sum_over_counts(20000, p);
      case cell::positive:
        return integral_over_half_line(0.01, 200.0, p);
      case cell::real:
        return integral_over_line(0.02, 100.0, [&](double x) { return p({x}); });
      case cell::code:
        break;
    }
  }
  return 0.0;
}

/// How many columns total_over_domain takes.
template <class Family>
index_t most_columns() {
  if (std::is_same_v<Family, bhclust::VonMisesFisher>) return 3;
  const auto cells = Family{}.takes().cells;
  const bool finite = cells == cell::bit || cells == cell::code ||
                      std::is_same_v<Family, bhclust::MultinomialDirichlet>;
  return finite ? 4 : 1;
}

/// Without tails heavier than sums of twenty thousand terms can bear.
template <class Family>
Family light_tailed(Family family) {
  if constexpr (std::is_same_v<Family, bhclust::GeometricBeta> ||
                std::is_same_v<Family, bhclust::NegativeBinomialBeta>) {
    family.a = 8.0;
  }
  return family;
}

/// With priors under which a new row has a mean, and tails that let it be summed.
template <class Family>
Family with_means(Family family) {
  if constexpr (std::is_same_v<Family, bhclust::NormalInverseGamma>) family.a = 3.0;
  if constexpr (std::is_same_v<Family, bhclust::NormalInverseWishart>) family.nu = 6.0;
  if constexpr (std::is_same_v<Family, bhclust::ExponentialGamma>) family.shape = 4.0;
  return light_tailed(family);
}

/// E f(x) of a new row for the functions whose means are a column's: x_j, or that it is level v.
template <class Family, class Density>
std::vector<double> means_over_domain(const Family& family, index_t columns, index_t j,
                                      index_t size, const Density& p) {
  std::vector<double> means;
  for (index_t v = 0; v < size; ++v) {
    means.push_back(total_over_domain(family, columns, [&](const std::vector<double>& x) {
      const double f = size == 1 ? x[at(j)] : (x[at(j)] == static_cast<double>(v) ? 1.0 : 0.0);
      return f == 0.0 ? 0.0 : f * p(x);
    }));
    // rows with a total of 4 here, of 1 in the library
    if (std::is_same_v<Family, bhclust::MultinomialDirichlet>) means.back() /= 4.0;
  }
  return means;
}

}  // namespace

TEST_CASE("law: the probabilities of a new row sum to one") {
  bhclust::for_each_family([](auto tag) {
    using family_type = typename decltype(tag)::type;
    for_each_example_of<family_type>(
        rounds, rows, most_columns<family_type>(),
        [&](random_source& random, const family_type& drawn, const table& X) {
          const auto family = light_tailed(drawn);
          const auto model = bhclust::bind(family, X.view());
          for (const int past : {0, 1, 6}) {
            CAPTURE(past);
            const auto cluster = arbitrary_state(random, model, X, past);
            const double total = total_over_domain(family, X.columns(), density(model, cluster.t));
            CHECK(near(total, 1.0, 1.0, 1e-8));
          }
        });
  });
}

TEST_CASE("law: predictive means are the means of the predictive density") {
  bhclust::for_each_family([](auto tag) {
    using family_type = typename decltype(tag)::type;
    for_each_example_of<family_type>(
        rounds, rows, most_columns<family_type>(),
        [&](random_source& random, const family_type& drawn, const table& X) {
          if (X.sparse()) return;
          const auto family = with_means(drawn);
          const auto model = bhclust::bind(family, X.view());
          for (const int past : {0, 6}) {
            CAPTURE(past);
            const auto cluster = arbitrary_state(random, model, X, past);
            const density p(model, cluster.t);
            index_t size = 0;
            for (index_t j = 0; j < X.columns(); ++j) size += model.mean_size(j);
            std::vector<double> found(at(size), -1.0);
            model.predictive_mean(cluster.t.data(), found.data());
            const double* mean = found.data();
            for (index_t j = 0; j < X.columns(); ++j) {
              for (const double wanted :
                   means_over_domain(family, X.columns(), j, model.mean_size(j), p)) {
                CHECK(near(*mean++, wanted, 1.0, 1e-7));
              }
            }
          }
        });
  });
}

TEST_CASE("law: priors without a mean of counts and waiting times have an infinite one") {
  const auto mean_of = [](const auto& family) {
    const auto model = bhclust::bind(family, 1);
    double mean = 0.0;
    model.predictive_mean(nothing(model).data(), &mean);
    return mean;
  };
  bhclust::ExponentialGamma waits;
  bhclust::GeometricBeta counts;
  bhclust::NegativeBinomialBeta more;
  for (const double a : {0.3, 1.0}) {
    waits.shape = a;
    counts.a = a;
    more.a = a;
    CHECK(mean_of(waits) == infinite);
    CHECK(mean_of(counts) == infinite);
    CHECK(mean_of(more) == infinite);
  }
}

TEST_CASE("law: the density of a row with correlated columns integrates to one") {
  for (int round = 0; round < 4; ++round) {
    CAPTURE(round);
    random_source random(static_cast<std::uint64_t>(round));
    bhclust::NormalInverseWishart family;
    family.mean = {random.uniform(-0.3, 0.3), random.uniform(-0.3, 0.3)};
    family.nu = 6.0;
    family.psi = random_covariance(random, 2, 6.0);
    std::vector<double> cells;
    for (index_t e = 0; e < 2 * rows; ++e) cells.push_back(random.normal());
    const table X(cells, 2);
    const auto model = bhclust::bind(family, X.view());
    for (const int past : {0, 6}) {
      CAPTURE(past);
      const auto cluster = arbitrary_state(random, model, X, past);
      const density p(model, cluster.t);
      const double total = integral_over_line(0.12, 12.0, [&](double x) {
        return integral_over_line(0.12, 12.0, [&](double y) { return p({x, y}); });
      });
      CHECK(near(total, 1.0, 1.0, 1e-6));
    }
  }
}

// One more row of a cluster: its mean and its draws, against the predictive density of every
// family.
#include "clusters.hpp"
#include "refusals.hpp"
#include "slow_family.hpp"
#include "tables.hpp"
#include "typed_examples.hpp"
#include <bhclust/any_family.hpp>
#include <bhclust/detail/random.hpp>
#include <bhclust/families.hpp>
#include <bhclust/family.hpp>
#include <bhclust/product.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <string>
#include <type_traits>
#include <vector>

using namespace testkit;
using bhclust::any_family;
using bhclust::cell;

namespace {

using row = std::vector<double>;

/// A density to compare with, of cells one by one, whose draws need nothing of the library.
template <class Family>
class proposal {
 public:
  proposal(const Family& family, index_t columns, double total)
      : family_(family), columns_(columns), total_(total) {}

  row draw(random_source& random) const {
    row x(at(columns_), 0.0);
    if constexpr (std::is_same_v<Family, bhclust::MultinomialDirichlet>) {
      for (double k = 0.0; k < total_; k += 1.0) x[at(random.below(columns_))] += 1.0;
    } else if constexpr (std::is_same_v<Family, bhclust::VonMisesFisher>) {
      for (double& c : x) c = random.normal();
      normalise(x.data(), columns_);
    } else {
      for (index_t j = 0; j < columns_; ++j) x[at(j)] = draw_cell(random, j);
    }
    return x;
  }

  double log_density(const row& x) const {
    double sum = 0.0;
    if constexpr (std::is_same_v<Family, bhclust::MultinomialDirichlet>) {
      sum = std::lgamma(total_ + 1.0) - total_ * std::log(static_cast<double>(columns_));
      for (const double c : x) sum -= std::lgamma(c + 1.0);
    } else if constexpr (std::is_same_v<Family, bhclust::VonMisesFisher>) {
      sum = -bhclust::detail::log_sphere_area(columns_);
    } else {
      for (index_t j = 0; j < columns_; ++j) sum += log_cell(j, x[at(j)]);
    }
    return sum;
  }

 private:
  static constexpr double scale = 3.0;

  double levels(index_t j) const {
    if constexpr (std::is_same_v<Family, bhclust::CategoricalDirichlet>) {
      return family_.levels[j];
    } else {
      static_cast<void>(j);
      return 2.0;
    }
  }

  double draw_cell(random_source& random, index_t j) const {
    const double u = random.uniform();
    switch (family_.takes().cells) {
      case cell::real:
        return scale * std::tan(3.14159265358979323846 * (u - 0.5));
      case cell::positive:
        return scale * u / (1.0 - u);
      case cell::count:
        return std::floor(scale * u / (1.0 - u));
      case cell::bit:
      case cell::code:
        return std::floor(levels(j) * u);
    }
    return 0.0;
  }

  double log_cell(index_t j, double x) const {
    switch (family_.takes().cells) {
      case cell::real:
        return -std::log(3.14159265358979323846 * scale * (1.0 + x * x / (scale * scale)));
      case cell::positive:
        return std::log(scale) - 2.0 * std::log(scale + x);
      case cell::count:
        return std::log(scale) - std::log(scale + x) - std::log(scale + x + 1.0);
      case cell::bit:
      case cell::code:
        return -std::log(levels(j));
    }
    return 0.0;
  }

  const Family& family_;
  index_t columns_;
  double total_;
};

/// Bounded functions of a row: 1, each cell, each pair of cells.
std::vector<double> features(const row& x) {
  std::vector<double> all{1.0};
  for (std::size_t j = 0; j < x.size(); ++j) {
    const double one = std::tanh(0.5 * x[j] - 0.3);
    all.push_back(one);
    for (std::size_t k = 0; k < j; ++k) all.push_back(one * std::tanh(0.5 * x[k] - 0.3));
  }
  return all;
}

class averages {
 public:
  void add(const std::vector<double>& values, double weight) {
    sum_.resize(values.size(), 0.0);
    square_.resize(values.size(), 0.0);
    for (std::size_t i = 0; i < values.size(); ++i) {
      sum_[i] += weight * values[i];
      square_[i] += weight * weight * values[i] * values[i];
    }
    n_ += 1.0;
  }
  std::size_t size() const { return sum_.size(); }
  double mean(std::size_t i) const { return sum_[i] / n_; }
  double square_error(std::size_t i) const {
    return std::max(0.0, square_[i] / n_ - mean(i) * mean(i)) / n_;
  }

 private:
  std::vector<double> sum_, square_;
  double n_ = 0.0;
};

/// For densities p and q and any function f, E_p f q / (p + q) = E_q f p / (p + q).
void check_same(const averages& from_p, const averages& from_q) {
  constexpr double farthest = 5.0;
  for (std::size_t i = 0; i < from_p.size(); ++i) {
    CAPTURE(i);
    const double error = std::sqrt(from_p.square_error(i) + from_q.square_error(i));
    CHECK(std::fabs(from_p.mean(i) - from_q.mean(i)) <= farthest * error + 1e-12);
  }
}

/// A user's family in one struct: bits whose probability of a one is ½, as codes of two levels.
struct coin {
  static index_t width(index_t /*columns*/) { return 1; }
  static void observe(const bhclust::row_view& /*row*/, double* t) { t[0] += 1.0; }
  static double log_marginal(const double* t) { return -std::log(2.0) * t[0]; }
  static index_t mean_size(index_t /*column*/) { return 2; }
  static void predictive_mean(const double* /*t*/, double* out) { out[0] = out[1] = 0.5; }
  static void sample(const double* /*t*/, bhclust::detail::random_source& random, double* out) {
    out[0] = random.uniform() < 0.5 ? 0.0 : 1.0;
  }
  static void column_terms(const double* t, const index_t* /*order*/, double* out) {
    out[0] = log_marginal(t);
  }
};

template <class Model>
double log_joins(const Model& model, const statistics& t, const row& x) {
  auto more = t;
  model.observe(bhclust::row_view(x.data(), count(x)), more.data());
  return log_marginal(model, more) - log_marginal(model, t);
}

}  // namespace

TEST_CASE("prediction: draws have the predictive density, every family") {
  constexpr int draws = 3000;
  bhclust::for_each_family([](auto tag) {
    using family_type = typename decltype(tag)::type;
    for_each_example_of<family_type>(
        4, 12, 4, [&](random_source& random, const family_type& family, const table& X) {
          if (X.sparse()) return;
          const auto model = bhclust::bind(family, X.view());
          for (const int past : {0, 6}) {
            CAPTURE(past);
            const auto t = arbitrary_state(random, model, X, past).t;
            const double total = 7.0;
            const proposal<family_type> q(family, X.columns(), total);
            bhclust::detail::random_source source(42);
            averages from_p, from_q;
            for (int i = 0; i < draws; ++i) {
              row x(at(X.columns()), 0.0);
              x[0] = total;
              model.sample(t.data(), source, x.data());
              const row y = q.draw(random);
              const double gap_x = q.log_density(x) - log_joins(model, t, x);
              const double gap_y = log_joins(model, t, y) - q.log_density(y);
              from_p.add(features(x), bhclust::detail::sigmoid(gap_x));
              from_q.add(features(y), bhclust::detail::sigmoid(gap_y));
            }
            check_same(from_p, from_q);
          }
        });
  });
}

TEST_CASE("prediction: draws lie in the family's domain, whatever the prior") {
  bhclust::for_each_family([](auto tag) {
    using family_type = typename decltype(tag)::type;
    for_each_example_of<family_type>(
        2, 8, 3, [&](random_source& random, const family_type& drawn, const table& X) {
          family_type family = drawn;
          for (const auto& field : family_type::parameters()) {
            const bool free = field.values == bhclust::range::positive &&
                              !std::is_same_v<family_type, bhclust::NormalInverseWishart>;
            if (free) family.*field.member = std::pow(10.0, random.uniform(-6.0, 6.0));
          }
          const auto model = bhclust::bind(family, X.view());
          const auto t = arbitrary_state(random, model, X, random.chance(0.5) ? 0 : 3).t;
          bhclust::detail::random_source source(7);
          for (int i = 0; i < 50; ++i) {
            row x(at(X.columns()), 1.0);
            model.sample(t.data(), source, x.data());
            const table one(x, X.columns());
            CHECK_NOTHROW(bhclust::check_data(family, one.view()));
          }
        });
  });
}

TEST_CASE("prediction: the same draws for a seed, others for another") {
  const bhclust::NormalInverseGamma family;
  const auto model = bhclust::bind(family, 3);
  const auto t = nothing(model);
  const auto draw = [&](std::uint64_t seed) {
    bhclust::detail::random_source source(seed);
    row x(3, 0.0);
    model.sample(t.data(), source, x.data());
    return x;
  };
  CHECK(draw(1) == draw(1));
  CHECK(draw(1) != draw(2));
  // pinned: the same on every platform
  const row pinned = draw(1);
  CHECK(near(pinned[0], 1.55386434355, 1.0, 1e-10));
  CHECK(near(pinned[1], -2.59436337395, 1.0, 1e-10));
  CHECK(near(pinned[2], -1.211535267, 1.0, 1e-10));
}

TEST_CASE("prediction: a multinomial row keeps the total it comes with") {
  bhclust::MultinomialDirichlet family;
  family.concentration = {0.2, 3.0, 1e-4};
  const auto model = bhclust::bind(family, 3);
  auto t = nothing(model);
  bhclust::detail::random_source source(3);
  for (const double total : {0.0, 1.0, 12.0, 1e6}) {
    row x{0.0, total, 0.0};
    model.sample(t.data(), source, x.data());
    CHECK(x[0] + x[1] + x[2] == total);
  }
}

TEST_CASE("prediction: a product's means and draws are its blocks', NaN where there is none") {
  bhclust::CategoricalDirichlet codes;
  codes.levels = {3.0, 2.0};
  bhclust::Product family;
  family.blocks = {
      {codes, {4, 1}}, {bhclust::PoissonGamma{}, {3}}, {bhclust::NormalInverseWishart{}, {0}}};
  const table X({0.5, 1.0, 9.0, 4.0, 2.0,  //
                 0.1, 0.0, 9.0, 6.0, 2.0},
                5);
  const any_family erased(family);
  const auto model = bhclust::bind(erased, X.view());
  const auto t = observed(model, X, {0, 1});
  CHECK(model.mean_size(0) == 1);
  CHECK(model.mean_size(1) == 2);
  CHECK(model.mean_size(4) == 3);
  std::vector<double> mean(8, -1.0);
  model.predictive_mean(t.data(), mean.data());
  CHECK(near(mean[0], 0.2));
  CHECK(near(mean[1], 0.5));
  CHECK(near(mean[2], 0.5));
  CHECK(std::isnan(mean[3]));
  CHECK(near(mean[4], 11.0 / 3.0));
  CHECK(near(mean[5], 0.2));
  CHECK(near(mean[6], 0.2));
  CHECK(near(mean[7], 0.6));
  bhclust::detail::random_source source(5);
  row x{1.0, 1.0, 1.0, 1.0, 1.0};
  model.sample(t.data(), source, x.data());
  CHECK(std::isnan(x[2]));
  CHECK(x[1] <= 1.0);
  CHECK(x[4] <= 2.0);
  CHECK(x[3] == std::floor(x[3]));
  CHECK(x[0] != std::floor(x[0]));
}

TEST_CASE("prediction: a user's own family in one struct") {
  const auto model = bhclust::bind(any_family(coin{}), 1);
  const statistics t{3.0};
  CHECK(model.mean_size(0) == 2);
  row mean(2, -1.0), x(1, -1.0), part(1, 0.0);
  model.predictive_mean(t.data(), mean.data());
  CHECK(mean == row{0.5, 0.5});
  bhclust::detail::random_source source(1);
  model.sample(t.data(), source, x.data());
  CHECK((x[0] == 0.0 || x[0] == 1.0));
  model.column_terms(t.data(), nullptr, part.data());
  CHECK(part[0] == log_marginal(model, t));
}

TEST_CASE("prediction: refusals of families that lack the members") {
  const testkit::slow_family family;
  const auto model = bhclust::bind(any_family(family), 1);
  const auto t = nothing(model);
  double x = 0.0;
  bhclust::detail::random_source source(1);
  CHECK(model.mean_size(0) == 1);
  check_refused([&] { model.predictive_mean(t.data(), &x); },
                {"has no predictive mean, which imputation needs; add predictive_mean"});
  check_refused([&] { model.sample(t.data(), source, &x); },
                {"draws no rows, which sampling needs; add sample"});
  check_refused([&] { model.column_terms(t.data(), nullptr, &x); },
                {"has no terms by column, which explaining needs; add column_terms"});
}

#include "gaussian_tables.hpp"
#include "golden.hpp"
#include <bhclust/detail/symmetric_eigen.hpp>
#include <bhclust/family/gaussian_process.hpp>
#include <bhclust/inference/curve.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

using bhclust::GaussianProcess;
using bhclust::index_t;
using gaussian::table;

namespace {

const double nan_cell = std::numeric_limits<double>::quiet_NaN();
constexpr bhclust::time_kernel kernels[] = {bhclust::squared_exponential, bhclust::matern32,
                                            bhclust::matern52, bhclust::cubic_spline};

GaussianProcess smooth(bhclust::time_kernel kernel = bhclust::squared_exponential) {
  GaussianProcess family;
  family.kernel = kernel;
  family.length_scale = 2.0;
  family.amplitude = 4.0;
  family.noise = 0.5;
  return family;
}

template <class Model>
std::vector<double> pooled(const Model& model, const table& t) {
  std::vector<double> cluster(static_cast<std::size_t>(model.width()), 0.0);
  for (index_t i = 0; i < t.view().rows(); ++i) model.observe(t.view().row(i), cluster.data());
  return cluster;
}

double log_marginal(const GaussianProcess& family, const table& t) {
  const auto model = bhclust::bind(family, t.view());
  return model.log_marginal(pooled(model, t).data());
}

}  // namespace

TEST_CASE("symmetric eigen: rebuilds matrices, graded, equal and empty ones too") {
  for (const index_t d : {1, 2, 3, 8, 40}) {
    for (const double grade : {1.0, 0.1, 1e-3}) {
      CAPTURE(d);
      CAPTURE(grade);
      std::vector<double> a(static_cast<std::size_t>(d * d));
      for (index_t i = 0; i < d; ++i) {
        for (index_t j = 0; j < d; ++j) {
          const auto x = static_cast<double>(i + j);
          a[static_cast<std::size_t>(i * d + j)] = std::pow(grade, x) * std::cos(x * x);
        }
      }
      const auto system = bhclust::detail::eigen_of(a, d);
      for (index_t i = 0; i < d; ++i) {
        for (index_t j = 0; j < d; ++j) {
          double rebuilt = 0.0;
          double overlap = 0.0;
          for (index_t k = 0; k < d; ++k) {
            const double* u = system.vectors.data() + k * d;
            rebuilt += system.values[static_cast<std::size_t>(k)] * u[i] * u[j];
            overlap += system.vectors[static_cast<std::size_t>(i * d + k)] *
                       system.vectors[static_cast<std::size_t>(j * d + k)];
          }
          CHECK(std::fabs(rebuilt - a[static_cast<std::size_t>(i * d + j)]) < 1e-12);
          CHECK(std::fabs(overlap - (i == j ? 1.0 : 0.0)) < 1e-12);
        }
      }
    }
  }
  const auto nothing = bhclust::detail::eigen_of(std::vector<double>(9, 0.0), 3);
  CHECK(nothing.values == std::vector<double>(3, 0.0));
  const auto ones = bhclust::detail::eigen_of(std::vector<double>(16, 1.0), 4);
  double sum = 0.0;
  for (const double x : ones.values) sum += x;
  CHECK(sum == doctest::Approx(4.0).epsilon(1e-14));
}

TEST_CASE("GaussianProcess: golden values") { golden::check<GaussianProcess>("gaussian_process"); }

TEST_CASE("GaussianProcess: a cell that is missing takes the exact way to the same values") {
  // a column that no row has seen makes the cluster incomplete
  for (const auto kernel : kernels) {
    const auto t = gaussian::mixture(20, 5, 3);
    std::vector<double> wide;
    for (index_t i = 0; i < 20; ++i) {
      for (index_t j = 0; j < 5; ++j) wide.push_back(t.cells[static_cast<std::size_t>(i * 5 + j)]);
      wide.push_back(nan_cell);
    }
    auto family = smooth(kernel);
    family.times = {0.0, 1.0, 1.5, 4.0, 4.0};
    auto wider = family;
    wider.times = {0.0, 1.0, 1.5, 4.0, 4.0, 2.0};
    const double wanted = log_marginal(family, t);
    const double found = log_marginal(wider, {"wide", 20, 6, wide});
    CHECK(found == doctest::Approx(wanted).epsilon(1e-14));
  }
}

TEST_CASE("GaussianProcess: a million rows, complete or not") {
  // at one time p is that of known variance; two equal times are one with both times' values
  for (const double amplitude : {1e-6, 1.0, 1e6}) {
    CAPTURE(amplitude);
    GaussianProcess family;
    family.times = {3.0, 3.0};
    family.amplitude = amplitude;
    family.noise = 0.5;
    family.mean = 0.25;
    const auto model = bhclust::bind(family, 2);
    const double n = 1e6;
    for (const double more : {0.0, 1.0}) {
      CAPTURE(more);
      const double t[] = {n, 1.5, 0.0, 6e5, n + more, 1.5, 0.0, 6e5};
      const long double count = 2.0L * n + more;
      const long double v = 0.5L + count * static_cast<long double>(amplitude);
      const long double wanted = -0.5L * (count * logl(2.0L * 3.14159265358979323846264338328L) +
                                          (count - 1.0L) * logl(0.5L) + logl(v) + 12e5L / 0.5L +
                                          count * 1.25L * 1.25L / v);
      CHECK(model.log_marginal(t) == doctest::Approx(static_cast<double>(wanted)).epsilon(1e-14));
    }
  }
}

TEST_CASE("GaussianProcess: time has no place, no direction and no unit of its own") {
  const auto t = gaussian::mixture(15, 4, 5);
  for (const auto kernel : kernels) {
    auto family = smooth(kernel);
    family.times = {0.0, 1.0, 2.5, 3.0};
    const double wanted = log_marginal(family, t);
    family.times = {100.0, 99.0, 97.5, 97.0};
    CHECK(log_marginal(family, t) == doctest::Approx(wanted).epsilon(1e-13));
    for (const double unit : {1e-150, 1e140}) {
      family.times = {0.0, unit, 2.5 * unit, 3.0 * unit};
      family.length_scale = 2.0 * unit;
      CHECK(log_marginal(family, t) == doctest::Approx(wanted).epsilon(1e-13));
    }
  }
}

TEST_CASE("GaussianProcess: hyperparameters at the ends of their ranges") {
  auto t = gaussian::mixture(12, 6, 6);
  for (int holes = 0; holes < 2; ++holes) {
    if (holes == 1) t.cells[7] = nan_cell;
    for (const auto kernel : kernels) {
      for (const double length : {1e-300, 1e-3, 1e300}) {
        for (const double amplitude : {1e-300, 1e150, 1e300}) {
          CAPTURE(length);
          CAPTURE(amplitude);
          auto family = smooth(kernel);
          family.length_scale = length;
          family.amplitude = amplitude;
          if (kernel == bhclust::cubic_spline && (length < 1.0 || amplitude > 1e290)) continue;
          CHECK(std::isfinite(log_marginal(family, t)));
        }
      }
    }
  }
}

TEST_CASE("GaussianProcess: divergence is Ward's cost") {
  gaussian::check_divergence<GaussianProcess>(1e-13);
  // the unit of the cells, one for all columns, does not matter
  const auto t = gaussian::mixture(20, 3, 12);
  const auto of = [](const table& u) {
    const auto model = bhclust::bind(GaussianProcess::from_data(u.view()), u.view());
    std::vector<double> a(static_cast<std::size_t>(model.width()), 0.0), b(a), scratch(a);
    for (index_t i = 0; i < u.n; ++i)
      model.observe(u.view().row(i), i % 3 == 0 ? a.data() : b.data());
    return model.divergence(a.data(), b.data(), scratch.data());
  };
  CHECK(of(gaussian::shifted(t, "tiny", 1e-30, 0.0)) == doctest::Approx(of(t)).epsilon(1e-12));
  CHECK(of(gaussian::shifted(t, "huge", 1e30, 7.0)) == doctest::Approx(of(t)).epsilon(1e-12));
}

TEST_CASE("GaussianProcess: fast scores are the plain ones") {
  for (const index_t d : {1, 3, 8, 17}) {
    for (const auto& t : gaussian::hard(45, d)) {
      gaussian::check_store(GaussianProcess::from_data(t.view()), t, 1e-9);
    }
  }
  const auto t = gaussian::mixture(90, 5, 31);
  for (const auto kernel : kernels) {
    gaussian::check_trees(smooth(kernel), t);
    gaussian::check_store(smooth(kernel), t, 1e-9);
  }
}

TEST_CASE("GaussianProcess: tables with holes, and what the fast scores take") {
  auto t = gaussian::mixture(40, 4, 32);
  const auto family = GaussianProcess::from_data(t.view());
  using model = bhclust::detail::gaussian_process_model;
  using kernel = bhclust::detail::gaussian_process_kernel<model>;
  CHECK(kernel::takes(family.bind(4), t.view()));
  for (std::size_t c = 0; c < t.cells.size(); c += 5) t.cells[c] = nan_cell;
  CHECK_FALSE(kernel::takes(family.bind(4), t.view()));
  using holes_kernel = bhclust::detail::gaussian_process_holes_kernel<model>;
  CHECK(holes_kernel::takes(family.bind(4), t.view()));
  gaussian::check_store(family, t, 1e-9);
  gaussian::check_trees(family, t);
  for (const auto kind : kernels) gaussian::check_store(smooth(kind), t, 1e-9);
  // where rounding would show, the slow and exact way is left
  auto certain = family;
  certain.noise = 1e-12;
  CHECK_FALSE(holes_kernel::takes(certain.bind(4), t.view()));
  for (auto hard : gaussian::hard(45, 5)) {
    for (std::size_t c = 0; c < hard.cells.size(); c += 7) hard.cells[c] = nan_cell;
    gaussian::check_store(GaussianProcess::from_data(hard.view()), hard, 1e-9);
  }
}

TEST_CASE("GaussianProcess: two rows score the same whichever is asked about the other") {
  using bhclust::detail::evidence_score;
  auto t = gaussian::mixture(30, 5, 33);
  for (int holes = 0; holes < 2; ++holes) {
    for (std::size_t c = 0; holes == 1 && c < t.cells.size(); c += 7) t.cells[c] = nan_cell;
    const auto store =
        bhclust::detail::make_store<evidence_score>(bhclust::bind(smooth(), t.view()), t.view());
    std::decay_t<decltype(store)>::query q;
    std::vector<std::vector<double>> gains(30, std::vector<double>(30));
    for (index_t a = 0; a < 30; ++a) {
      store.load(q, a);
      store.row(q, 0, 30, gains[static_cast<std::size_t>(a)].data());
    }
    for (std::size_t a = 0; a < 30; ++a) {
      for (std::size_t b = 0; b < a; ++b) CHECK(gains[a][b] == gains[b][a]);
    }
  }
}

TEST_CASE("GaussianProcess: defaults for any table") {
  for (const auto& t : gaussian::odd_tables()) gaussian::check_defaults<GaussianProcess>(t);
  gaussian::check_defaults<GaussianProcess>(
      {"holes", 3, 2, {1.0, nan_cell, nan_cell, nan_cell, 2.0, nan_cell}});
  GaussianProcess design;
  design.times = {5.0, 1.0, 9.0};
  design.kernel = bhclust::matern52;
  const auto t = gaussian::mixture(30, 3, 7);
  const auto family = GaussianProcess::from_data(t.view(), design);
  CHECK(family.times == design.times);
  CHECK(family.kernel == design.kernel);
  CHECK(family.length_scale == bhclust::parameter(2.0));
  CHECK(family.mean.rank() == 0);
}

TEST_CASE("GaussianProcess: curves between, at and beyond the times") {
  const double cells[] = {1.0, 2.0, nan_cell, 4.0, 1.5, nan_cell, nan_cell, 3.0};
  const auto X = bhclust::rows(cells, 2, 4);
  for (const auto kernel : kernels) {
    CAPTURE(static_cast<int>(kernel));
    auto family = smooth(kernel);
    family.times = {0.0, 1.0, 2.0, 4.0};
    family.mean = {0.5, 0.5, 1.5, 1.5};
    const auto found = bhclust::curve_of(family, X, {-50.0, 0.0, 1.5, 2.0, 60.0});
    CHECK(found.variance[1] < found.variance[3]);
    CHECK(found.variance[3] < found.variance[4]);
    if (kernel != bhclust::cubic_spline) {
      CHECK(found.mean[0] == doctest::Approx(0.5));
      CHECK(found.mean[4] == doctest::Approx(1.5));
      CHECK(found.variance[0] == doctest::Approx(4.0));
    }
    // a new value at a time multiplies p by its normal density about the curve
    for (const auto& [column, x] : {std::pair<index_t, double>{2, 2.75}, {1, -1.0}}) {
      const auto at = static_cast<std::size_t>(column + (column == 2 ? 1 : 0));
      double more[] = {nan_cell, nan_cell, nan_cell, nan_cell};
      more[column] = x;
      const auto model = bhclust::bind(family, X);
      std::vector<double> t(static_cast<std::size_t>(model.width()), 0.0);
      model.observe(X.row(0), t.data());
      model.observe(X.row(1), t.data());
      const double before = model.log_marginal(t.data());
      model.observe(bhclust::row_view(more, 4), t.data());
      const auto curve = column == 2 ? found : bhclust::curve_of(family, X, {0.0, 1.0});
      const std::size_t place = column == 2 ? at : 1;
      const double v = curve.variance[place] + 0.5;
      const double off = x - curve.mean[place];
      const double wanted = -0.5 * (std::log(2.0 * 3.14159265358979323846 * v) + off * off / v);
      CHECK(model.log_marginal(t.data()) - before == doctest::Approx(wanted).epsilon(1e-12));
    }
  }
}

TEST_CASE("GaussianProcess: the next row's mean is the curve, complete or not") {
  const double cells[] = {1.0, 2.0, 2.5, 4.0, 1.5, 0.25, -1.0, 3.0};
  const double holes[] = {1.0, 2.0, nan_cell, 4.0, 1.5, nan_cell, nan_cell, 3.0};
  for (const auto kernel : kernels) {
    CAPTURE(static_cast<int>(kernel));
    auto family = smooth(kernel);
    family.times = {0.0, 1.0, 2.0, 4.0};
    family.mean = {0.5, -0.5, 1.5, 1.5};
    for (const auto* all : {cells, holes}) {
      const auto X = bhclust::rows(all, 2, 4);
      const auto model = bhclust::bind(family, X);
      std::vector<double> t(static_cast<std::size_t>(model.width()), 0.0), mean(4, 0.0);
      model.observe(X.row(0), t.data());
      model.observe(X.row(1), t.data());
      model.predictive_mean(t.data(), mean.data());
      const auto curve = bhclust::curve_of(family, X, {0.0, 1.0, 2.0, 4.0});
      for (std::size_t j = 0; j < 4; ++j) {
        CHECK(mean[j] == doctest::Approx(curve.mean[j]).epsilon(1e-12));
      }
    }
  }
}

TEST_CASE("GaussianProcess: draws go through what was measured without noise") {
  // at a smooth kernel's near times the curve's covariance is singular in double
  const double cells[] = {1.0, 1.0, 1.0, 1.0, 1.0};
  const double holes[] = {1.0, nan_cell, 1.0, nan_cell, 1.0};
  for (const auto kernel : kernels) {
    CAPTURE(static_cast<int>(kernel));
    auto family = smooth(kernel);
    family.times = {0.0, 0.01, 0.02, 0.03, 0.04};
    family.noise = 1e-12;
    for (const auto* all : {cells, holes}) {
      const auto X = bhclust::rows(all, 1, 5);
      const auto model = bhclust::bind(family, X);
      std::vector<double> t(static_cast<std::size_t>(model.width()), 0.0), row(5, 0.0);
      model.observe(X.row(0), t.data());
      bhclust::detail::random_source random(11);
      for (int draw = 0; draw < 20; ++draw) {
        model.sample(t.data(), random, row.data());
        for (std::size_t j = 0; j < 5; j += 2) CHECK(std::fabs(row[j] - 1.0) < 1e-5);
        CHECK(std::fabs(row[1] - 1.0) < 0.05);
      }
    }
  }
}

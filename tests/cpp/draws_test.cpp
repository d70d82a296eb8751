// Random numbers of the distributions, against their probabilities and moments.
#include <bhclust/detail/draws.hpp>
#include <bhclust/detail/special.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <vector>

using namespace bhclust::detail;

namespace {

constexpr int draws = 20000;
constexpr double farthest = 4.5;  // standard errors: one in 150,000 by chance, and seeds are fixed

std::vector<double> many(std::uint64_t seed, const std::function<double(random_source&)>& draw) {
  random_source random(seed);
  std::vector<double> all;
  for (int i = 0; i < draws; ++i) all.push_back(draw(random));
  return all;
}

double mean(const std::vector<double>& x) {
  double sum = 0.0;
  for (const double v : x) sum += v;
  return sum / static_cast<double>(x.size());
}

double variance(const std::vector<double>& x) {
  const double m = mean(x);
  double sum = 0.0;
  for (const double v : x) sum += (v - m) * (v - m);
  return sum / static_cast<double>(x.size());
}

void check_moments(const std::vector<double>& x, double expected, double spread) {
  CHECK(std::fabs(mean(x) - expected) < farthest * std::sqrt(spread / draws));
  // the relative error of a variance, for kurtoses up to 10
  CHECK(variance(x) == doctest::Approx(spread).epsilon(farthest * std::sqrt(9.0 / draws)));
}

/// Kolmogorov & Smirnov's distance from a distribution function.
void check_distribution(std::vector<double> x, const std::function<double(double)>& below) {
  std::sort(x.begin(), x.end());
  double distance = 0.0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double p = below(x[i]);
    distance = std::max(
        {distance, p - static_cast<double>(i) / draws, static_cast<double>(i + 1) / draws - p});
  }
  CHECK(distance * std::sqrt(draws) < 2.2);  // one in 8,000 by chance
}

/// Pearson's sum over counts that are expected five times or more, the rest as one.
void check_counts(const std::vector<double>& x, const std::function<double(double)>& log_mass) {
  const double last = *std::max_element(x.begin(), x.end());
  double sum = 0.0;
  double cells = 0.0;
  double rest = 1.0;
  double others = draws;
  for (double k = 0.0; k <= last; k += 1.0) {
    const double p = std::exp(log_mass(k));
    if (p * draws < 5.0) continue;
    const auto seen = static_cast<double>(std::count(x.begin(), x.end(), k));
    sum += (seen - p * draws) * (seen - p * draws) / (p * draws);
    cells += 1.0;
    rest -= p;
    others -= seen;
  }
  CHECK(std::fabs(others - rest * draws) < farthest * std::sqrt(draws * std::max(rest, 1e-3)));
  CHECK(sum < cells + farthest * std::sqrt(2.0 * cells) + 5.0);
}

double log_binomial_mass(double n, double p, double k) {
  if (k > n) return -infinity;
  return std::lgamma(n + 1.0) - std::lgamma(k + 1.0) - std::lgamma(n - k + 1.0) + k * std::log(p) +
         (n - k) * std::log1p(-p);
}

}  // namespace

TEST_CASE("draws: normal") {
  check_distribution(many(1, draw_normal),
                     [](double x) { return 0.5 * std::erfc(-x / std::sqrt(2.0)); });
}

TEST_CASE("draws: Gamma of every shape, by its logarithm") {
  for (const double shape : {1e-3, 0.3, 0.99, 1.0, 2.5, 40.0, 1e6, 1e14}) {
    CAPTURE(shape);
    const double step = 1e-4 * shape;
    const double spread = digamma_ratio(shape, step) / step;  // near ψ'(shape), 0.01% off
    check_moments(many(2, [&](random_source& r) { return draw_log_gamma(r, shape); }),
                  digamma(shape), spread);
  }
  check_distribution(many(3, [](random_source& r) { return std::exp(draw_log_gamma(r, 1.0)); }),
                     [](double x) { return -std::expm1(-x); });
  check_distribution(many(4, [](random_source& r) { return std::exp(draw_log_gamma(r, 0.5)); }),
                     [](double x) { return std::erf(std::sqrt(x)); });
}

TEST_CASE("draws: Beta, and its complement to its own digits") {
  check_distribution(
      many(5, [](random_source& r) { return draw_beta(r, 0.5, 0.5).p; }),
      [](double x) { return 2.0 / 3.14159265358979323846 * std::asin(std::sqrt(x)); });
  check_distribution(many(6, [](random_source& r) { return draw_beta(r, 3.0, 1.0).p; }),
                     [](double x) { return x * x * x; });
  check_distribution(many(7, [](random_source& r) { return draw_beta(r, 1.0, 2.0).rest; }),
                     [](double x) { return x * x; });
  random_source random(8);
  for (int i = 0; i < 1000; ++i) {
    const auto s = draw_beta(random, 1e-3, 2.0);
    CHECK(s.p >= 0.0);
    CHECK(s.rest > 0.0);
    CHECK(s.p + s.rest == doctest::Approx(1.0));
  }
}

TEST_CASE("draws: binomial") {
  for (const double n : {0.0, 1.0, 7.0, 40.0, 1000.0}) {
    for (const double p : {0.004, 0.3, 0.5, 0.97}) {
      CAPTURE(n);
      CAPTURE(p);
      check_counts(many(9, [&](random_source& r) { return draw_binomial(r, n, p); }),
                   [&](double k) { return log_binomial_mass(n, p, k); });
    }
  }
  for (const double n : {1e9, 9e15}) {
    const double p = 0.3;
    check_moments(many(10, [&](random_source& r) { return draw_binomial(r, n, p) - n * p; }), 0.0,
                  n * p * (1.0 - p));
  }
  random_source random(11);
  CHECK(draw_binomial(random, 50.0, 0.0) == 0.0);
  CHECK(draw_binomial(random, 50.0, 1.0) == 50.0);
}

TEST_CASE("draws: Poisson") {
  for (const double rate : {1e-3, 0.7, 11.9, 12.1, 60.0, 900.0}) {
    CAPTURE(rate);
    check_counts(many(12, [&](random_source& r) { return draw_poisson(r, rate); }),
                 [&](double k) { return k * std::log(rate) - rate - std::lgamma(k + 1.0); });
  }
  for (const double rate : {1e6, 1e12}) {
    check_moments(many(13, [&](random_source& r) { return draw_poisson(r, rate) - rate; }), 0.0,
                  rate);
  }
  random_source random(14);
  CHECK(draw_poisson(random, 0.0) == 0.0);
  CHECK(draw_poisson(random, infinity) <= most_drawn);
  random_source pinned(1);  // the same on every platform
  CHECK(draw_poisson(pinned, 1000.0) == 993.0);
  CHECK(draw_binomial(pinned, 1000.0, 0.3) == 310.0);
}

TEST_CASE("draws: indices by weight") {
  const std::vector<double> weight{0.0, 2.0, 0.0, 1.0, 5.0, 0.0};
  check_counts(many(15,
                    [&](random_source& r) {
                      return static_cast<double>(draw_index(r, 6, 8.0, [&](bhclust::index_t i) {
                        return weight[static_cast<std::size_t>(i)];
                      }));
                    }),
               [&](double k) { return std::log(weight[static_cast<std::size_t>(k)] / 8.0); });
}

TEST_CASE("draws: directions about a mean") {
  const double pi = 3.14159265358979323846;
  for (const bhclust::index_t d : {1, 2, 3, 12}) {
    for (const double kappa : {0.0, 0.05, 2.0, 300.0, 1e8}) {
      CAPTURE(d);
      CAPTURE(kappa);
      std::vector<double> centre(static_cast<std::size_t>(d), 0.0);
      centre[0] = d == 1 ? -1.0 : 0.6;
      if (d > 1) centre[1] = -0.8;
      std::vector<double> x(centre), scratch(centre);
      const auto along = many(16, [&](random_source& r) {
        x = centre;
        draw_direction(r, kappa, d, x.data(), scratch.data());
        double square = 0.0;
        double cosine = 0.0;
        for (std::size_t j = 0; j < x.size(); ++j) {
          square += x[j] * x[j];
          cosine += x[j] * centre[j];
        }
        REQUIRE(std::fabs(square - 1.0) < 1e-12);
        return cosine;
      });
      const double length = bessel_ratio(0.5 * static_cast<double>(d) - 1.0, kappa);
      // d A / d kappa = 1 - A² - (d - 1) A / kappa
      const double slope =
          kappa == 0.0 ? 1.0 / static_cast<double>(d)
                       : 1.0 - length * length - static_cast<double>(d - 1) * length / kappa;
      CHECK(std::fabs(mean(along) - length) <=
            farthest * std::sqrt(std::max(slope, 1e-15) / draws) + 1e-15);
    }
  }
  for (const double kappa : {0.4, 5.0, 1e4}) {
    std::vector<double> x(3), scratch(3);
    // in three dimensions 1 - cosine is a truncated exponential, and the angle around is uniform
    check_distribution(many(17,
                            [&](random_source& r) {
                              x = {0.0, 0.0, 1.0};
                              draw_direction(r, kappa, 3, x.data(), scratch.data());
                              return 1.0 - x[2];
                            }),
                       [&](double v) { return std::expm1(-kappa * v) / std::expm1(-2.0 * kappa); });
    check_distribution(many(18,
                            [&](random_source& r) {
                              x = {0.0, 0.0, 1.0};
                              draw_direction(r, kappa, 3, x.data(), scratch.data());
                              return std::atan2(x[1], x[0]);
                            }),
                       [&](double a) { return 0.5 + 0.5 * a / pi; });
  }
}

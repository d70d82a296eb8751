#include "bhclust/detail/special.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <array>
#include <cmath>
#include <fstream>
#include <string>
#include <vector>

using namespace bhclust::detail;
using bhclust::index_t;
using nlohmann::json;

namespace {

json golden(const std::string& function) {
  std::ifstream file(BHCLUST_TEST_VECTORS "/special.json");
  REQUIRE(file.good());
  json points = json::parse(file).at(function);
  REQUIRE(points.size() >= 100);
  return points;
}

double number(const json& point, const char* key) {
  const json& field = point.at(key);
  return field.is_string() ? std::stod(field.get<std::string>()) : field.get<double>();
}

void check_near(double actual, double expected, double tolerance) {
  CAPTURE(actual);
  CAPTURE(expected);
  CAPTURE(tolerance);
  CHECK(std::fabs(actual - expected) <= tolerance);
}

void check_relative(double actual, double expected, double tolerance) {
  check_near(actual, expected, tolerance * std::fabs(expected));
}

/// Relative for large values, absolute for small ones.
void check_mixed(double actual, double expected, double tolerance) {
  check_near(actual, expected, tolerance * std::fmax(1.0, std::fabs(expected)));
}

/// first, first * ratio, … up to last.
std::vector<double> geometric(double first, double last, double ratio) {
  std::vector<double> grid;
  for (double x = first; x <= last; x *= ratio) grid.push_back(x);
  return grid;
}

double below(double x) { return std::nextafter(x, 0.0); }

/// No jump where an implementation passes from one branch to another at x; `slope` bounds |x f'|.
template <class Function>
void check_continuous(const Function& f, double x, double slope, double tolerance) {
  CAPTURE(x);
  const double here = f(x);
  const double scale = std::fmax(1.0, std::fabs(here));
  const double margin = tolerance * scale + 2.3e-16 * slope;
  check_near(f(below(x)), here, margin);
  check_near(f(std::nextafter(x, infinity)), here, margin);
}

}  // namespace

TEST_CASE("log1p_positive") {
  for (const double t : geometric(1e-300, 1e300, 1.7)) {
    check_relative(log1p_positive(t), std::log1p(t), 5e-16);
  }
  CHECK(log1p_positive(0.0) == 0.0);
}

TEST_SUITE("log_gamma") {
  TEST_CASE("golden values, to 1e-15 of the value also near its zeros") {
    for (const json& p : golden("log_gamma")) {
      CAPTURE(p.dump());
      check_relative(log_gamma(number(p, "x")), number(p, "value"), 1e-15);
    }
  }

  TEST_CASE("factorials") {
    double log_factorial = 0.0;
    for (int n = 1; n <= 170; ++n) {
      check_mixed(log_gamma(n), log_factorial, 2e-15);
      log_factorial += std::log(n);
    }
    CHECK(log_gamma(1.0) == 0.0);
    CHECK(log_gamma(2.0) == 0.0);
  }

  TEST_CASE("gamma(x + 1) = x gamma(x)") {
    for (const double x : geometric(1e-10, 1e4, 1.03)) {
      CAPTURE(x);
      check_mixed(log_gamma(x + 1.0) - log_gamma(x), std::log(x), 1e-15 * std::fmax(1.0, x));
    }
  }

  TEST_CASE("duplication: gamma(x) gamma(x + 1/2) = 2^(1 - 2x) sqrt(pi) gamma(2x)") {
    for (const double x : geometric(1e-3, 1e6, 1.07)) {
      CAPTURE(x);
      check_mixed(log_gamma(x) + log_gamma(x + 0.5) + (2.0 * x - 1.0) * ln_2 - 0.5 * ln_pi,
                  log_gamma(2.0 * x), 2e-15);
    }
  }

  TEST_CASE("limits") {
    constexpr double euler = 0.57721566490153286061;
    for (const double x : geometric(1e-300, 1e-17, 10.0)) {
      CAPTURE(x);
      CHECK(log_gamma(x) == -std::log(x));
    }
    for (const double h : {1e-16, 1e-12, 1e-9}) {
      const double up = (1.0 + h) - 1.0;
      check_near(log_gamma(1.0 + h), -euler * up, 2.0 * h * h);
      const double up_from_2 = (2.0 + h) - 2.0;
      check_near(log_gamma(2.0 + h), (1.0 - euler) * up_from_2, 2.0 * h * h);
    }
    check_relative(log_gamma(1e300), 1e300 * (std::log(1e300) - 1.0), 1e-15);
    CHECK(log_gamma(infinity) == infinity);
    CHECK(log_gamma(0.0) == infinity);
    CHECK(std::isnan(log_gamma(std::nan(""))));
  }

  TEST_CASE("no jump between the branches") {
    for (const double x : {1.0, 2.0, 3.0}) check_continuous(log_gamma, x, 3.0, 1e-15);
  }

  TEST_CASE("falls to 1.4616, rises from there") {
    double previous = infinity;
    for (double x = 0.001; x < 1.46; x += 0.001) {
      CHECK(log_gamma(x) < previous);
      previous = log_gamma(x);
    }
    previous = -infinity;
    for (double x = 1.463; x < 20.0; x += 0.001) {
      CHECK(log_gamma(x) > previous);
      previous = log_gamma(x);
    }
  }
}

TEST_SUITE("log_gamma_ratio") {
  /// What the rounding of a, of m and of ln Γ at a tiny a may cost.
  double ratio_scale(double a, double m) {
    return std::fmin(m, 1.0) + std::fmax(-std::log(a), 0.0);
  }

  TEST_CASE("golden values") {
    for (const json& p : golden("log_gamma_ratio")) {
      CAPTURE(p.dump());
      const double a = number(p, "a");
      const double m = number(p, "m");
      const double value = number(p, "value");
      const double slack = a < 3.0 ? 4e-16 * ratio_scale(a, m) : 0.0;
      check_near(log_gamma_ratio(a, m), value, 1.5e-15 * std::fabs(value) + slack);
    }
  }

  TEST_CASE("huge a: m ln a") {
    for (const double m : {1e-9, 0.5, 1.0, 3.0, 8.0, 8.5, 1000.0}) {
      for (const double a : geometric(1e25, 1e300, 7.0)) {
        CAPTURE(a);
        CAPTURE(m);
        check_relative(log_gamma_ratio(a, m), m * std::log(a), 5e-16);
      }
    }
  }

  TEST_CASE("small m: m digamma(a)") {
    for (const double a : geometric(0.01, 1e10, 1.3)) {
      CAPTURE(a);
      const double m = 1e-12 * a;
      const double slack = 1e-15 * m * std::fmax(1.0, 1.0 / a);  // digamma has a zero
      check_near(log_gamma_ratio(a, m), m * digamma(a),
                 4e-12 * m * std::fmax(1.0, 1.0 / a) + slack);
    }
  }

  TEST_CASE("tiny a") {
    for (const double a : geometric(1e-310, 1e-20, 1e5)) {
      CAPTURE(a);
      for (const double m : {0.25, 1.0, 2.0, 5.5, 100.0}) {
        check_mixed(log_gamma_ratio(a, m), log_gamma(m) + std::log(a), 1e-15);
      }
      check_relative(log_gamma_ratio(a, a), -ln_2, 1e-15);  // Γ(2a) / Γ(a) → ½
    }
    for (const double a : geometric(1e-290, 1e-20, 1e5)) {
      check_near(log_gamma_ratio(a, a * 1e-10), -1e-10, 1e-20);
    }
  }

  TEST_CASE("steps add up") {
    for (const double a : {1e-5, 0.3, 1.0, 2.9, 3.0, 15.9, 17.0, 1e6}) {
      for (const double m : {1e-7, 0.1, 0.999, 1.0, 2.5, 7.0, 9.0, 30.0, 1e5}) {
        for (const double step : {1e-3, 0.5, 1.0, 8.0, 12.25}) {
          CAPTURE(a);
          CAPTURE(m);
          CAPTURE(step);
          check_mixed(log_gamma_ratio(a, m) + log_gamma_ratio(a + m, step),
                      log_gamma_ratio(a, m + step), 6e-15);
        }
      }
    }
  }

  TEST_CASE("from a to a + 1") {
    for (const double a : geometric(3.0, 100.0, 1.03)) {
      for (const double m : {0.125, 0.5, 2.5, 7.5, 60.5}) {
        CAPTURE(a);
        CAPTURE(m);
        const double value = log_gamma_ratio(a, m);
        const double above = log_gamma_ratio(a + 1.0, m);
        check_near(above - value, log1p_positive(m / a), 8e-16 * (value + above));
      }
    }
  }

  TEST_CASE("whole steps are sums of logarithms") {
    for (const double a : {1e-8, 0.7, 1.0, 4.5, 1234.5}) {
      double sum = 0.0;
      for (int m = 0; m <= 40; ++m) {
        CAPTURE(a);
        CAPTURE(m);
        check_mixed(log_gamma_ratio(a, m), sum, 5e-15);
        sum += std::log(a + m);
      }
    }
  }

  TEST_CASE("limits") {
    for (const double a : {1e-300, 1.0, 2.5, 1e12}) CHECK(log_gamma_ratio(a, 0.0) == 0.0);
    check_relative(log_gamma_ratio(1.0, 1e300), log_gamma(1e300), 1e-15);
    check_relative(log_gamma_ratio(5.0, 1e300), log_gamma(1e300), 1e-15);
    check_relative(log_gamma_ratio(1e300, 1e300), 1e300 * (std::log(4e300) - 1.0), 1e-15);
    CHECK(std::isnan(log_gamma_ratio(std::nan(""), 1.5)));
    CHECK(std::isnan(log_gamma_ratio(1.5, std::nan(""))));
  }

  TEST_CASE("no jump between the branches") {
    for (const double m : {1e-6, 0.5, 1.0, 2.0, 7.5, 8.0, 300.25}) {
      CAPTURE(m);
      const auto in_a = [m](double a) { return log_gamma_ratio(a, m); };
      for (const double a : {3.0, 16.0, 1e37}) check_continuous(in_a, a, 3.0 * m + 1.0, 1e-15);
    }
    for (const double a : {1e-9, 0.5, 1.4, 2.9, 3.1, 17.0, 1e9}) {
      CAPTURE(a);
      const auto in_m = [a](double m) { return log_gamma_ratio(a, m); };
      for (const double m : {1.0, 2.0, 8.0}) {
        check_continuous(in_m, m, m * std::fabs(digamma(a + m)), 3e-15);
      }
    }
  }
}

TEST_SUITE("digamma") {
  TEST_CASE("golden values, to 1e-15 of the value also near its zero") {
    for (const json& p : golden("digamma")) {
      CAPTURE(p.dump());
      check_relative(digamma(number(p, "x")), number(p, "value"), 1e-15);
    }
  }

  TEST_CASE("digamma(x + 1) = digamma(x) + 1 / x") {
    for (const double x : geometric(1e-8, 1e8, 1.03)) {
      CAPTURE(x);
      const double margin = 1e-15 * std::fmax(1.0, std::fmax(1.0 / x, std::log(x)));
      check_near(digamma(x + 1.0) - digamma(x), 1.0 / x, margin);
    }
  }

  TEST_CASE("limits, branches, monotony") {
    CHECK(digamma(infinity) == infinity);
    CHECK(digamma(0.0) == -infinity);
    check_relative(digamma(1e-300), -1e300, 1e-15);
    check_relative(digamma(1e300), std::log(1e300), 1e-15);
    for (const double x : {1.0, 2.0, 3.0}) check_continuous(digamma, x, 2.0, 1e-15);
    double previous = -infinity;
    for (const double x : geometric(1e-5, 1e5, 1.001)) {
      CHECK(digamma(x) > previous);
      previous = digamma(x);
    }
  }

  TEST_CASE("is the derivative of log_gamma") {
    for (const double x : geometric(0.01, 100.0, 1.2)) {
      CAPTURE(x);
      const double step = 1e-4 * x;
      const double difference = (log_gamma(x + step) - log_gamma(x - step)) / (2.0 * step);
      check_near(digamma(x), difference, 1e-7 * std::fmax(1.0, 1.0 / x));
    }
  }
}

TEST_SUITE("log_beta") {
  TEST_CASE("equal to its definition where that is harmless") {
    for (const double a : geometric(0.01, 200.0, 1.3)) {
      for (const double b : geometric(0.01, 200.0, 1.3)) {
        CAPTURE(a);
        CAPTURE(b);
        const double expected = log_gamma(a) + log_gamma(b) - log_gamma(a + b);
        const double cancelled = std::fabs(log_gamma(a + b));
        check_near(log_beta(a, b), expected, 2e-15 * std::fmax(1.0, cancelled));
        CHECK(log_beta(a, b) == log_beta(b, a));
      }
    }
  }

  TEST_CASE("closed forms at any size") {
    for (const double b : geometric(1e-300, 1e300, 3.7)) {
      CAPTURE(b);
      check_mixed(log_beta(1.0, b), -std::log(b), 5e-16);
      if (b >= 1e-20) check_mixed(log_beta(2.0, b), -std::log(b) - log1p_positive(b), 8e-16);
    }
    // B(a, a) = 2^(1 - 2a) √π Γ(a) / Γ(a + ½)
    check_relative(log_beta(1e15, 1e15), (1.0 - 2e15) * ln_2 + 0.5 * (ln_pi - std::log(1e15)),
                   1e-15);
    check_relative(log_beta(1e-200, 1e-210), 210.0 * std::log(10.0) + 1e-10, 1e-15);
    check_relative(log_beta(0.5, 0.5), ln_pi, 1e-15);
    // ln B(a, b) ~ ln Γ(a) - a ln b for b >> a².
    check_relative(log_beta(10.5, 1e25), log_gamma(10.5) - 10.5 * std::log(1e25), 1e-15);
  }

  TEST_CASE("no jump between the branches") {
    for (const double b : {3.0, 3.5, 40.0, 1e9}) {
      const auto in_a = [b](double a) { return log_beta(a, b); };
      check_continuous(in_a, 3.0, 3.0 * std::log1p(b), 1e-15);
    }
  }
}

TEST_SUITE("log_multigamma") {
  TEST_CASE("golden values") {
    for (const json& p : golden("log_multigamma")) {
      CAPTURE(p.dump());
      check_mixed(log_multigamma(number(p, "a"), p.at("d").get<index_t>()), number(p, "value"),
                  2e-15);
    }
  }

  TEST_CASE("one dimension is log_gamma, none is 0") {
    for (const double a : {0.1, 1.0, 2.5, 1e6}) {
      CHECK(log_multigamma(a, 1) == log_gamma(a));
      CHECK(log_multigamma(a, 0) == 0.0);
      CHECK(log_multigamma_ratio(a, 3.5, 1) == log_gamma_ratio(a, 3.5));
      CHECK(log_multigamma_ratio(a, 3.5, 0) == 0.0);
    }
  }

  TEST_CASE("recurrence over the dimension") {
    // Γ_d(a) = π^((d-1)/2) Γ(a) Γ_{d-1}(a - ½)
    for (index_t d = 2; d <= 40; ++d) {
      const double a = 0.5 * static_cast<double>(d) + 0.3;
      const double power = 0.5 * static_cast<double>(d - 1) * ln_pi;
      check_mixed(log_multigamma(a, d), power + log_gamma(a) + log_multigamma(a - 0.5, d - 1),
                  2e-15);
    }
  }

  TEST_CASE("the ratio is the difference, for n below and above d") {
    for (const index_t d : {1, 2, 3, 8, 9, 33}) {
      for (const double excess : {1e-3, 0.5, 1.0, 7.25, 500.0}) {
        const double a = 0.5 * static_cast<double>(d - 1) + excess;
        for (const double half_n : {0.5, 1.0, 1.5, 2.0, 3.3, 4.5, 16.0, 16.5, 17.0, 250.0}) {
          CAPTURE(d);
          CAPTURE(a);
          CAPTURE(half_n);
          const double before = log_multigamma(a, d);
          const double after = log_multigamma(a + half_n, d);
          const double scale = std::fmax(1.0, std::fabs(before) + std::fabs(after));
          check_near(log_multigamma_ratio(a, half_n, d), after - before, 2e-15 * scale);
        }
      }
    }
  }

  TEST_CASE("the ratio keeps its precision for huge a and for small steps") {
    for (const index_t d : {1, 2, 5, 16}) {
      const auto dimension = static_cast<double>(d);
      check_relative(log_multigamma_ratio(1e30, 0.5, d), 0.5 * dimension * std::log(1e30), 1e-15);
      check_relative(log_multigamma_ratio(1e30, 50.0, d), 50.0 * dimension * std::log(1e30), 1e-15);
      double slope = 0.0;
      for (index_t i = 0; i < d; ++i) slope += digamma(40.0 - 0.5 * static_cast<double>(i));
      check_relative(log_multigamma_ratio(40.0, 1e-13, d), 1e-13 * slope, 1e-13);
      CHECK(log_multigamma_ratio(40.0, 0.0, d) == 0.0);
    }
  }
}

TEST_SUITE("log_bessel_i") {
  constexpr std::array<double, 17> orders = {0.0,   0.25,  0.5,   1.0,    2.5,  7.0,
                                             15.5,  29.0,  29.7,  30.0,   31.5, 64.0,
                                             119.0, 120.5, 511.0, 2047.0, 1e5};

  TEST_CASE("golden values") {
    for (const json& p : golden("log_bessel_i")) {
      CAPTURE(p.dump());
      check_mixed(log_bessel_i(number(p, "nu"), number(p, "x")), number(p, "value"), 1e-14);
    }
  }

  TEST_CASE("orders 1/2 and 3/2 are elementary") {
    for (const double x : geometric(1e-3, 700.0, 1.05)) {
      CAPTURE(x);
      const double outer = 0.5 * std::log(2.0 / (3.14159265358979323846 * x));
      check_mixed(log_bessel_i(0.5, x), outer + std::log(std::sinh(x)), 4e-15);
      if (x > 0.3) {
        check_mixed(log_bessel_i(1.5, x), outer + std::log(std::cosh(x) - std::sinh(x) / x), 2e-14);
      }
    }
  }

  TEST_CASE("I_{nu-1} - I_{nu+1} = 2 nu / x I_nu") {
    for (const double nu : {1.0, 1.5, 3.0, 16.0, 28.5, 30.0, 31.0, 120.0, 700.0}) {
      for (const double x : geometric(1e-2 * nu, 20.0 * nu, 1.1)) {
        CAPTURE(nu);
        CAPTURE(x);
        const double middle = log_bessel_i(nu, x);
        const double below_it = std::exp(log_bessel_i(nu - 1.0, x) - middle);
        const double above_it = std::exp(log_bessel_i(nu + 1.0, x) - middle);
        const double rounding = 2e-14 * std::fmax(1.0, std::fabs(middle));
        check_near(below_it - above_it, 2.0 * nu / x, 2.0 * rounding * below_it);
      }
    }
  }

  TEST_CASE("limits") {
    CHECK(log_bessel_i(0.0, 0.0) == 0.0);
    for (const double nu : {0.5, 1.0, 30.0, 2048.0}) {
      CHECK(log_bessel_i(nu, 0.0) == -infinity);
      CHECK(log_bessel_i(nu, infinity) == infinity);
      const double small = nu * std::log(0.5e-200) - log_gamma(nu + 1.0);
      check_relative(log_bessel_i(nu, 1e-200), small, 1e-15);
      // Hankel's first two terms
      const double x = 1e12;
      check_relative(
          log_bessel_i(nu, x),
          x - 0.5 * std::log(2.0 * 3.14159265358979323846 * x) - (4.0 * nu * nu - 1.0) / (8.0 * x),
          1e-15);
    }
    check_relative(log_bessel_i(0.0, 1e-5), 0.25e-10, 1e-10);
    CHECK(std::isnan(log_bessel_i(std::nan(""), 2.0)));
    CHECK(std::isnan(log_bessel_i(2.0, std::nan(""))));
  }

  TEST_CASE("rises with x, falls with the order") {
    for (std::size_t i = 0; i < orders.size(); ++i) {
      double previous = -infinity;
      for (const double x : geometric(1e-6, 1e6, 1.05)) {
        CAPTURE(orders[i]);
        CAPTURE(x);
        const double value = log_bessel_i(orders[i], x);
        CHECK(value > previous);
        previous = value;
        if (i > 0) CHECK(value < log_bessel_i(orders[i - 1], x));
      }
    }
  }

  TEST_CASE("no jump between the branches") {
    for (const double nu : orders) {
      CAPTURE(nu);
      const auto in_x = [nu](double x) { return log_bessel_i(nu, x); };
      const auto reduced_in_x = [nu](double x) { return log_bessel_i_reduced(nu, x); };
      const double series_end = 2.0 * std::sqrt(series_limit(nu) * (nu + 1.0));
      for (const double x : {series_end, hankel_limit(nu), 0.63274 * nu + 1e-3, 0.69274 * nu + 1e-3,
                             0.63274341934918 * nu, 0.69274341934918 * nu}) {
        if (x == 0.0) continue;
        check_continuous(in_x, x, nu + x, 1e-14);
        check_continuous(reduced_in_x, x, x, 2e-15);
      }
    }
    for (const double nu : {30.0, 120.0}) {
      for (const double x : geometric(1e-3, 1e7, 1.3)) {
        CAPTURE(x);
        const double slope = nu * std::fabs(std::log(0.5 * x / nu)) + nu;
        check_continuous([x](double order) { return log_bessel_i(order, x); }, nu, slope, 1e-14);
        check_continuous([x](double order) { return log_bessel_i_reduced(order, x); }, nu, x,
                         2e-15);
      }
    }
  }

  TEST_CASE("each branch agrees with its neighbour on a stretch, not only at the seam") {
    for (const double x : {25.0, 30.0, 60.0, 449.0}) {
      for (const double nu : {0.0, 0.5, 3.0, 6.5}) {
        CAPTURE(nu);
        CAPTURE(x);
        const double power = nu * std::log(0.5 * x) - log_gamma(nu + 1.0);
        check_mixed(log_bessel_i_hankel(nu, x), log_bessel_i_reduced_recurrence(nu, x) + power,
                    2e-15);
      }
    }
    for (const double nu : {30.0, 45.5, 300.0}) {
      for (const double x : geometric(0.1 * std::sqrt(nu), 4.0 * std::sqrt(nu), 1.1)) {
        check_relative(log_bessel_i_reduced_series(nu, x), log_bessel_i_reduced_debye(nu, x),
                       2e-14);
      }
    }
    for (const double nu : {0.0, 4.0, 29.5}) {
      for (const double x : geometric(2.0, 20.0, 1.1)) {
        check_relative(log_bessel_i_reduced_series(nu, x), log_bessel_i_reduced_recurrence(nu, x),
                       2e-15);
      }
    }
  }

  TEST_CASE("near its zero crossing, where h and nu asinh(nu / x) cancel, for any order") {
    struct point {
      double nu, x, value;  // value from the power series with 60 digits
    };
    constexpr std::array<point, 13> points = {{{500.5, 331.7030813842654, -4.1178022223750524195},
                                               {500.5, 332.375, -2.902678424688400916},
                                               {500.5, 345.375, 20.280865319263918799},
                                               {500.5, 316.625, -31.851470807793496094},
                                               {2048.0, 1357.2985228271239, -4.8222829345244050633},
                                               {2048.0, 1359.875, -0.1617806142380338993},
                                               {2048.0, 1413.125, 94.827067673779182514},
                                               {2048.0, 1296.0, -117.57980530391126745},
                                               {65536.25, 43433.7184163228, -6.5551449968535502218},
                                               {65536.25, 43516.125, 142.51635864261525405},
                                               {1e6, 662743.4193491816, -7.9177206892221862206},
                                               {1e6, 664000.0, 2265.2112090574025294},
                                               {1e6, 690000.0, 48647.77403542922915}}};
    for (const point& p : points) {
      CAPTURE(p.nu);
      CAPTURE(p.x);
      check_mixed(log_bessel_i(p.nu, p.x), p.value, 1e-14);
    }
  }
}

TEST_SUITE("log_bessel_i_reduced") {
  TEST_CASE("small relative error down to x = 0") {
    for (const double nu : {-0.5, 0.0, 1.0, 29.9, 30.0, 2047.0}) {
      CHECK(log_bessel_i_reduced(nu, 0.0) == 0.0);
      CHECK(log_bessel_i_reduced(nu, infinity) == infinity);
      for (const double x : geometric(1e-150, 1e-9, 10.0)) {
        check_relative(log_bessel_i_reduced(nu, x), 0.25 * x * x / (nu + 1.0), 1e-15);
      }
    }
  }

  TEST_CASE("order -1/2 is ln cosh") {
    for (const double x : geometric(0.01, 300.0, 1.1)) {
      CAPTURE(x);
      const double half_sinh = std::sinh(0.5 * x);
      check_relative(log_bessel_i_reduced(-0.5, x), std::log1p(2.0 * half_sinh * half_sinh), 2e-15);
    }
  }

  TEST_CASE("ten orders up by the ratios") {
    for (double nu = 0.25; nu < 300.0; nu += 3.25) {
      for (const double x : geometric(0.1 * (nu + 5.0), 20.0 * (nu + 5.0), 1.4)) {
        CAPTURE(nu);
        CAPTURE(x);
        double rise = 0.0;
        for (double n = nu + 1.0; n < nu + 10.5; n += 1.0) {
          rise += log1p_positive(0.5 * x / n * bessel_ratio(n, x));
        }
        const double value = log_bessel_i_reduced(nu, x);
        check_near(value - log_bessel_i_reduced(nu + 10.0, x), rise, 8e-16 * (value + rise + 1.0));
      }
    }
  }

  TEST_CASE("its derivative is bessel_ratio") {
    for (const double nu : {0.0, 0.5, 12.0, 30.0, 250.0}) {
      for (const double x : geometric(0.05, 5000.0, 1.3)) {
        CAPTURE(nu);
        CAPTURE(x);
        const double step = 1e-4 * x;
        const double rise = log_bessel_i_reduced(nu, x + step) - log_bessel_i_reduced(nu, x - step);
        check_near(bessel_ratio(nu, x), rise / (2.0 * step), 2e-8);
      }
    }
  }
}

TEST_SUITE("bessel_ratio") {
  TEST_CASE("recurrence, range, monotony") {
    for (const double nu : {0.0, 0.5, 3.0, 28.5, 29.5, 30.0, 119.5, 2046.0}) {
      double previous = 0.0;
      for (const double x : geometric(1e-6, 1e6, 1.05)) {
        CAPTURE(nu);
        CAPTURE(x);
        const double ratio = bessel_ratio(nu, x);
        check_relative(1.0 / (2.0 * (nu + 1.0) / x + bessel_ratio(nu + 1.0, x)), ratio, 2e-15);
        CHECK(ratio > previous);
        CHECK(ratio < 1.0);
        previous = ratio;
      }
    }
  }

  TEST_CASE("order 1/2 is coth x - 1 / x") {
    for (const double x : geometric(0.5, 1e6, 1.2)) {
      check_relative(bessel_ratio(0.5, x), 1.0 / std::tanh(x) - 1.0 / x, 3e-15);
    }
  }

  TEST_CASE("agrees with the logarithms") {
    for (const double nu : {0.0, 2.0, 30.0, 500.0}) {
      for (const double x : geometric(1.0, 100.0, 1.5)) {
        const double difference = log_bessel_i(nu + 1.0, x) - log_bessel_i(nu, x);
        check_near(std::log(bessel_ratio(nu, x)), difference,
                   1e-15 * std::fmax(10.0, std::fabs(log_bessel_i(nu + 1.0, x)) * 2.0));
      }
    }
  }

  TEST_CASE("limits") {
    for (const double nu : {0.0, 0.5, 30.0, 2047.0}) {
      CHECK(bessel_ratio(nu, 0.0) == 0.0);
      CHECK(bessel_ratio(nu, infinity) == 1.0);
      check_relative(bessel_ratio(nu, 1e-100), 0.5e-100 / (nu + 1.0), 3e-15);
      const double x = 1e10;
      check_near(bessel_ratio(nu, x), 1.0 - (nu + 0.5) / x, 2e-13);
    }
  }
}

TEST_SUITE("von Mises-Fisher normaliser") {
  TEST_CASE("golden values") {
    for (const json& p : golden("log_vmf_normalizer")) {
      CAPTURE(p.dump());
      const double kappa = number(p, "kappa");
      check_mixed(log_vmf_normalizer(kappa, p.at("d").get<index_t>()), number(p, "value"), 5e-15);
    }
  }

  TEST_CASE("uniform at kappa = 0") {
    const double pi = std::acos(-1.0);
    check_relative(log_vmf_normalizer(0.0, 1), -ln_2, 1e-15);
    check_relative(log_vmf_normalizer(0.0, 2), -std::log(2.0 * pi), 1e-15);
    check_relative(log_vmf_normalizer(0.0, 3), -std::log(4.0 * pi), 1e-15);
    check_relative(log_vmf_normalizer(0.0, 4), -std::log(2.0 * pi * pi), 1e-15);
    for (const index_t d : {1, 2, 3, 512, 4096}) {
      CHECK(log_vmf_normalizer(0.0, d) == -log_sphere_area(d));
      CHECK(log_vmf_normalizer(1e-200, d) == -log_sphere_area(d));
    }
  }

  TEST_CASE("three dimensions are elementary") {
    const double pi = std::acos(-1.0);
    for (const double kappa : geometric(0.01, 500.0, 1.1)) {
      CAPTURE(kappa);
      check_mixed(log_vmf_normalizer(kappa, 3), std::log(kappa / (4.0 * pi * std::sinh(kappa))),
                  2e-15);
    }
  }

  TEST_CASE("the density integrates to one") {
    // Over the circle the trapezoidal rule converges geometrically.
    for (const double kappa : {0.0, 0.1, 1.0, 4.0, 50.0}) {
      constexpr int points = 400;
      const double step = 2.0 * std::acos(-1.0) / points;
      double sum = 0.0;
      for (int i = 0; i < points; ++i) {
        sum += std::exp(log_vmf_normalizer(kappa, 2) + kappa * std::cos(i * step));
      }
      check_relative(sum * step, 1.0, 1e-13);
    }
  }

  TEST_CASE("differences keep their precision in 4096 dimensions") {
    for (const double kappa : {1e-3, 0.1, 1.0, 10.0}) {
      const double leading = kappa * kappa / (2.0 * 4096.0);
      check_relative(log_vmf_excess(kappa, 4096), leading, kappa * kappa / 1e6 + 1e-15);
    }
  }
}

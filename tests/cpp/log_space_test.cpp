#include "bhclust/detail/log_space.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <vector>

using namespace bhclust::detail;
using bhclust::index_t;

namespace {

constexpr double inf = std::numeric_limits<double>::infinity();
const double not_a_number = std::numeric_limits<double>::quiet_NaN();
constexpr double ln2 = 0.69314718055994530942;

double sum_of(const std::vector<double>& x) {
  return log_sum_exp(x.data(), static_cast<index_t>(x.size()));
}

bool close(double actual, double expected, double tolerance) {
  return std::fabs(actual - expected) <= tolerance * std::fabs(expected);
}

}  // namespace

TEST_CASE("log_add_exp") {
  CHECK(close(log_add_exp(std::log(2.0), std::log(3.0)), std::log(5.0), 4e-16));
  CHECK(log_add_exp(0.0, 0.0) == ln2);
  CHECK(log_add_exp(1e5, 1e5) == 1e5 + ln2);
  CHECK(log_add_exp(-1e5, -1e5) == -1e5 + ln2);
  CHECK(log_add_exp(3.0, -1000.0) == 3.0);
  for (double gap = 0.0; gap < 50.0; gap += 0.37) {
    CHECK(log_add_exp(-700.0, -700.0 - gap) == log_add_exp(-700.0 - gap, -700.0));
    CHECK(close(log_add_exp(0.0, -gap), std::log1p(std::exp(-gap)), 4e-16));
  }
}

TEST_CASE("log_add_exp at the ends of the line") {
  for (const double a : {-inf, -1e308, -3.0, 0.0, 7.0, 1e308, inf}) {
    CHECK(log_add_exp(a, -inf) == a);
    CHECK(log_add_exp(-inf, a) == a);
    CHECK(log_add_exp(a, inf) == inf);
    CHECK(log_add_exp(inf, a) == inf);
    CHECK(std::isnan(log_add_exp(a, not_a_number)));
    CHECK(std::isnan(log_add_exp(not_a_number, a)));
  }
}

TEST_CASE("log_sum_exp") {
  CHECK(sum_of({}) == -inf);
  CHECK(sum_of({-3.5}) == -3.5);
  CHECK(close(sum_of({std::log(1.0), std::log(2.0), std::log(3.0)}), std::log(6.0), 4e-16));
  CHECK(close(sum_of({-1000.0, -1001.0, -1002.0}),
              -1000.0 + std::log(1.0 + std::exp(-1.0) + std::exp(-2.0)), 4e-16));
  CHECK(close(sum_of({900.0, 900.0, 900.0, 900.0}), 900.0 + 2.0 * ln2, 4e-16));
  CHECK(close(sum_of(std::vector<double>(1000, -2.0)), std::log(1000.0) - 2.0, 1e-15));
}

TEST_CASE("log_sum_exp at the ends of the line") {
  CHECK(sum_of({-inf}) == -inf);
  CHECK(sum_of({-inf, -inf, -inf}) == -inf);
  CHECK(sum_of({-inf, 2.0, -inf}) == 2.0);
  CHECK(sum_of({1.0, inf, -inf}) == inf);
  CHECK(sum_of({inf, inf}) == inf);
  CHECK(std::isnan(sum_of({1.0, not_a_number})));
  CHECK(std::isnan(sum_of({not_a_number, 1.0})));
  CHECK(std::isnan(sum_of({inf, not_a_number})));
  CHECK(std::isnan(sum_of({-inf, not_a_number, -inf})));
}

TEST_CASE("softplus") {
  CHECK(softplus(0.0) == ln2);
  CHECK(softplus(inf) == inf);
  CHECK(softplus(-inf) == 0.0);
  CHECK(softplus(800.0) == 800.0);
  CHECK(close(softplus(-700.0), std::exp(-700.0), 4e-16));
  CHECK(std::isnan(softplus(not_a_number)));
  for (double x = -40.0; x < 40.0; x += 0.31) {
    CHECK(std::fabs(softplus(x) - softplus(-x) - x) <= 1e-15 * std::fmax(1.0, std::fabs(x)));
    CHECK(softplus(x) > 0.0);
  }
}

TEST_CASE("log1m_exp") {
  CHECK(log1m_exp(0.0) == -inf);
  CHECK(log1m_exp(-inf) == 0.0);
  CHECK(close(log1m_exp(-ln2), -ln2, 4e-16));
  CHECK(close(log1m_exp(-1e-300), std::log(1e-300), 4e-16));
  CHECK(close(log1m_exp(-1e-20), std::log(1e-20), 4e-16));
  CHECK(close(log1m_exp(-100.0), -std::exp(-100.0), 4e-16));
  CHECK(std::isnan(log1m_exp(not_a_number)));
  // It is its own inverse.
  for (double x = -8.0; x < -0.001; x += 0.0137) CHECK(close(log1m_exp(log1m_exp(x)), x, 1e-12));
  for (const double x : {-0.69314718055994540, -0.69314718055994520}) {
    CHECK(close(log1m_exp(x), -ln2, 1e-15));
  }
}

TEST_CASE("sigmoid and its logarithm") {
  CHECK(sigmoid(0.0) == 0.5);
  CHECK(sigmoid(inf) == 1.0);
  CHECK(sigmoid(-inf) == 0.0);
  CHECK(std::isnan(sigmoid(not_a_number)));
  CHECK(log_sigmoid(inf) == 0.0);
  CHECK(log_sigmoid(-inf) == -inf);
  CHECK(log_sigmoid(-1e5) == -1e5);
  CHECK(std::isnan(log_sigmoid(not_a_number)));
  for (double x = -700.0; x < 700.0; x += 7.3) {
    CAPTURE(x);
    CHECK(sigmoid(x) > 0.0);
    CHECK(std::fabs(sigmoid(x) + sigmoid(-x) - 1.0) <= 2.3e-16);
    CHECK(close(std::log(sigmoid(x)), log_sigmoid(x), x < 0.0 ? 1e-15 : 1.0));
    CHECK(close(log_sigmoid(-x) - log_sigmoid(x), -x, 1e-15));
  }
  CHECK(close(sigmoid(-700.0), std::exp(-700.0), 4e-16));
}

TEST_CASE("x_log_x") {
  CHECK(x_log_x(0.0) == 0.0);
  CHECK(x_log_x(1.0) == 0.0);
  CHECK(x_log_x(inf) == inf);
  CHECK(close(x_log_x(3.0), 3.0 * std::log(3.0), 4e-16));
  CHECK(x_log_x(1e-320) < 0.0);
  CHECK(std::isnan(x_log_x(not_a_number)));
}

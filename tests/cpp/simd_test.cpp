#include <bhclust/detail/lane_functions.hpp>
#include <bhclust/detail/lane_gamma.hpp>
#include <bhclust/detail/nibble_sums.hpp>
#include <bhclust/detail/simd.hpp>
#include <bhclust/detail/special.hpp>
#include <bhclust/types.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

using bhclust::detail::lanes;

namespace {

using eight = std::array<double, lanes::count>;

eight values(const lanes& x) {
  eight all{};
  x.store(all.data());
  return all;
}

}  // namespace

TEST_CASE("lanes: arithmetic is that of doubles, lane by lane") {
  const eight x{1.5, -2.0, 3.25, 1e300, -1e-300, 0.0, 7.0, 9.0};
  const eight y{0.1, 3.0, -0.7, 1e10, 1e-10, 5.0, -7.0, 0.3};
  const lanes a = lanes::load(x.data());
  const lanes b = lanes::load(y.data());
  const auto sum = values(a + b), difference = values(a - b), product = values(a * b);
  const auto ratio = values(a / b), above = values(at_least(a, 0.5)), inverse = values(2.0 / b);
  const auto scaled = values((a + 0.1) * 3.0 - 0.2);
  for (std::size_t i = 0; i < x.size(); ++i) {
    CHECK(sum[i] == x[i] + y[i]);
    CHECK(difference[i] == x[i] - y[i]);
    CHECK(product[i] == x[i] * y[i]);
    CHECK(ratio[i] == x[i] / y[i]);
    CHECK(inverse[i] == 2.0 / y[i]);
    CHECK(above[i] == std::max(x[i], 0.5));
    CHECK(scaled[i] == (x[i] + 0.1) * 3.0 - 0.2);
  }
  for (const double v : values(lanes::all(4.5))) CHECK(v == 4.5);
}

TEST_CASE("lanes: look_up") {
  const eight table{10, 11, 12, 13, 14, 15, 16, 17};
  const eight index{3, 0, 7, 7, 1, 2, 5, 4};
  const auto found = values(look_up(table.data(), lanes::load(index.data())));
  for (std::size_t i = 0; i < index.size(); ++i) CHECK(found[i] == 10.0 + index[i]);
}

TEST_CASE("lanes: log to a unit in the last place over all normal numbers") {
  std::mt19937_64 random(5);
  double worst = 0.0;
  for (int round = 0; round < 60000; ++round) {
    eight x{};
    for (double& v : x) {
      const double fraction = 1.0 + std::ldexp(static_cast<double>(random() >> 12U), -52);
      const int exponent = static_cast<int>(random() % 2045) - 1022;
      v = round % 2 == 0 ? std::ldexp(fraction, exponent) : std::ldexp(fraction, -(round % 4) / 2);
    }
    const auto found = values(log(lanes::load(x.data())));
    for (std::size_t i = 0; i < x.size(); ++i) {
      const long double wanted = logl(x[i]);
      const double size = std::fabs(static_cast<double>(wanted));
      const double unit = std::nextafter(size, std::numeric_limits<double>::infinity()) - size;
      worst = std::max(worst, std::fabs(static_cast<double>(found[i] - wanted)) / unit);
    }
  }
  CHECK(worst < 1.0);
  const eight around{1.0,           2.0,           0.5, std::sqrt(0.5), std::sqrt(2.0),
                     1.0 + 0x1p-52, 1.0 - 0x1p-53, 4.0};
  const auto found = values(log(lanes::load(around.data())));
  for (std::size_t i = 0; i < around.size(); ++i) {
    CHECK(found[i] == doctest::Approx(std::log(around[i])).epsilon(1e-15));
  }
  CHECK(found[0] == 0.0);
}

TEST_CASE("lanes: exp to a unit in the last place, down to 0") {
  std::mt19937_64 random(6);
  double worst = 0.0;
  for (int round = 0; round < 60000; ++round) {
    eight x{};
    for (double& v : x) {
      const double share = std::ldexp(static_cast<double>(random() >> 11U), -53);
      v = round % 3 == 0 ? 1400.0 * share - 700.0 : round % 3 == 1 ? -share : -40.0 * share;
    }
    const auto found = values(exp(lanes::load(x.data())));
    for (std::size_t i = 0; i < x.size(); ++i) {
      const long double wanted = expl(x[i]);
      const auto size = static_cast<double>(wanted);
      const double unit = std::nextafter(size, std::numeric_limits<double>::infinity()) - size;
      worst = std::max(worst, std::fabs(static_cast<double>(found[i] - wanted)) / unit);
    }
  }
  CHECK(worst < 1.0);
  constexpr double infinity = std::numeric_limits<double>::infinity();
  const eight ends{0.0, -0.0, -720.0, -744.0, -746.0, -800.0, -1e300, -infinity};
  const auto found = values(exp(lanes::load(ends.data())));
  for (std::size_t i = 0; i < ends.size(); ++i) {
    CHECK(std::fabs(found[i] - std::exp(ends[i])) <= 1e-15 * std::exp(ends[i]) + 5e-324);
  }
}

TEST_CASE("lanes: log1p to small relative error") {
  const eight x{0.0, 1e-300, 1e-17, 3e-9, 0.1, 1.0, 7.5, 1e300};
  const auto found = values(log1p(lanes::load(x.data())));
  for (std::size_t i = 0; i < x.size(); ++i) {
    CHECK(std::fabs(found[i] - std::log1p(x[i])) <= 4e-16 * std::log1p(x[i]));
  }
}

TEST_CASE("lanes: ratios of gamma functions are the scalar ones") {
  for (const double a : {1e-3, 0.7, 1.5, 2.999, 3.0, 4.2, 15.9, 16.1, 400.0, 1e6, 1e30}) {
    for (const double first : {9.0, 9.5, 30.0, 1000.5, 4e6}) {
      eight m{};
      for (std::size_t i = 0; i < m.size(); ++i) m[i] = first + 0.5 * static_cast<double>(i);
      const auto found = values(bhclust::detail::log_gamma_ratio(a, lanes::load(m.data())));
      for (std::size_t i = 0; i < m.size(); ++i) {
        const double wanted = bhclust::detail::log_gamma_ratio(a, m[i]);
        CHECK(std::fabs(found[i] - wanted) <= 2e-15 * std::fabs(wanted) + 1e-14);
      }
      for (const bhclust::index_t d : {1, 2, 5, 18}) {
        const double above = a + 0.5 * static_cast<double>(d - 1);
        const auto many =
            values(bhclust::detail::log_multigamma_ratio(above, lanes::load(m.data()), d));
        for (std::size_t i = 0; i < m.size(); ++i) {
          const double wanted = bhclust::detail::log_multigamma_ratio(above, m[i], d);
          CHECK(std::fabs(many[i] - wanted) <= 2e-15 * std::fabs(wanted) + 1e-14 * 18.0);
        }
      }
    }
  }
}

TEST_CASE("lanes: tables of sizes") {
  const auto one = [](double n) { return 2.0 * n; };
  const auto many = [](const lanes& n) { return n * 2.0; };
  for (const bhclust::index_t most : {0, 3, 4, 5, 11, 12, 13, 30}) {
    const auto terms = bhclust::detail::table_of_sizes(most, 4, 1, one, many);
    REQUIRE(terms.size() == static_cast<std::size_t>(most + 1));
    for (std::size_t n = 0; n < terms.size(); ++n) CHECK(terms[n] == 2.0 * static_cast<double>(n));
  }
}

TEST_CASE("lanes: sums, products and choices") {
  const eight n{0.0, 1.0, -0.0, 2.0, 0.0, 3.0, 4.0, 0.0};
  const auto chosen = values(where_zero(lanes::load(n.data()), lanes::all(1.5), lanes::all(2.5)));
  for (std::size_t i = 0; i < n.size(); ++i) CHECK(chosen[i] == (n[i] == 0.0 ? 1.5 : 2.5));
  const eight x{1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0};
  CHECK(sum_of(lanes::load(x.data())) == 36.0);
  CHECK(product_of(lanes::load(x.data())) == 40320.0);
}

TEST_CASE("sums of looked-up values: upper bytes, full sums, a limit") {
  std::mt19937 random(12);
  const auto below = [&](unsigned n) { return random() % n; };
  for (const unsigned columns : {0U, 1U, 2U, 4U, 9U}) {
    std::vector<std::uint16_t> values(16 * columns + 16);
    std::vector<std::uint8_t> index(16 * columns);
    std::vector<bhclust::index_t> place;
    for (auto& v : values) v = static_cast<std::uint16_t>(below(5) == 0 ? 65535U : below(20000));
    for (auto& k : index) k = static_cast<std::uint8_t>(below(16));
    for (unsigned j = 0; j < columns; ++j) place.push_back(below(16 * columns));
    for (const unsigned most : {255U, 100U, 15U}) {
      std::array<std::uint8_t, 16> found{};
      bhclust::detail::sums_of_values(values.data(), place.data(), index.data(), columns,
                                      static_cast<std::uint16_t>(most), found.data());
      for (std::size_t k = 0; k < 16; ++k) {
        unsigned sum = 0;
        for (std::size_t j = 0; j < columns; ++j) {
          sum += values[static_cast<std::size_t>(place[j]) + index[16 * j + k]];
        }
        CHECK(found[k] == std::min(std::min(sum, 65535U) / 256, most));
      }
    }
  }
}

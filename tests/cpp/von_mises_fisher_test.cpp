#include "family_checks.hpp"
#include "golden.hpp"
#include <bhclust/family/von_mises_fisher.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <vector>

using bhclust::VonMisesFisher;
using bhclust::detail::von_mises_fisher_model;
using checks::table;
using doctest::Approx;

namespace {

void bind_to(const VonMisesFisher& family, const bhclust::table_view& X) {
  static_cast<void>(bhclust::bind(family, X));
}

}  // namespace

TEST_CASE("VonMisesFisher: golden values") {
  golden::check<VonMisesFisher>("von_mises_fisher", 4.0);
}

TEST_CASE("VonMisesFisher: one row under the uniform prior is uniform on the sphere") {
  const VonMisesFisher family{1234.0, 0.0, 0.0};
  CHECK(checks::log_marginal(family, table{{0.6, 0.0, 0.8}, 3}) ==
        Approx(-std::log(4.0 * 3.14159265358979323846)).epsilon(1e-12));
}

TEST_CASE("VonMisesFisher: divergence") {
  const von_mises_fisher_model model(3.0, 0.0, {0.0, 0.0});
  const std::vector<double> t{2, 1.6, 1.2};
  const std::vector<double> s{3, -0.5, 2.0};
  checks::checked_divergence(model, t, s);
  CHECK(model.divergence(t.data(), std::vector<double>{4, 3.2, 2.4}.data()) == 0.0);
  CHECK(model.divergence(t.data(), std::vector<double>{2, 0.0, 0.0}.data()) == 0.0);
  // opposite directions: all length is lost
  CHECK(model.divergence(t.data(), std::vector<double>{2, -1.6, -1.2}.data()) == Approx(12.0));
  // n rows each, at an angle of 1e-7: kappa n angle² / 4
  const std::vector<double> east{1e6, 1e6, 0.0};
  const std::vector<double> nearly{1e6, 1e6, 0.1};
  CHECK(model.divergence(east.data(), nearly.data()) ==
        Approx(3.0 * 1e6 * 1e-14 / 4.0).epsilon(1e-9));
}

TEST_CASE("VonMisesFisher: refuses rows that are not of length 1") {
  const VonMisesFisher family{1.0, 0.0, 0.0};
  CHECK(checks::mentions(checks::complaint([&] { bind_to(family, table{{1, 0, 3, 4}, 2}); }),
                         {"row 1", "length 5", "divide each row by its length"}));
  CHECK(checks::mentions(checks::complaint([&] { bind_to(family, table{{0, 0, 1, 0}, 2}); }),
                         {"row 0", "length 0", "no direction"}));
  CHECK(checks::mentions(
      checks::complaint([&] { static_cast<void>(VonMisesFisher::from_data(table{{2}, 1})); }),
      {"row 0", "length 2"}));
  bind_to(family, table{{1.0 + 9e-7, 0.0}, 2});
  const auto almost = table{{1.0 + 2e-6, 0.0}, 2};
  CHECK(checks::mentions(checks::complaint([&] { bind_to(family, almost); }), {"row 0"}));
}

TEST_CASE("VonMisesFisher: a mean direction has length 1, and is needed by an informative prior") {
  const auto X = table{{1, 0, 0, 1}, 2};
  CHECK(checks::mentions(checks::complaint([&] { bind_to({1.0, 0.0, 2.0}, X); }),
                         {"mean_direction is not given", "prior_kappa is 2"}));
  CHECK(checks::mentions(checks::complaint([&] { bind_to({1.0, {1, 1}, 2.0}, X); }),
                         {"mean_direction has length 1.41", "divide"}));
  CHECK(checks::mentions(checks::complaint([&] { bind_to({1.0, 1.0, 2.0}, X); }),
                         {"mean_direction", "vector of length 1"}));
  bind_to({1.0, {0.6, 0.8}, 2.0}, X);
  bind_to({1.0, {0.6, 0.8}, 0.0}, X);
}

TEST_CASE("VonMisesFisher: kappa by default grows with the agreement of rows") {
  const auto fan = [](double width) {
    std::vector<double> cells;
    for (int i = -10; i <= 10; ++i) {
      cells.push_back(std::cos(0.1 * width * i));
      cells.push_back(std::sin(0.1 * width * i));
    }
    return checks::valid_defaults<VonMisesFisher>(table{cells, 2}).kappa[0];
  };
  CHECK(fan(0.01) > 10.0 * fan(0.1));
  CHECK(fan(0.1) > 5.0 * fan(1.0));
  CHECK(fan(1.0) > 1.0);
}

TEST_CASE("VonMisesFisher: defaults of degenerate tables, dense and CSR") {
  const std::vector<double> cells{0.6, 0.0, 0.8, 0.0, 1.0, 0.0, 0.8, 0.6, 0.0};
  const checks::sparse_table sparse(table{cells, 3});
  CHECK(checks::valid_defaults<VonMisesFisher>(sparse).kappa ==
        checks::valid_defaults<VonMisesFisher>(table{cells, 3}).kappa);
  checks::valid_defaults<VonMisesFisher>(table{{0.6, 0.8}, 2});
  checks::valid_defaults<VonMisesFisher>(table{{0.6, 0.8, 0.6, 0.8, 0.6, 0.8}, 2});
  checks::valid_defaults<VonMisesFisher>(table{{1, 0, -1, 0}, 2});
  checks::valid_defaults<VonMisesFisher>(table{{1, -1, 1}, 1});
}

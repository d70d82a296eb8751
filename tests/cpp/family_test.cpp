// The concept: what `bind` fills in for a family that has the least it may have.
#include "clusters.hpp"
#include "refusals.hpp"
#include "slow_family.hpp"
#include "tables.hpp"
#include <bhclust/families.hpp>
#include <bhclust/family.hpp>

#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <string>
#include <type_traits>
#include <vector>

using namespace testkit;

namespace {

/// Statistics that do not add: the largest cell and the number of rows.
struct largest_family {
  [[nodiscard]] static index_t width(index_t columns) { return 1 + columns; }
  static void observe(const bhclust::row_view& row, double* t) {
    t[0] += 1.0;
    row.for_each([&](index_t j, double x) { t[1 + j] = std::max(t[1 + j], x); });
  }
  [[nodiscard]] static double log_marginal(const double* t) { return -t[1]; }
  static void merge(double* t, const double* s) {
    t[0] += s[0];
    t[1] = std::max(t[1], s[1]);
  }
  static void remove(double* t, const double* s) { t[0] -= s[0]; }
  [[nodiscard]] static double divergence(const double* t, const double* s) {
    return std::fabs(t[1] - s[1]);
  }
};

/// With a domain, a name, a hyperparameter, a check and a model of its own.
struct full_family {
  parameter weight = 1.0;

  struct model_type {
    double weight;
    [[nodiscard]] static index_t width() { return 1; }
    static void observe(const bhclust::row_view& /*row*/, double* t) { t[0] += 1.0; }
    [[nodiscard]] double log_marginal(const double* t) const { return -weight * t[0]; }
  };

  [[nodiscard]] static std::string name() { return "Full"; }
  [[nodiscard]] static bhclust::domain takes() { return {bhclust::cell::count, true, false}; }
  [[nodiscard]] static std::array<bhclust::parameter_field<full_family>, 1> parameters() {
    return {{{"weight", &full_family::weight, bhclust::range::positive, bhclust::shape::scalar,
              "what a row costs"}}};
  }
  static void check(const bhclust::table_view& X) {
    bhclust::require(X.rows() != 3, "Full does not like three rows");
  }
  [[nodiscard]] model_type bind(index_t /*columns*/) const { return {weight[0]}; }
};

}  // namespace

TEST_CASE("family: the least takes dense finite reals") {
  const slow_family family;
  CHECK(bhclust::family_name(family) == "the family");
  const table good({1.0, -1e100}, 1);
  CHECK_NOTHROW(static_cast<void>(bhclust::bind(family, good.view())));
  const table holes({1.0, missing}, 1);
  check_refused([&] { static_cast<void>(bhclust::bind(family, holes.view())); },
                {"row 1, column 0 is NaN; the family takes no missing values"});
  const auto sparse = table({1.0}, 1).as_sparse();
  check_refused([&] { static_cast<void>(bhclust::bind(family, sparse.view())); },
                {"X is sparse; the family takes dense tables"});
}

TEST_CASE("family: statistics add unless the family says otherwise") {
  const table X({1.0, 5.0, -2.0}, 1);
  const auto plain = bhclust::bind(slow_family{}, X.view());
  const auto a = observed(plain, X, {0, 1});
  const auto b = observed(plain, X, {2});
  CHECK(joined(plain, a, b) == statistics{3.0, 4.0, 30.0});
  CHECK(without(plain, joined(plain, a, b), b) == a);
  CHECK(plain.columns() == 1);
  const auto own = bhclust::bind(largest_family{}, X.view());
  CHECK(joined(own, observed(own, X, {0, 1}), observed(own, X, {2})) == statistics{3.0, 5.0});
  CHECK(without(own, {3.0, 5.0}, {1.0, 5.0}) == statistics{2.0, 5.0});
  CHECK(divergence(own, {2.0, 5.0}, {1.0, 3.0}) == 2.0);
}

TEST_CASE("family: a divergence follows from the potential") {
  const table X({1.0, 3.0, 5.0}, 1);
  const auto model = bhclust::bind(slow_family{}, X.view());
  CHECK(divergence(model, observed(model, X, {0}), observed(model, X, {1})) == 1.0);
  CHECK(near(divergence(model, observed(model, X, {0, 1}), observed(model, X, {2})), 3.0));
  // rounding never makes it negative
  const table Y({0.1, 0.1, 0.1}, 1);
  for (int n = 1; n < 40; ++n) {
    auto t = observed(model, Y, {});
    for (int i = 0; i < n; ++i) t = joined(model, t, observed(model, Y, {0}));
    CHECK(divergence(model, t, observed(model, Y, {1})) >= 0.0);
  }
}

TEST_CASE("family: name, domain, hyperparameters and own check are used") {
  full_family family;
  CHECK(bhclust::family_name(family) == "Full");
  const table bad({1.0, 0.5}, 1);
  check_refused([&] { static_cast<void>(bhclust::bind(family, bad.view())); },
                {"row 1, column 0 is 0.5; Full takes whole numbers"});
  const table three({1.0, 2.0, missing}, 1);
  check_refused([&] { static_cast<void>(bhclust::bind(family, three.view())); },
                {"Full does not like three rows"});
  family.weight = -2.0;
  const table good({1.0, missing}, 1);
  check_refused([&] { static_cast<void>(bhclust::bind(family, good.view())); },
                {"weight is -2; it must be finite and above 0"});
  family.weight = 2.0;
  const auto model = bhclust::bind(family, good.view());
  CHECK(log_marginal(model, observed(model, good, {0, 1})) == -4.0);
}

TEST_CASE("family: what a family lacks is said when it is asked for") {
  static_assert(!bhclust::model_of<full_family>::relaxable);
  static_assert(!bhclust::model_of<full_family>::learnable);
  const auto model = bhclust::bind(full_family{}, 1);
  double t[1] = {1.0};
  check_refused([&] { static_cast<void>(model.divergence(t, t, t)); },
                {"this family has no Bregman potential, which RBHC needs; add potential(t) to it"});
  const auto gradient = "this family has no gradient, which learning needs; add add_gradient to it";
  check_refused([&] { static_cast<void>(model.gradient_size()); }, {gradient});
  check_refused([&] { model.add_gradient(t, 1.0, t); }, {gradient});
}

TEST_CASE("family: no columns, and hyperparameters of another number of columns") {
  check_refused([] { static_cast<void>(bhclust::bind(slow_family{}, 0)); },
                {"X has no columns; at least one is needed"});
  bhclust::for_each_family([](auto tag) {
    using family_type = typename decltype(tag)::type;
    for (const auto& field : family_type::parameters()) {
      INFO(std::string(family_type::name()) << ", " << std::string(field.name));
      family_type family;
      family.*field.member = {1.0, 1.0, 1.0};
      const std::string said = std::string(field.name) + " has 3 value(s) in 1 dimension(s)";
      check_refused([&] { static_cast<void>(bhclust::bind(family, 2)); },
                    {said.c_str(), "for 2 column(s) it must be"});
      family.*field.member = missing;
      const std::string nan = std::string(field.name) + " is nan";
      check_refused([&] { static_cast<void>(bhclust::bind(family, 2)); }, {nan.c_str()});
    }
  });
}

TEST_CASE("family: every family of the list can be used by RBHC and learned") {
  bhclust::for_each_family([](auto tag) {
    using family_type = typename decltype(tag)::type;
    INFO(std::string(family_type::name()));
    CHECK(bhclust::model_of<family_type>::relaxable);
    CHECK(bhclust::model_of<family_type>::learnable);
  });
}

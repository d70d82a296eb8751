#include "clusters.hpp"
#include "refusals.hpp"
#include "slow_family.hpp"
#include "tables.hpp"
#include "typed_examples.hpp"
#include <bhclust/algorithm/greedy.hpp>
#include <bhclust/algorithm/relaxed.hpp>
#include <bhclust/any_family.hpp>
#include <bhclust/detail/cluster_store.hpp>
#include <bhclust/families.hpp>
#include <bhclust/inference/posterior.hpp>

#include <doctest/doctest.h>

#include <string>
#include <utility>
#include <vector>

using namespace testkit;
using bhclust::any_family;
namespace detail = bhclust::detail;

namespace {

/// As little as the concept asks for, and no potential.
struct bare_family {
  [[nodiscard]] static bhclust::index_t width(bhclust::index_t /*columns*/) { return 1; }
  static void observe(const bhclust::row_view& /*row*/, double* t) { t[0] += 1.0; }
  [[nodiscard]] static double log_marginal(const double* t) { return -t[0]; }
};

}  // namespace

TEST_CASE("any_family: is the family it holds, bit for bit") {
  bhclust::for_each_family([](auto tag) {
    using family_type = typename decltype(tag)::type;
    for_each_example_of<family_type>(
        2, 20, 3, [](random_source& random, const family_type& family, const table& X) {
          const any_family any(family);
          const auto t = bhclust::greedy_bhc(X.view(), family);
          const auto s = bhclust::greedy_bhc(X.view(), any);
          CHECK(s.children() == t.children());
          CHECK(s.cost() == t.cost());
          const auto r = bhclust::relaxed_bhc(X.view(), family);
          const auto q = bhclust::relaxed_bhc(X.view(), any);
          CHECK(q.children() == r.children());
          CHECK(q.cost() == r.cost());
          const auto p = bhclust::posterior(t, X.view(), family);
          CHECK(bhclust::posterior(t, X.view(), any).log_tree == p.log_tree);
          const auto own = bhclust::bind(family, X.view());
          const auto erased = bhclust::bind(any, X.view());
          REQUIRE(own.width() == erased.width());
          const auto a = arbitrary_state(random, own, X).t;
          const auto b = arbitrary_state(random, own, X).t;
          CHECK(joined(own, a, b) == joined(erased, a, b));
          CHECK(without(own, joined(own, a, b), b) == without(erased, joined(own, a, b), b));
          CHECK(divergence(own, a, b) == divergence(erased, a, b));
        });
  });
}

TEST_CASE("any_family: knows whom it holds") {
  bhclust::PoissonGamma poisson;
  poisson.shape = 3.0;
  const any_family any(poisson);
  const any_family copy = any;
  CHECK(any.name() == "PoissonGamma");
  CHECK(bhclust::family_name(any) == "PoissonGamma");
  REQUIRE(copy.get_if<bhclust::PoissonGamma>() != nullptr);
  CHECK(copy.get_if<bhclust::PoissonGamma>()->shape == poisson.shape);
  CHECK(any.get_if<bhclust::GeometricBeta>() == nullptr);
  CHECK(any.relaxable());
  CHECK(any_family(slow_family{}).relaxable());
  CHECK(any_family(slow_family{}).name() == "the family");
  CHECK(!any_family(bare_family{}).relaxable());
}

TEST_CASE("any_family: refuses what its family refuses, in its words") {
  const table X({0.0, 2.0}, 1);
  const any_family bits(bhclust::BernoulliBeta{});
  check_refused([&] { bhclust::check_data(bits, X.view()); },
                {"X: row 1, column 0 is 2; BernoulliBeta takes 0 or 1"});
  bhclust::BernoulliBeta wrong;
  wrong.b = -1.0;
  check_refused([&] { static_cast<void>(bhclust::bind(any_family(wrong), 1)); },
                {"b is -1; it must be finite and above 0"});
  check_refused([&] { static_cast<void>(bhclust::bind(bits, 0)); },
                {"X has no columns; at least one is needed"});
  check_refused(
      [] { static_cast<void>(bhclust::bind(any_family(bare_family{}), 1).gradient_size()); },
      {"this family has no gradient, which learning needs; add add_gradient to it"});
  double g = 0.0;
  const double t = 1.0;
  check_refused([&] { bhclust::bind(any_family(bare_family{}), 1).add_gradient(&t, 1.0, &g); },
                {"this family has no gradient, which learning needs; add add_gradient to it"});
}

TEST_CASE("any_family: hands its family's store on, bit for bit") {
  bhclust::for_each_family([](auto tag) {
    using family_type = typename decltype(tag)::type;
    for_each_example_of<family_type>(
        2, 21, 4, [](random_source&, const family_type& family, const table& X) {
          const auto own = bhclust::bind(family, X.view());
          const auto any = bhclust::bind(bhclust::any_family(family), X.view());
          auto one = detail::make_store<detail::evidence_score>(own, X.view());
          auto other = detail::make_store<detail::evidence_score>(any, X.view());
          CHECK(one.merge(3, 5) == other.merge(3, 5));
          one.keep({0, 1, 4, 7, 21});
          other.keep({0, 1, 4, 7, 21});
          REQUIRE(other.slots() == 5);
          typename decltype(one)::query q;
          typename decltype(other)::query p;
          for (index_t a = 0; a < 5; ++a) {
            std::vector<double> x(5), y(5);
            one.load(q, a);
            one.row(q, 0, 5, x.data());
            other.load(p, a);
            other.row(p, 0, 5, y.data());
            CHECK(x == y);
          }
        });
  });
}

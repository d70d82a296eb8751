// Searches by bounds: bounds are below the costs, nearest neighbours are those of all costs, and
// trees are those of the plain store to the last bit.
#include "tables.hpp"
#include "typed_examples.hpp"
#include <bhclust/algorithm/relaxed.hpp>
#include <bhclust/detail/boxed_records.hpp>
#include <bhclust/detail/cluster_store.hpp>
#include <bhclust/detail/score.hpp>
#include <bhclust/detail/screened_search.hpp>
#include <bhclust/families.hpp>
#include <bhclust/family.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <string>
#include <utility>
#include <vector>

using namespace testkit;
namespace detail = bhclust::detail;
using detail::relaxed_score;

namespace {

template <class Store>
bhclust::tree chain_over(Store store, index_t rows, double lambda = infinite) {
  detail::thread_team team(1);
  detail::progress_meter progress({}, rows);
  return detail::chain_run<Store>(std::move(store), rows, lambda, team, progress).run();
}

template <class Model>
void check_tree(const Model& model, const table& X) {
  using plain = detail::cluster_store<typename Model::bare, relaxed_score>;
  const auto wanted = chain_over(plain(model.base(), X.view()), X.rows());
  const auto found = chain_over(detail::make_store<relaxed_score>(model, X.view()), X.rows());
  CHECK(found.parents() == wanted.parents());
  CHECK(found.cost() == wanted.cost());
  if (wanted.merges() == 0) return;
  const double lambda = wanted.cost()[at(wanted.merges() / 2)] + 1e-3;
  const auto forest =
      chain_over(detail::make_store<relaxed_score>(model, X.view()), X.rows(), lambda);
  CHECK(forest.parents() == chain_over(plain(model.base(), X.view()), X.rows(), lambda).parents());
}

/// The nearest by all costs.
detail::cheapest nearest_of(const std::vector<double>& gains, const std::vector<double>& offset) {
  detail::cheapest best;
  for (index_t s = 0; s < count(gains); ++s) best.take(offset[at(s)] - gains[at(s)], s);
  return best;
}

/// Retires some of the slots whose offsets are finite.
template <class Store>
void retire_some(random_source& random, Store& store, std::vector<double>& offset, double share) {
  offset.resize(at(store.slots()), 0.0);
  for (index_t s = 0; s < store.slots(); ++s) {
    if (offset[at(s)] == infinite || !random.chance(share)) continue;
    offset[at(s)] = infinite;
    store.retire(s);
  }
}

/// Slot a against the slots [begin, end), others than itself or not.
template <class Store>
void check_search(const Store& store, index_t a, index_t begin, index_t end, bool others,
                  std::vector<double> offset) {
  typename Store::query q;
  std::vector<double> gains(at(end)), bounds(at(end - begin));
  store.load(q, a);
  store.row(q, 0, end, gains.data());
  store.bounds(q, begin, end, bounds.data());
  for (index_t s = begin; s < end; ++s) {
    if (bounds[at(s - begin)] <= -gains[at(s)]) continue;
    FAIL_CHECK("slots " << a << " and " << s << ": bound " << bounds[at(s - begin)] << ", cost "
                        << -gains[at(s)]);
  }
  if (others) offset[at(a)] = infinite;
  for (index_t s = 0; s < begin; ++s) gains[at(s)] = -infinite;
  const auto wanted = nearest_of(gains, offset);
  const auto of_slot = [&](index_t s) { return offset[at(s)]; };
  detail::cheapest found;
  store.search(q, begin, end, detail::cost_offsets(of_slot, 0.0, true), found);
  CHECK(found.slot == wanted.slot);
  CHECK(found.cost == wanted.cost);
}

/// Every slot against some range, of which some slots are out.
template <class Store>
void check_searches(random_source& random, Store& store, std::vector<double>& offset) {
  for (index_t a = 0; a < store.slots(); ++a) {
    if (a % 16 == 0) retire_some(random, store, offset, 0.05);
    const index_t begin = random.chance(0.5) ? 0 : random.below(store.slots());
    const index_t end = begin + random.below(store.slots() - begin + 1);
    check_search(store, a, begin, end, random.chance(0.5), offset);
  }
}

/// Merges and prunings in turn.
template <class Model>
void check_store(random_source& random, const Model& model, const table& X) {
  auto store = detail::make_store<relaxed_score>(model, X.view());
  CHECK(store.searches());
  CHECK(store.bounds_costs());
  std::vector<double> offset;
  for (int times = 0; times < 3; ++times) {
    check_searches(random, store, offset);
    for (index_t merges = 0; merges < X.rows() / 3; ++merges) {
      store.merge(random.below(store.slots()), random.below(store.slots()));
    }
    check_searches(random, store, offset);
    std::vector<index_t> kept;
    for (index_t s = 0; s < store.slots(); ++s) {
      if (random.chance(offset[at(s)] == infinite ? 0.1 : 0.9)) kept.push_back(s);
    }
    store.keep(kept);
    detail::keep_entries(offset, kept);
  }
}

/// Known variance has a cost that needs no bounds.
template <class Family>
constexpr bool searched =
    bhclust::model_of<Family>::relaxable && !std::is_same_v<Family, bhclust::NormalKnownVariance> &&
    !std::is_same_v<Family, bhclust::GaussianProcess>;

template <class Family>
void check_table(random_source& random, const Family& family, const table& X) {
  const auto model = bhclust::bind(family, X.view());
  check_tree(model, X);
  check_store(random, model, X);
}

/// check(family, random) for each family that is searched.
template <class Check>
void for_each_searched(const Check& check) {
  bhclust::for_each_family([&](auto tag) {
    using family = typename decltype(tag)::type;
    if constexpr (searched<family>) {
      for (std::uint64_t seed = 0; seed < 4; ++seed) {
        CAPTURE(std::string(family::name()));
        CAPTURE(seed);
        random_source random(seed);
        const auto columns = static_cast<index_t>(1 + 3 * seed);
        check(random_family<family>(random, columns), random, columns);
      }
    }
  });
}

}  // namespace

TEST_CASE("searches by bounds: random tables, repeated rows") {
  for_each_searched([](const auto& family, random_source& random, index_t columns) {
    check_table(random, family, random_table(random, family, 90, columns));
  });
}

TEST_CASE("searches by bounds: sparse tables") {
  for_each_searched([](const auto& family, random_source& random, index_t columns) {
    if (!family.takes().sparse) return;
    check_table(random, family, random_table(random, family, 60, columns, layout::sparse));
  });
}

TEST_CASE("searches by bounds: every row many times") {
  for_each_searched([](const auto& family, random_source& random, index_t columns) {
    const auto once = random_table(random, family, 12, columns);
    std::vector<index_t> rows;
    for (index_t i = 0; i < 80; ++i) rows.push_back(random.below(12));
    check_table(random, family, once.taken(rows));
  });
}

TEST_CASE("searches by bounds: all rows equal") {
  for_each_searched([](const auto& family, random_source& random, index_t columns) {
    const auto once = random_table(random, family, 1, columns);
    check_table(random, family, once.taken(std::vector<index_t>(40, 0)));
  });
}

TEST_CASE("searches by bounds: more rows than are kept in the order of slots") {
  random_source random(8);
  const index_t rows = detail::boxed_records::few + 300;
  const auto X = random_table(random, bhclust::PoissonGamma{}, rows, 3);
  const auto model = bhclust::bind(bhclust::PoissonGamma{}, X.view());
  auto store = detail::make_store<relaxed_score>(model, X.view());
  std::vector<double> offset;
  for (int times = 0; times < 2; ++times) {
    for (int merges = 0; merges < 50; ++merges) {
      store.merge(random.below(store.slots()), random.below(store.slots()));
    }
    for (int asked = 0; asked < 40; ++asked) {
      retire_some(random, store, offset, 0.002);
      check_search(store, random.below(store.slots()), asked % 3 == 0 ? 500 : 0,
                   store.slots() - 20 * (asked % 2), asked % 5 != 0, offset);
    }
    std::vector<index_t> kept;
    for (index_t s = 0; s < store.slots(); ++s) {
      if (s % 100 != 7) kept.push_back(s);
    }
    store.keep(kept);
    detail::keep_entries(offset, kept);
  }
}

TEST_CASE("searches by bounds: blocks of columns") {
  for (std::uint64_t seed = 0; seed < 6; ++seed) {
    CAPTURE(seed);
    random_source random(seed);
    const auto columns = static_cast<index_t>(1 + seed);
    std::vector<double> cells;
    const auto counts = random_table(random, bhclust::PoissonGamma{}, 60, columns);
    const auto reals = random_table(random, bhclust::NormalInverseGamma{}, 60, columns);
    for (index_t i = 0; i < 60; ++i) {
      for (index_t j = 0; j < columns; ++j) cells.push_back(counts.cell(i, j));
      for (index_t j = 0; j < columns; ++j) cells.push_back(reals.cell(i, j));
    }
    bhclust::Product product;
    product.blocks.push_back({bhclust::PoissonGamma{}, iota(columns)});
    product.blocks.push_back({bhclust::NormalInverseGamma{}, {}});
    // Ward's cost has a store of its own, whose last digits are not the model's
    const bool known = seed % 2 == 1;
    if (known) product.blocks[1].family = bhclust::NormalKnownVariance{};
    for (index_t j = 0; j < columns; ++j) product.blocks[1].columns.push_back(columns + j);
    const table X(cells, 2 * columns);
    const auto model = bhclust::bind(product, X.view());
    if (!known) check_tree(model, X);
    check_store(random, model, X);
  }
}

TEST_CASE("searches by bounds: the reference method too") {
  for_each_searched([](const auto& family, random_source& random, index_t columns) {
    const table X = random_table(random, family, 60, columns);
    const auto model = bhclust::bind(family, X.view());
    using plain =
        detail::cluster_store<typename std::decay_t<decltype(model)>::bare, relaxed_score>;
    const auto run = [&](auto store) {
      detail::thread_team team(1);
      detail::progress_meter progress({}, 2 * X.rows() - 1);
      return detail::agglomeration<decltype(store), detail::divergence_rule>(
                 std::move(store), {X.rows(), infinite}, X.rows(), team, progress)
          .run();
    };
    const auto wanted = run(plain(model.base(), X.view()));
    const auto found = run(detail::make_store<relaxed_score>(model, X.view()));
    CHECK(found.parents() == wanted.parents());
    CHECK(found.cost() == wanted.cost());
  });
}

TEST_CASE("searches by bounds: counts of every size, rows of zeros") {
  random_source random(3);
  const double sizes[] = {0.0, 0.0, 1.0, 1e4, 1e9, 2e15};
  for (int round = 0; round < 6; ++round) {
    CAPTURE(round);
    const index_t columns = 1 + round;
    std::vector<double> cells;
    for (index_t i = 0; i < 60; ++i) {
      const double size = sizes[random.below(1 + round)];
      for (index_t j = 0; j < columns; ++j) {
        cells.push_back(std::floor(size * (1.0 + 3.0 * random.uniform())));
      }
    }
    const table X(cells, columns);
    check_table(random, bhclust::PoissonGamma{}, X);
    check_table(random, bhclust::MultinomialDirichlet{}, X);
    check_table(random, bhclust::GeometricBeta{}, X);
    check_table(random, bhclust::NegativeBinomialBeta{0.3, 1.0, 1.0}, X);
  }
}

TEST_CASE("searches by bounds: reals of every scale, far from zero, in fewer dimensions") {
  random_source random(4);
  for (int round = 0; round < 12; ++round) {
    CAPTURE(round);
    const index_t columns = 1 + round % 6;
    const double scale = std::pow(10.0, 2.0 * (round - 4));
    const double offset = round % 3 == 0 ? 1e6 * scale : 0.0;
    std::vector<double> cells;
    for (index_t i = 0; i < 50; ++i) {
      const double shared = random.normal();
      for (index_t j = 0; j < columns; ++j) {
        cells.push_back(offset + scale * (round % 2 == 0 ? shared : random.normal()));
      }
    }
    const table X(cells, columns);
    check_table(random, bhclust::NormalInverseWishart::from_data(X.view()), X);
    check_table(random, bhclust::NormalInverseGamma::from_data(X.view()), X);
    if (offset != 0.0) continue;
    for (double& x : cells) x = std::fabs(x) + 1e-9 * scale;
    check_table(random, bhclust::ExponentialGamma{}, {cells, columns});
  }
}

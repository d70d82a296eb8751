// Sparse counts by shared columns: searches find what scores of all pairs say, gains are those of
// the model, trees those of the plain store.
#include "tables.hpp"
#include <bhclust/algorithm/greedy.hpp>
#include <bhclust/detail/clusters_of_columns.hpp>
#include <bhclust/detail/shared_columns_store.hpp>
#include <bhclust/detail/sparse_poisson_store.hpp>
#include <bhclust/family/multinomial_dirichlet.hpp>
#include <bhclust/family/poisson_gamma.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <vector>

using namespace testkit;
namespace detail = bhclust::detail;
using bhclust::MultinomialDirichlet;
using bhclust::PoissonGamma;

namespace {

/// Counts in few of many columns, some rows equal, some empty; counts up to `most`.
table sparse_table(random_source& random, index_t n, index_t d, index_t most) {
  std::vector<double> cells(at(n * d), 0.0);
  for (index_t i = 0; i < n; ++i) {
    double* row = cells.data() + i * d;
    if (i > 0 && random.chance(0.1)) {
      std::copy_n(cells.data() + random.below(i) * d, d, row);
      continue;
    }
    const index_t topic = random.below(3) * d / 4;
    for (index_t k = random.below(12); k > 0; --k) {
      const index_t count = random.chance(0.2) ? most : 3;
      row[topic + random.below(d / 4)] += static_cast<double>(1 + random.below(count));
    }
  }
  constexpr index_t few_zeros = 50;
  return table(cells, d).as_sparse(few_zeros);
}

using multinomial_store =
    detail::shared_columns_store<bhclust::independent<detail::dirichlet_column>>;
using poisson_model = bhclust::independent<detail::poisson_gamma_column>;
using poisson_store = detail::sparse_poisson_store<poisson_model>;

multinomial_store store_of(const MultinomialDirichlet& family, const table& X) {
  const detail::multinomial_model model = family.bind(X.columns());
  const detail::table_with_totals counts(X.view());
  REQUIRE(multinomial_store::takes(model.augmented(), counts.view()));
  return {model.augmented(), counts.view()};
}

poisson_store store_of(const PoissonGamma& family, const table& X) {
  const poisson_model model = family.bind(X.columns());
  return {model, X.view()};
}

/// The members of the slots, as the store merges, retires and drops them.
struct clusters {
  std::vector<std::vector<index_t>> members;
  std::vector<double> offset;
};

template <class Model>
double log_marginal(const Model& model, const table& X, const std::vector<index_t>& rows) {
  std::vector<double> t(at(model.width()), 0.0);
  for (const index_t i : rows) model.observe(X.view().row(i), t.data());
  return model.log_marginal(t.data());
}

template <class Model>
double gain_of(const Model& model, const table& X, std::vector<index_t> a,
               const std::vector<index_t>& b) {
  const double apart = log_marginal(model, X, a) + log_marginal(model, X, b);
  a.insert(a.end(), b.begin(), b.end());
  return log_marginal(model, X, a) - apart;
}

/// A search among [begin, end) finds the cheapest by all gains, and the earliest of equals.
template <class Store>
void check_search(const Store& store, const clusters& all, index_t of, index_t begin, index_t end) {
  typename Store::query q;
  store.load(q, of);
  std::vector<double> gains(at(end - begin));
  store.row(q, begin, end, gains.data());
  detail::cheapest wanted;
  for (index_t s = begin; s < end; ++s) {
    wanted.take(all.offset[at(s)] - gains[at(s - begin)], s);
  }
  detail::cheapest found;
  const auto offset = [&](index_t slot) { return all.offset[at(slot)]; };
  store.search(q, begin, end, detail::cost_offsets(offset, 0.0), found);
  CHECK(found.slot == wanted.slot);
  CHECK(found.cost == wanted.cost);
}

template <class Store, class Family>
void check_gains(const Store& store, const clusters& all, const table& X, const Family& family,
                 index_t of) {
  const auto model = family.bind(X.columns());
  typename Store::query q;
  store.load(q, of);
  std::vector<double> gains(at(store.slots()));
  store.row(q, 0, store.slots(), gains.data());
  const auto& own = all.members[at(of)];
  for (index_t s = 0; s < store.slots(); ++s) {
    if (s == of || all.offset[at(s)] == infinite) continue;
    const double wanted = gain_of(model, X, own, all.members[at(s)]);
    const double size = std::fabs(log_marginal(model, X, own)) +
                        std::fabs(log_marginal(model, X, all.members[at(s)])) + 1.0;
    CHECK(std::fabs(gains[at(s)] - wanted) < 1e-12 * size);
  }
}

/// Two live slots become one; offsets of clusters differ.
template <class Store>
void merge_two(random_source& random, Store& store, clusters& all) {
  std::vector<index_t> live;
  for (index_t s = 0; s < store.slots(); ++s) {
    if (all.offset[at(s)] < infinite) live.push_back(s);
  }
  if (live.size() < 2) return;
  const auto first = random.below(count(live));
  const auto second = (first + 1 + random.below(count(live) - 1)) % count(live);
  const index_t a = live[at(first)];
  const index_t b = live[at(second)];
  store.merge(a, b);
  all.members.push_back(all.members[at(a)]);
  const auto& more = all.members[at(b)];
  all.members.back().insert(all.members.back().end(), more.begin(), more.end());
  all.offset.push_back(static_cast<double>(random.below(3)));
  for (const index_t s : {a, b}) {
    store.retire(s);
    all.offset[at(s)] = infinite;
  }
}

template <class Store>
void drop_dead(Store& store, clusters& all) {
  std::vector<index_t> kept;
  for (index_t s = 0; s < store.slots(); ++s) {
    if (all.offset[at(s)] < infinite) kept.push_back(s);
  }
  store.keep(kept);
  detail::keep_entries(all.offset, kept);
  clusters left;
  for (const index_t s : kept) left.members.push_back(all.members[at(s)]);
  all.members = std::move(left.members);
}

template <class Family>
void check_searches(random_source& random, const table& X, const Family& family) {
  auto store = store_of(family, X);
  clusters all;
  for (index_t i = 0; i < X.rows(); ++i) all.members.push_back({i});
  all.offset.assign(at(X.rows()), 0.0);
  for (int round = 0; round < 58; ++round) {
    merge_two(random, store, all);
    if (round % 9 == 8) drop_dead(store, all);
    for (int asked = 0; asked < 4; ++asked) {
      const index_t of = random.below(store.slots());
      if (all.offset[at(of)] == infinite) continue;
      const index_t begin = asked % 2 == 0 ? 0 : random.below(store.slots());
      check_search(store, all, of, begin, store.slots());
    }
    if (round % 10 == 0) check_gains(store, all, X, family, store.slots() - 1);
  }
}

template <class Family>
void check_tree(const table& X, const Family& family) {
  const auto model = bhclust::bind(family, X.view());
  using plain_store =
      detail::cluster_store<std::decay_t<decltype(model.base())>, detail::evidence_score>;
  detail::thread_team team(1);
  detail::progress_meter progress({}, 2 * X.rows() - 1);
  detail::agglomeration<plain_store, detail::log_d_rule> plain(plain_store(model.base(), X.view()),
                                                               detail::log_d_rule(X.rows(), 1.0),
                                                               X.rows(), team, progress);
  const auto wanted = plain.run();
  const auto one = greedy_bhc(X.view(), family, {1.0, 1, {}});
  const auto three = greedy_bhc(X.view(), family, {1.0, 3, {}});
  CHECK(one.children() == three.children());
  CHECK(one.cost() == three.cost());
  // rows that tie may be told apart by the last bit of other sums: costs, then, not children
  for (index_t k = 0; k < wanted.merges(); ++k) {
    const double cost = wanted.cost()[at(k)];
    CHECK(std::fabs(one.cost()[at(k)] - cost) < 1e-9 * (std::fabs(cost) + 1.0));
  }
}

/// Rates that differ from column to column by orders of magnitude.
PoissonGamma wild_rates(random_source& random, index_t columns) {
  std::vector<double> shapes, rates;
  for (index_t j = 0; j < columns; ++j) {
    shapes.push_back(std::exp(random.normal()));
    rates.push_back(std::exp(4.0 * random.normal()));
  }
  return {shapes, rates};
}

}  // namespace

TEST_CASE("shared columns: searches find the cheapest of all, whatever was merged and dropped") {
  random_source random(4);
  for (const index_t most : {3, 40, 20000}) {  // of which the last is beyond the functions' tables
    const table X = sparse_table(random, 60, 120, most);
    check_searches(random, X,
                   most == 40 ? MultinomialDirichlet{} : MultinomialDirichlet::from_data(X.view()));
    check_searches(random, X, most == 40 ? PoissonGamma{} : PoissonGamma::from_data(X.view()));
    check_searches(random, X, wild_rates(random, X.columns()));
  }
}

TEST_CASE("shared columns: the tree of the plain store, for any number of threads") {
  random_source random(7);
  for (const index_t most : {2, 5000}) {
    const table X = sparse_table(random, 260, 120, most);
    REQUIRE(poisson_store::takes(PoissonGamma{}.bind(X.columns()), X.view()));
    check_tree(X, MultinomialDirichlet::from_data(X.view()));
    check_tree(X, PoissonGamma::from_data(X.view()));
    check_tree(X, wild_rates(random, X.columns()));
  }
}

TEST_CASE("shared columns: sums of logarithms of rates are nearly right") {
  random_source random(11);
  for (const index_t rows : {2, 3, 50, 100000}) {
    const std::vector<double> rates{1e-6, 0.03, 1.0, 7.5, 900.0, 1e9};
    detail::rate_sums sums(rates, rows);
    std::vector<detail::sparse_counts> of_rows;
    for (int i = 0; i < 2; ++i) {
      detail::sparse_counts row{{}, {1.0, 0.0}};
      for (std::uint32_t j = 0; j < 6; ++j) {
        const auto x = static_cast<double>(1 + random.below(1000));
        if (random.chance(0.7)) row.cells.push_back({j, {x, 0.0}});
      }
      sums.add_row(row);
      of_rows.push_back(std::move(row));
    }
    sums.end_rows();
    sums.merge(-1, -2);
    const auto both = detail::united(of_rows[0], of_rows[1]);
    const double counts = sums.counts_of(both);
    CHECK(sums.rounding(1.0) < 1e-5);
    for (index_t m = 2; m <= rows; m += 1 + m / 7) {
      const auto n = static_cast<double>(m);
      const double right = sums.exact(both, n);
      const double about = sums.about_gain(sums.of(-1), 0, n, 0.0);
      CHECK(std::fabs(about + right + sums.exact(of_rows[0], n)) <= sums.rounding(2.0 * counts));
    }
    CHECK(sums.log_marginal(of_rows[0], of_rows[1]) == doctest::Approx(-sums.exact(both, 2.0)));
    CHECK(sums.gain(of_rows[0], of_rows[1]) ==
          doctest::Approx(sums.exact(of_rows[0], 1.0) + sums.exact(of_rows[1], 1.0) -
                          sums.exact(both, 2.0)));
  }
}

TEST_CASE("shared columns: lists of clusters forget those that go") {
  detail::clusters_of_columns lists(4);
  const auto counts = [](const std::vector<std::uint32_t>& columns) {
    detail::sparse_counts made;
    for (const auto j : columns) made.cells.push_back({j, {2.0, 0.0}});
    return made;
  };
  const auto own = [](index_t j, double m) { return static_cast<double>(j) + m; };
  lists.add(0, counts({0, 2}), own);
  lists.add(1, counts({2, 3}), own);
  lists.add(2, counts({2}), own);
  lists.remove(1, counts({2, 3}));
  REQUIRE(lists[2].size() == 2);
  CHECK(lists[2][1].cluster == 2);
  CHECK(lists[2][1].own == 4.0);
  CHECK(lists[3].empty());
  lists.keep({2}, 3);
  CHECK(lists[0].empty());
  REQUIRE(lists[2].size() == 1);
  CHECK(lists[2][0].cluster == 0);
}

// Ward's method by rounds: against the chain and the greedy method, with ties, equal rows, far
// rows, λ, threads, and every plan.
#include "random_source.hpp"
#include "relaxed_runs.hpp"
#include "slow_family.hpp"
#include "tables.hpp"
#include <bhclust/algorithm/relaxed.hpp>
#include <bhclust/analysis/cut.hpp>
#include <bhclust/any_family.hpp>
#include <bhclust/family/normal_known_variance.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

using namespace testkit;
using bhclust::NormalKnownVariance;
using bhclust::relaxed_bhc;
using bhclust::relaxed_method;
using bhclust::tree;
using bhclust::detail::ward_plan;

namespace {

enum class shape { normal, mixture, uniform, line, ties, grid, copies, outlier, offset, tiny };
constexpr shape all_shapes[] = {shape::normal, shape::mixture, shape::uniform, shape::line,
                                shape::ties,   shape::grid,    shape::copies,  shape::outlier,
                                shape::offset, shape::tiny};
constexpr shape tie_free[] = {shape::normal,  shape::mixture, shape::uniform, shape::line,
                              shape::outlier, shape::offset,  shape::tiny};

double cell(shape kind, index_t i, index_t j, random_source& random) {
  const auto at_row = static_cast<double>(i);
  switch (kind) {
    case shape::normal:
      return random.normal();
    case shape::mixture:
      return random.normal() + 20.0 * static_cast<double>((i * (j + 3)) % 7);
    case shape::uniform:
      return random.uniform();
    case shape::line:
      return j == 0 ? std::pow(at_row, 1.5) : 0.0;
    case shape::ties:
      return static_cast<double>(random.below(40));
    case shape::grid:
      return static_cast<double>(j == 0 ? i % 23 : j == 1 ? i / 23 : 0);
    case shape::copies:
      return static_cast<double>((i * i + 7 * j) % 11) * 0.37;
    case shape::outlier:
      return i == 5 ? 1e8 : random.normal();
    case shape::offset:
      return 1e6 + random.normal();
    case shape::tiny:
      return 1e-60 * random.normal();
  }
  return 0.0;
}

table make(shape kind, index_t n, index_t d, std::uint64_t seed = 1) {
  random_source random(seed);
  std::vector<double> cells;
  for (index_t i = 0; i < n; ++i) {
    for (index_t j = 0; j < d; ++j) cells.push_back(cell(kind, i, j, random));
  }
  return {cells, d};
}

/// Every regime from the first merge to the last.
std::vector<ward_plan> plans() {
  std::vector<ward_plan> all;
  for (const index_t length : {1, 2, 4, 6}) {
    for (const double flat : {0.0, 2.0}) all.push_back({length, 0.0, flat});
  }
  all.push_back({4, 0.2, 0.6});
  all.push_back({1, 2.0, 2.0});
  return all;
}

bool with_chain(const ward_plan& plan) { return plan.chain_share > 0.0; }

/// Whether pairs may cost the same, so that the tree depends on the order of merges.
bool with_ties(shape kind) {
  return std::find(std::begin(tie_free), std::end(tie_free), kind) == std::end(tie_free);
}

tree ward(const table& X, const ward_plan& plan, double lambda = infinite, int threads = 1) {
  bhclust::detail::progress_meter progress({}, X.rows());
  const std::vector<double> unit(at(X.columns()), std::sqrt(2.0));
  return bhclust::detail::ward_tree(X.view(), unit, lambda, plan, threads, progress);
}

std::size_t differences(const std::vector<double>& a, const std::vector<double>& b,
                        double relative) {
  std::size_t wrong = a.size() == b.size() ? 0 : 1;
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    if (!(std::fabs(a[i] - b[i]) <= relative * std::fabs(b[i]))) ++wrong;
  }
  return wrong;
}

/// Sizes and means of all nodes, in long double.
struct summary {
  std::vector<long double> size;
  std::vector<std::vector<long double>> mean;

  summary(const tree& t, const table& X) {
    for (index_t i = 0; i < t.leaves(); ++i) {
      size.push_back(1.0L);
      mean.emplace_back();
      for (index_t j = 0; j < X.columns(); ++j) mean.back().push_back(X.cell(i, j));
    }
    for (index_t k = t.leaves(); k < t.nodes(); ++k) {
      const auto a = at(t.left(k));
      const auto b = at(t.right(k));
      size.push_back(size[a] + size[b]);
      mean.emplace_back();
      for (std::size_t j = 0; j < mean[a].size(); ++j) {
        mean.back().push_back((size[a] * mean[a][j] + size[b] * mean[b][j]) / size.back());
      }
    }
  }
  [[nodiscard]] long double cost(index_t a, index_t b) const {
    long double sum = 0.0L;
    for (std::size_t j = 0; j < mean[at(a)].size(); ++j) {
      const long double apart = mean[at(a)][j] - mean[at(b)][j];
      sum += apart * apart;
    }
    return 0.5L * sum * size[at(a)] * size[at(b)] / (size[at(a)] + size[at(b)]);
  }
};

/// How far apart cells of a column mostly are.
long double typical_distance(const table& X) {
  std::vector<double> apart;
  for (index_t i = 1; i < X.rows(); ++i) apart.push_back(std::fabs(X.cell(i, 0) - X.cell(0, 0)));
  std::nth_element(apart.begin(), apart.begin() + X.rows() / 2, apart.end());
  return apart[at(X.rows() / 2)];
}

/// The tree is one that greedy merging may end in: each merge is, when its turn comes in order of
/// cost, as cheap as any. Roots of costs are distances, which rounding changes by some 1e-16 of the
/// means.
void check_valid(const tree& t, const table& X) {
  const summary s(t, X);
  const auto slack = 1e-14L * typical_distance(X);
  const auto cheaper = [slack](long double a, long double b) {
    return std::sqrt(a) < std::sqrt(b) * (1.0L - 1e-11L) - slack;
  };
  std::vector<index_t> live;
  for (index_t i = 0; i < t.leaves(); ++i) live.push_back(i);
  std::size_t dear = 0;
  for (index_t k = t.leaves(); k < t.nodes(); ++k) {
    const auto own = s.cost(t.left(k), t.right(k));
    const auto given = static_cast<long double>(t.cost(k));
    if (cheaper(own, given) || cheaper(given, own)) ++dear;
    for (const index_t child : {t.left(k), t.right(k)}) {
      live.erase(std::find(live.begin(), live.end(), child));
      for (const index_t other : live) {
        if (cheaper(s.cost(child, other), own)) ++dear;
      }
    }
    live.push_back(k);
  }
  CHECK(dear == 0);
}

struct cancelled {};

}  // namespace

TEST_CASE("ward: rounds, chain and greedy method agree where there are no ties") {
  for (const shape kind : tie_free) {
    for (const index_t d : {1, 2, 5, 11}) {
      CAPTURE(static_cast<int>(kind));
      CAPTURE(d);
      const auto X = make(kind, 300, d);
      const NormalKnownVariance family;
      // 1e8 away, a column is left with 8 digits; the chain has no more
      const double tolerance = kind == shape::offset || kind == shape::outlier ? 1e-7 : 1e-11;
      const auto rounds = relaxed_bhc(X.view(), family, by(relaxed_method::rounds));
      const auto wanted = relaxed_bhc(X.view(), family, by(relaxed_method::greedy)).cost();
      const auto chain = relaxed_bhc(X.view(), family, by(relaxed_method::nn_chain)).cost();
      CHECK(differences(rounds.cost(), sorted(wanted), tolerance) == 0);
      CHECK(differences(rounds.cost(), sorted(chain), tolerance) == 0);
    }
  }
}

TEST_CASE("ward: every plan merges nearest neighbours only, whatever the rows") {
  for (const shape kind : all_shapes) {
    for (const index_t d : {1, 2, 9}) {
      CAPTURE(static_cast<int>(kind));
      CAPTURE(d);
      const auto X = make(kind, 260, d, 3);
      for (const auto& plan : plans()) {
        CAPTURE(plan.list_length);
        CAPTURE(plan.flat_share);
        CAPTURE(plan.chain_share);
        const auto t = ward(X, plan);
        CHECK(t.merges() == 259);
        check_valid(t, X);
      }
    }
  }
}

TEST_CASE("ward: every plan gives the same tree, with ties all of them without a chain") {
  for (const shape kind : all_shapes) {
    for (const index_t d : {2, 9}) {
      CAPTURE(static_cast<int>(kind));
      const auto X = make(kind, 1000, d, 4);
      const auto first = ward(X, plans()[0]);
      std::size_t other = 0;
      for (const auto& plan : plans()) {
        if (with_ties(kind) && with_chain(plan)) continue;
        const auto t = ward(X, plan);
        if (t.children() != first.children()) ++other;
        CHECK(differences(t.cost(), first.cost(), kind == shape::offset ? 1e-7 : 1e-9) == 0);
      }
      CHECK(other == 0);
    }
  }
}

TEST_CASE("ward: a λ-forest is the one tree cut at λ") {
  for (const shape kind : all_shapes) {
    const auto X = make(kind, 400, 2, 5);
    for (const auto& plan : plans()) {
      if (with_ties(kind) && with_chain(plan)) continue;  // other ids, other trees
      const auto one = ward(X, plan);
      const auto costs = one.cost();
      for (const double quantile : {0.0, 0.2, 0.5, 0.9, 0.995}) {
        CAPTURE(static_cast<int>(kind));
        CAPTURE(quantile);
        const double lambda =
            1.0000001 * costs[static_cast<std::size_t>(quantile * 398.0)] + 1e-300;
        const auto forest = ward(X, plan, lambda);
        CHECK(bhclust::labels_of(forest, forest.roots()) == labels_below(one, lambda));
        for (const double cost : forest.cost()) CHECK(cost < lambda);
      }
    }
  }
}

TEST_CASE("ward: the tree does not depend on the number of threads") {
  for (const shape kind : all_shapes) {
    const auto X = make(kind, 6000, 3, 6);
    for (const double flat : {0.0, 2.0}) {
      const ward_plan plan{4, 0.01, flat};
      const auto one = ward(X, plan);
      for (const int threads : {2, 3, 5}) {
        const auto many = ward(X, plan, infinite, threads);
        CHECK(many.children() == one.children());
        CHECK(many.cost() == one.cost());
      }
    }
  }
}

TEST_CASE("ward: bytes, of all rows or region by region, change nothing") {
  for (const shape kind : all_shapes) {
    CAPTURE(static_cast<int>(kind));
    const auto X = make(kind, 2200, 7, 11);
    const auto flat = ward(X, {4, 0.0, 0.0});
    const auto boxes = ward(X, {4, 0.0, 2.0}, infinite, 2);
    CHECK(boxes.children() == flat.children());
    CHECK(boxes.cost() == flat.cost());
    if (with_ties(kind)) continue;
    const double tolerance = kind == shape::offset || kind == shape::outlier ? 1e-7 : 1e-11;
    const auto chain =
        relaxed_bhc(X.view(), NormalKnownVariance{}, by(relaxed_method::nn_chain)).cost();
    CHECK(differences(flat.cost(), sorted(chain), tolerance) == 0);
  }
}

TEST_CASE("ward: equal rows are one tree at no cost, the two oldest nodes first") {
  const table X({5.0, 1.0, 5.0, -0.0, 5.0, 1.0, 5.0, 5.0, 0.0}, 1);
  const auto t = relaxed_bhc(X.view(), NormalKnownVariance{}, by(relaxed_method::rounds));
  const std::vector<index_t> first(t.children().begin(), t.children().begin() + 12);
  CHECK(first == std::vector<index_t>{0, 2, 4, 6, 7, 9, 10, 11, 1, 5, 3, 8});
  for (index_t k = 9; k < 15; ++k) CHECK(t.cost(k) == 0.0);
  CHECK(t.cost(15) > 0.0);
  CHECK(t.merges() == 8);
}

TEST_CASE("ward: columns in units of their own") {
  const auto X = make(shape::normal, 500, 3, 7);
  const NormalKnownVariance family{{0.01, 4.0, 900.0}, 0.0, 1.0};
  const auto rounds = relaxed_bhc(X.view(), family, by(relaxed_method::rounds));
  const auto greedy = relaxed_bhc(X.view(), family, by(relaxed_method::greedy));
  CHECK(differences(rounds.cost(), sorted(greedy.cost()), 1e-11) == 0);
}

TEST_CASE("ward: rounds are taken where they can be had, also of a family chosen at run time") {
  const auto X = make(shape::mixture, 700, 2, 8);
  const NormalKnownVariance family;
  const auto rounds = relaxed_bhc(X.view(), family, by(relaxed_method::rounds));
  const auto chosen = relaxed_bhc(X.view(), family, by(relaxed_method::automatic));
  const auto erased =
      relaxed_bhc(X.view(), bhclust::any_family(family), by(relaxed_method::automatic));
  CHECK(std::is_sorted(rounds.cost().begin(), rounds.cost().end()));
  for (const auto& t : {chosen, erased}) {
    CHECK(t.children() == rounds.children());
    CHECK(t.cost() == rounds.cost());
  }
}

TEST_CASE("ward: where rounds cannot be had the chain is taken, or the reason given") {
  auto cells = make(shape::normal, 50, 2, 9).cells();
  cells[7] = missing;
  const table holes(cells, 2);
  const NormalKnownVariance family;
  const auto automatic = relaxed_bhc(holes.view(), family, by(relaxed_method::automatic));
  CHECK(automatic.children() ==
        relaxed_bhc(holes.view(), family, by(relaxed_method::nn_chain)).children());
  const auto message = doctest::Contains("rounds need NormalKnownVariance");
  CHECK_THROWS_WITH_AS(
      static_cast<void>(relaxed_bhc(holes.view(), family, by(relaxed_method::rounds))), message,
      std::invalid_argument);
  const auto X = make(shape::normal, 50, 1, 9);
  CHECK_THROWS_WITH_AS(
      static_cast<void>(relaxed_bhc(X.view(), slow_family{}, by(relaxed_method::rounds))), message,
      std::invalid_argument);
}

TEST_CASE("ward: progress rises to the total, and an exception from it ends the work") {
  const auto X = make(shape::uniform, 20000, 6, 10);
  for (const int threads : {1, 3}) {
    auto options = by(relaxed_method::rounds, infinite, threads);
    std::vector<std::pair<index_t, index_t>> reports;
    options.progress = [&](index_t done, index_t total) { reports.emplace_back(done, total); };
    static_cast<void>(relaxed_bhc(X.view(), NormalKnownVariance{}, options));
    CHECK(reports.size() > 2);
    CHECK(std::is_sorted(reports.begin(), reports.end()));
    CHECK(reports.back() == std::make_pair(X.rows(), X.rows()));
    options.progress = [](index_t, index_t) { throw cancelled{}; };
    CHECK_THROWS_AS(static_cast<void>(relaxed_bhc(X.view(), NormalKnownVariance{}, options)),
                    cancelled);
  }
}

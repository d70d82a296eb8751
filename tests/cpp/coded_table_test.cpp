#include "tables.hpp"
#include <bhclust/detail/coded_table.hpp>
#include <bhclust/detail/row_bounds.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

using namespace testkit;
using bhclust::detail::coded_table;
using bhclust::detail::gain_table;

namespace {

/// Cells with few or many levels, some of them NaN.
table random_cells(random_source& random, index_t rows, const std::vector<index_t>& levels,
                   bool holes) {
  std::vector<double> cells;
  for (index_t i = 0; i < rows; ++i) {
    for (const index_t k : levels) {
      const bool hole = holes && random.chance(0.1);
      cells.push_back(hole ? missing : static_cast<double>(random.below(k)) - 1.0);
    }
  }
  return {std::move(cells), count(levels)};
}

/// A term for each level of each column that no other has.
gain_table distinct_terms(const coded_table& coded, index_t columns, random_source& random) {
  gain_table gains;
  coded.begin_fill(gains);
  std::size_t flat = 0;
  for (index_t j = 0; j < columns; ++j) {
    for (std::size_t v = 0; v < coded.levels(j).size(); ++v) {
      gains.of_level[flat++] = random.normal();
    }
  }
  CHECK(flat == gains.of_level.size());
  coded.end_fill(gains);
  return gains;
}

index_t level_of(const coded_table& coded, index_t j, double x) {
  const auto& levels = coded.levels(j);
  for (std::size_t v = 0; v < levels.size(); ++v) {
    if (levels[v] == x || (std::isnan(levels[v]) && std::isnan(x))) return static_cast<index_t>(v);
  }
  return -1;
}

double slow_sum(const coded_table& coded, const gain_table& gains, const table& X, index_t i) {
  double sum = 0.0;
  std::size_t start = 0;
  for (index_t j = 0; j < X.columns(); ++j) {
    sum += gains.of_level[start + at(level_of(coded, j, X.cell(i, j)))];
    start += coded.levels(j).size();
  }
  return sum;
}

std::vector<double> sums_of(const coded_table& coded, const gain_table& gains) {
  std::vector<double> sums(at(coded.size()));
  coded.sum(gains, 0, coded.size(), sums.data());
  return sums;
}

/// Every row's levels and sums, whole and in parts.
void check_rows(const coded_table& coded, const gain_table& gains, const table& X,
                const std::vector<index_t>& rows) {
  REQUIRE(coded.size() == count(rows));
  std::vector<double> sums(rows.size() + 1, -77.0);
  coded.sum(gains, 0, coded.size(), sums.data());
  CHECK(sums.back() == -77.0);
  for (index_t s = 0; s < coded.size(); ++s) {
    const index_t i = rows[at(s)];
    CHECK(std::fabs(sums[at(s)] - slow_sum(coded, gains, X, i)) < 1e-12);
    index_t next = 0;
    coded.for_each_level(s, [&](index_t j, index_t v) {
      CHECK(j == next++);
      CHECK(v == level_of(coded, j, X.cell(i, j)));
    });
    CHECK(next == X.columns());
    for (index_t end = s; end <= coded.size(); end += 3) {
      std::vector<double> part(at(end - s) + 1);
      coded.sum(gains, s, end, part.data());
      for (index_t k = s; k < end; ++k) CHECK(part[at(k - s)] == sums[at(k)]);
    }
  }
}

void check_table(random_source& random, const table& X) {
  coded_table coded(X.view());
  const auto gains = distinct_terms(coded, X.columns(), random);
  auto rows = iota(X.rows());
  check_rows(coded, gains, X, rows);
  for (int pruning = 0; pruning < 3; ++pruning) {
    std::vector<index_t> kept, names;
    for (index_t s = 0; s < coded.size(); ++s) {
      if (!random.chance(0.6)) continue;
      kept.push_back(s);
      names.push_back(rows[at(s)]);
    }
    coded.keep(kept);
    rows = names;
    check_rows(coded, gains, X, rows);
    if (coded.sparse()) continue;
    gain_table not_coded = gains;
    not_coded.coded = false;
    CHECK(sums_of(coded, not_coded) == sums_of(coded, gains));
  }
}

}  // namespace

TEST_CASE("coded table: levels ascend, NaN is the last, ±0 are one") {
  const table X({2.0, missing, -0.0, 0.0, 2.0, -1.5, missing}, 1);
  const coded_table coded(X.view());
  const auto& levels = coded.levels(0);
  REQUIRE(levels.size() == 4);
  CHECK(levels[0] == -1.5);
  CHECK(levels[1] == 0.0);
  CHECK(levels[2] == 2.0);
  CHECK(std::isnan(levels[3]));
}

TEST_CASE("coded table: sparse columns have the level zero first, stored or not") {
  const auto X = table({0.0, 3.0, 0.0, 0.0, 2.0, 0.0}, 3).as_sparse(1000);
  const coded_table coded(X.view());
  CHECK(coded.levels(0) == std::vector<double>{0.0});
  CHECK(coded.levels(1) == std::vector<double>{0.0, 2.0, 3.0});
  CHECK(coded.levels(2) == std::vector<double>{0.0});
}

TEST_CASE("coded table: equal rows have one number, different ones count from 0") {
  random_source random(6);
  const auto X = random_cells(random, 200, {2, 3, 2, 2}, true);
  const auto number = coded_table(X.view()).numbered();
  index_t next = 0;
  for (index_t i = 0; i < X.rows(); ++i) {
    CHECK(number[at(i)] <= next);
    next = std::max(next, number[at(i)] + 1);
    for (index_t k = 0; k < i; ++k) {
      bool same = true;
      for (index_t j = 0; j < X.columns(); ++j) {
        const double x = X.cell(i, j);
        same = same && (x == X.cell(k, j) || (std::isnan(x) && std::isnan(X.cell(k, j))));
      }
      CHECK((number[at(i)] == number[at(k)]) == same);
    }
  }
}

TEST_CASE("coded table: zeros that are stored and zeros that are not make equal rows") {
  const auto X = table({0.0, 3.0, 0.0, 3.0, 2.0, 0.0}, 2).as_sparse(1000);
  CHECK(coded_table(X.view()).numbered() == std::vector<index_t>{0, 0, 1});
}

TEST_CASE("coded table: terms of rows with rows, by codes as by levels") {
  random_source random(7);
  for (const auto& levels : {std::vector<index_t>(9, 2), std::vector<index_t>{3, 3, 3, 30, 2}}) {
    const auto X = random_cells(random, 40, levels, true);
    const coded_table coded(X.view());
    std::vector<double> pairs;
    std::vector<std::size_t> start;
    for (index_t j = 0; j < X.columns(); ++j) {
      start.push_back(pairs.size());
      const auto n = coded.levels(j).size();
      for (std::size_t e = 0; e < n * n; ++e) pairs.push_back(random.normal());
    }
    const auto terms = coded.pairs_of_codes(pairs);
    gain_table by_codes, by_levels;
    coded.begin_fill(by_codes);
    coded.begin_fill(by_levels);
    for (index_t s = 0; s < coded.size(); ++s) {
      std::size_t flat = 0;
      coded.for_each_level(s, [&](index_t j, index_t v) {
        const auto n = coded.levels(j).size();
        std::copy_n(pairs.begin() + static_cast<std::ptrdiff_t>(start[at(j)] + at(v) * n), n,
                    by_levels.of_level.begin() + static_cast<std::ptrdiff_t>(flat));
        flat += n;
      });
      coded.end_fill(by_levels);
      coded.fill_pairs(terms, s, by_codes);
      CHECK(sums_of(coded, by_codes) == sums_of(coded, by_levels));
      coded.end_fill(by_codes);
      CHECK(sums_of(coded, by_codes) == sums_of(coded, by_levels));
    }
  }
}

/// Every row's sum is within its bound; with few steps between, as many rows are ruled out.
void check_bounds(const coded_table& coded, const gain_table& gains,
                  const bhclust::detail::row_bounds& rows,
                  const bhclust::detail::bound_table& bounds) {
  const auto sums = sums_of(coded, gains);
  std::vector<std::uint16_t> penalty(sums.size() + 32);
  for (index_t s = 0; s < coded.size(); s += 32) {
    rows.block(bounds, s / 32, penalty.data() + s);
  }
  for (std::size_t s = 0; s < sums.size(); ++s) {
    CHECK(sums[s] <= bounds.top - bounds.step * (penalty[s] - 1.0));
    CHECK(penalty[s] <= rows.limit(bounds, sums[s]));
  }
  CHECK(*std::min_element(penalty.begin(), penalty.begin() + coded.size()) <
        rows.limit(bounds, *std::min_element(sums.begin(), sums.end())));
}

TEST_CASE("row bounds: no sum is above its bound, of clusters and of rows, rows kept or not") {
  random_source random(8);
  for (const auto& levels : {std::vector<index_t>(70, 2), std::vector<index_t>(11, 7),
                             std::vector<index_t>{30, 2, 3, 30, 4, 4, 5, 2}}) {
    for (const bool holes : {false, true}) {
      const auto X = random_cells(random, 100, levels, holes);
      coded_table coded(X.view());
      bhclust::detail::row_bounds rows(coded);
      REQUIRE(rows.usable());
      std::vector<double> pairs;
      for (index_t j = 0; j < X.columns(); ++j) {
        const auto n = coded.levels(j).size();
        for (std::size_t e = 0; e < n * n; ++e) pairs.push_back(random.normal());
      }
      const auto terms = coded.pairs_of_codes(pairs);
      rows.tabulate_pairs(pairs, 0.0);
      REQUIRE(rows.has_pairs());
      bhclust::detail::bound_table bounds;
      for (int pruning = 0; pruning < 3; ++pruning) {
        const auto gains = distinct_terms(coded, X.columns(), random);
        rows.fill(gains, 0.0, bounds);
        check_bounds(coded, gains, rows, bounds);
        gain_table of_row;
        for (index_t s = 0; s < coded.size(); s += 7) {
          coded.fill_pairs(terms, s, of_row);
          rows.fill_pairs(coded, s, bounds);
          check_bounds(coded, of_row, rows, bounds);
        }
        std::vector<index_t> kept;
        for (index_t s = 0; s < coded.size(); ++s) {
          if (random.chance(0.7)) kept.push_back(s);
        }
        coded.keep(kept);
        rows.keep(kept);
      }
    }
  }
}

TEST_CASE("coded table: sums of dense rows, columns of few and of many levels") {
  random_source random(1);
  for (const auto& levels :
       {std::vector<index_t>{1}, std::vector<index_t>{1, 1, 1}, std::vector<index_t>(17, 2),
        std::vector<index_t>{300}, std::vector<index_t>{16, 16, 2},
        std::vector<index_t>{2, 300, 2, 2}, std::vector<index_t>{300, 300},
        std::vector<index_t>{255, 1, 2, 128, 2, 3}}) {
    for (const bool holes : {false, true})
      check_table(random, random_cells(random, 37, levels, holes));
  }
}

TEST_CASE("coded table: sums of sparse rows") {
  random_source random(2);
  for (const index_t columns : {1, 3, 40}) {
    std::vector<double> cells;
    for (index_t e = 0; e < 37 * columns; ++e) {
      cells.push_back(random.chance(0.8) ? 0.0 : 1.0 + static_cast<double>(random.below(5)));
    }
    check_table(random, table(cells, columns).as_sparse());
    check_table(random, table(cells, columns).as_sparse(1));
  }
}

TEST_CASE("coded table: a sparse table of zeros") {
  random_source random(3);
  check_table(random, table(std::vector<double>(12, 0.0), 3).as_sparse(1000));
}

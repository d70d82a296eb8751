#include "refusals.hpp"
#include "tables.hpp"
#include <bhclust/types.hpp>

#include <doctest/doctest.h>

#include <string>
#include <utility>
#include <vector>

using namespace testkit;
using bhclust::require;
using bhclust::row_view;
using bhclust::span;

namespace {

/// All (column, value) pairs in the order of for_each.
std::vector<std::pair<index_t, double>> seen(const row_view& row) {
  std::vector<std::pair<index_t, double>> cells;
  row.for_each([&](index_t j, double x) { cells.emplace_back(j, x); });
  return cells;
}

}  // namespace

TEST_CASE("span: a view of a container") {
  std::vector<int> values{3, 1, 4};
  const span<int> s(values);
  CHECK(s.size() == 3);
  CHECK(!s.empty());
  CHECK(s[2] == 4);
  s[0] = 5;
  CHECK(values[0] == 5);
  int sum = 0;
  for (const int x : s) sum += x;
  CHECK(sum == 10);
  const span<const int> c(values);
  CHECK(c.data() == values.data());
  const span<const int> part(values.data() + 1, 2);
  CHECK(part[0] == 1);
  CHECK(span<int>().empty());
  CHECK(span<int>().begin() == span<int>().end());
}

TEST_CASE("require: throws with the message, which is made only when needed") {
  CHECK_NOTHROW(require(true, "not thrown"));
  check_refused([] { require(false, "what is needed"); }, {"what is needed"});
  int made = 0;
  const auto message = [&made] {
    ++made;
    return "made of facts: " + std::to_string(7);
  };
  require(true, message);
  CHECK(made == 0);
  check_refused([&] { require(false, message); }, {"made of facts: 7"});
  CHECK(made == 1);
  CHECK_THROWS_AS(require(false, "x"), std::invalid_argument);
}

TEST_CASE("a missing cell is NaN, and only that") {
  CHECK(bhclust::is_missing(missing));
  CHECK(bhclust::is_missing(-missing));
  CHECK(!bhclust::is_missing(0.0));
  CHECK(!bhclust::is_missing(infinite));
}

TEST_CASE("row_view: dense") {
  const std::vector<double> values{1.5, 0.0, -2.0};
  const row_view row(values.data(), 3);
  CHECK(!row.sparse());
  CHECK(row.columns() == 3);
  CHECK(row.stored() == 3);
  CHECK(row.column(2) == 2);
  CHECK(row.value(2) == -2.0);
  CHECK(seen(row) == std::vector<std::pair<index_t, double>>{{0, 1.5}, {1, 0.0}, {2, -2.0}});
}

TEST_CASE("row_view: sparse rows are walked with their zeros") {
  const std::vector<double> values{1.5, -2.0};
  const std::vector<index_t> indices{1, 3};
  const row_view row(values.data(), indices.data(), 2, 5);
  CHECK(row.sparse());
  CHECK(row.columns() == 5);
  CHECK(row.stored() == 2);
  CHECK(row.column(1) == 3);
  CHECK(row.value(1) == -2.0);
  CHECK(seen(row) ==
        std::vector<std::pair<index_t, double>>{{0, 0.0}, {1, 1.5}, {2, 0.0}, {3, -2.0}, {4, 0.0}});
  const row_view empty(values.data(), indices.data(), 0, 2);
  CHECK(seen(empty) == std::vector<std::pair<index_t, double>>{{0, 0.0}, {1, 0.0}});
  const row_view last(values.data(), indices.data(), 2, 4);
  CHECK(seen(last).back() == std::pair<index_t, double>(3, -2.0));
}

TEST_CASE("row_view: a sparse row of a table that stores nothing, whose arrays may be null") {
  const row_view row(nullptr, nullptr, 0, 3);
  CHECK(row.sparse());
  CHECK(seen(row) == std::vector<std::pair<index_t, double>>{{0, 0.0}, {1, 0.0}, {2, 0.0}});
}

TEST_CASE("table_view: dense with a stride") {
  const std::vector<double> cells{0, 1, 99, 10, 11, 99, 20, 21, 99};
  const bhclust::table_view X(cells.data(), 3, 2, 3);
  CHECK(X.rows() == 3);
  CHECK(X.columns() == 2);
  CHECK(!X.sparse());
  for (index_t i = 0; i < 3; ++i) {
    for (index_t j = 0; j < 2; ++j) CHECK(X.row(i).value(j) == static_cast<double>(10 * i + j));
  }
  // rows from the last to the first
  const bhclust::table_view reversed(cells.data() + 6, 3, 2, -3);
  CHECK(reversed.row(2).value(1) == 1.0);
}

TEST_CASE("table_view: CSR") {
  const table dense({0, 1, 0, 0, 0, 0, 2, 0, 3}, 3);
  const auto sparse = dense.as_sparse(1000);
  const auto X = sparse.view();
  CHECK(X.sparse());
  CHECK(X.rows() == 3);
  CHECK(X.columns() == 3);
  CHECK(X.row(2).stored() == 2);
  for (index_t i = 0; i < 3; ++i) {
    for (const auto& [j, x] : seen(X.row(i))) CHECK(x == dense.cell(i, j));
  }
}

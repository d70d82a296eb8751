// What cells and layouts are refused, and in which words.
#include "refusals.hpp"
#include "tables.hpp"
#include <bhclust/domain.hpp>
#include <bhclust/families.hpp>
#include <bhclust/family.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

using namespace testkit;
using bhclust::cell;
using bhclust::domain;

namespace {

/// The cell in row 1, column 2 of an else good table.
void check_cell(const domain& d, double x, std::initializer_list<const char*> parts) {
  const table X({1.0, 1.0, 1.0, 1.0, 1.0, x}, 3);
  CAPTURE(x);
  check_refused([&] { bhclust::check_table(X.view(), d, "Some"); }, parts);
}

void check_good(const domain& d, const std::vector<double>& cells) {
  const table X(cells, 1);
  CHECK_NOTHROW(bhclust::check_table(X.view(), d, "Some"));
}

bhclust::table_view csr(const std::vector<double>& values, const std::vector<index_t>& indices,
                        const std::vector<index_t>& indptr, index_t columns) {
  return bhclust::sparse_rows(values.data(), indices.data(), indptr.data(), count(indptr) - 1,
                              columns);
}

}  // namespace

TEST_CASE("domain: reals") {
  check_good({cell::real, false, false}, {0.0, -0.0, 9.9e149, -9.9e149, 5e-324});
  for (const double x : {infinite, -infinite, 1e150, -1e150}) {
    check_cell({cell::real, false, false}, x,
               {"X: row 1, column 2 is", "Some takes finite numbers below 1e150 in magnitude",
                "rescale larger ones"});
  }
}

TEST_CASE("domain: positive reals") {
  check_good({cell::positive, false, false}, {5e-324, 1.0, 9e299});
  for (const double x : {0.0, -0.0, -1.0, infinite, 1e300}) {
    check_cell({cell::positive, false, false}, x,
               {"row 1, column 2 is", "Some takes finite numbers above 0 and below 1e300",
                "shift or drop zeros and negatives"});
  }
}

TEST_CASE("domain: bits") {
  check_good({cell::bit, false, false}, {0.0, 1.0, -0.0});
  for (const double x : {2.0, -1.0, 0.5, infinite, 1.0000000000000002}) {
    check_cell({cell::bit, false, false}, x,
               {"row 1, column 2 is", "Some takes 0 or 1",
                "recode the column, or use a family for its kind"});
  }
  check_cell({cell::bit, false, false}, 2.0, {"is 2;"});
}

TEST_CASE("domain: counts") {
  check_good({cell::count, false, false}, {0.0, 1.0, 9007199254740992.0});
  for (const double x : {-1.0, 1.5, infinite, 9007199254740994.0}) {
    check_cell({cell::count, false, false}, x,
               {"row 1, column 2 is", "Some takes whole numbers 0, 1, 2, ... up to 2^53",
                "round them, or use a family for reals"});
  }
  check_cell({cell::count, false, false}, -1.0, {"is -1;"});
  check_cell({cell::count, false, false}, 1.5, {"is 1.5;"});
}

TEST_CASE("domain: codes") {
  check_good({cell::code, false, false}, {0.0, 1.0, 5.0});
  for (const double x : {-1.0, 0.5, 2.7182818284590451}) {
    check_cell(
        {cell::code, false, false}, x,
        {"row 1, column 2 is", "Some takes level codes 0, 1, 2, ...", "number the levels from 0"});
  }
  // enough digits to find the cell
  check_cell({cell::code, false, false}, 2.7182818284590451, {"2.7182818284590451"});
}

TEST_CASE("domain: missing cells") {
  for (const cell kind : {cell::real, cell::positive, cell::bit, cell::count, cell::code}) {
    check_good({kind, true, false}, {missing, 1.0});
    check_cell({kind, false, false}, missing,
               {"X: row 1, column 2 is NaN; Some takes no missing values",
                "drop or impute the row, or use a family that takes them"});
    check_cell({kind, true, false}, -3.5e200, {"or NaN for missing"});
  }
}

TEST_CASE("domain: the first bad cell is named") {
  const table X({1.0, 0.0, 3.0, 1.0, 4.0, 0.0}, 2);
  check_refused([&] { bhclust::check_table(X.view(), {cell::bit, false, false}, "Some"); },
                {"row 1, column 0 is 3"});
  try {
    bhclust::check_table(X.view(), {cell::bit, false, false}, "Some");
    FAIL("not refused");
  } catch (const bhclust::cell_error& e) {
    CHECK(e.row() == 1);
    CHECK(e.column() == 0);
    CHECK("X: row 1, column 0 " + e.complaint() == e.what());
  }
}

TEST_CASE("domain: empty tables") {
  const double x = 0.0;
  check_refused([&] { bhclust::check_table(bhclust::rows(&x, 0, 3), {}, "Some"); },
                {"X has no rows; at least one is needed"});
  check_refused([&] { bhclust::check_table(bhclust::rows(&x, 3, 0), {}, "Some"); },
                {"X has no columns; at least one is needed"});
}

TEST_CASE("domain: sparse tables") {
  const domain sparse_counts{cell::count, true, true};
  CHECK_NOTHROW(
      bhclust::check_table(csr({1, 2, 0}, {0, 2, 1}, {0, 2, 3, 3}, 3), sparse_counts, "Some"));
  check_refused(
      [&] { bhclust::check_table(csr({1}, {0}, {0, 1}, 2), {cell::count, true, false}, "Some"); },
      {"X is sparse; Some takes dense tables: convert it (X.toarray())"});
  check_refused(
      [&] { bhclust::check_table(csr({1, 1.5}, {0, 1}, {0, 1, 2}, 2), sparse_counts, "Some"); },
      {"X: row 1, column 1 is 1.5"});
  // a stored NaN is no missing cell
  check_refused(
      [&] { bhclust::check_table(csr({missing}, {1}, {0, 1}, 2), sparse_counts, "Some"); },
      {"row 0, column 1 is"});
  const auto layout = [&](const std::vector<index_t>& indices) {
    const std::vector<double> values(indices.size(), 1.0);
    bhclust::check_table(csr(values, indices, {0, 0, count(indices)}, 3), sparse_counts, "Some");
  };
  for (const auto& indices : {std::vector<index_t>{2, 0}, std::vector<index_t>{1, 1},
                              std::vector<index_t>{0, 3}, std::vector<index_t>{-1, 0}}) {
    check_refused([&] { layout(indices); },
                  {"X: row 1 has column indices out of order, repeated or beyond 3 columns",
                   "sort them and sum the repeats first"});
  }
}

TEST_CASE("domain: every family names itself and refuses what is outside its domain") {
  bhclust::for_each_family([](auto tag) {
    using family_type = typename decltype(tag)::type;
    const std::string name = family_type::name();
    INFO(name);
    const auto takes = family_type::takes();
    const double outside = takes.cells == cell::real ? infinite : -0.5;
    const table bad({1.0, outside}, 1);
    check_refused([&] { bhclust::check_data(family_type{}, bad.view()); },
                  {"X: row 1, column 0 is", name.c_str()});
    const table holes({1.0, missing}, 1);
    if (!takes.missing) {
      check_refused([&] { bhclust::check_data(family_type{}, holes.view()); },
                    {"row 1, column 0 is NaN", name.c_str(), "takes no missing values"});
    }
    const auto sparse = table({1.0, 1.0}, 1).as_sparse();
    if (!takes.sparse) {
      check_refused([&] { bhclust::check_data(family_type{}, sparse.view()); },
                    {"X is sparse", name.c_str()});
    }
  });
}

TEST_CASE("domain: codes with a gap are counted, not stumbled over") {
  // levels 1 … 4 do not occur; codes beyond the levels are refused, whatever the gap
  const table X({0.0, 5.0, 5.0, 0.0, missing, 5.0}, 1);
  bhclust::CategoricalDirichlet family;
  family.levels = 6.0;
  CHECK_NOTHROW(bhclust::check_data(family, X.view()));
  const auto model = bhclust::bind(family, X.view());
  CHECK(model.width() == 6);
  family.levels = 5.0;
  check_refused(
      [&] { bhclust::check_data(family, X.view()); },
      {"row 1, column 0 is 5", "levels is 5", "raise levels, or renumber the codes from 0"});
  family.levels = 2.0;
  check_refused([&] { bhclust::check_data(family, X.view()); }, {"row 1, column 0 is 5"});
}

TEST_CASE("domain: continuous data are no categories") {
  const table X({0.0, 1.0, 0.37, 2.0}, 1);
  bhclust::CategoricalDirichlet family;
  family.levels = 3.0;
  check_refused([&] { bhclust::check_data(family, X.view()); },
                {"X: row 2, column 0 is 0.37", "CategoricalDirichlet takes level codes"});
}

TEST_CASE("domain: a zero row has no direction, a long one is not normalised") {
  const table X({0.6, 0.8, 0.0, 0.0}, 2);
  check_refused([&] { bhclust::check_data(bhclust::VonMisesFisher{}, X.view()); },
                {"row 1 has length 0", "a zero row has no direction, drop it"});
  const table Y({0.6, 0.8, 3.0, 4.0}, 2);
  check_refused([&] { bhclust::check_data(bhclust::VonMisesFisher{}, Y.view()); },
                {"row 1 has length 5", "divide each row by its length"});
}

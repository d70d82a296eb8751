/// @file
/// What the tests of single families share.
#pragma once

#include <bhclust/family.hpp>
#include <bhclust/parameter.hpp>
#include <bhclust/types.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

namespace checks {

using bhclust::index_t;

const double missing = std::numeric_limits<double>::quiet_NaN();

/// The complaint of the std::invalid_argument that f() must throw.
template <class F>
std::string complaint(const F& f) {
  try {
    f();
  } catch (const std::invalid_argument& e) {
    return e.what();
  }
  FAIL_CHECK("nothing was refused");
  return "";
}

/// Whether the text has all of the parts.
inline bool mentions(const std::string& text, const std::vector<std::string>& parts) {
  for (const auto& part : parts) {
    if (text.find(part) == std::string::npos) {
      FAIL_CHECK("'" << part << "' is not in: " << text);
      return false;
    }
  }
  return true;
}

/// A dense table that owns its cells, row after row.
struct table {
  std::vector<double> cells;
  index_t columns;

  // NOLINTNEXTLINE(google-explicit-constructor): a table is its view
  operator bhclust::table_view() const {
    return bhclust::rows(cells.data(), static_cast<index_t>(cells.size()) / columns, columns);
  }
};

/// The cells other than zero as CSR.
struct sparse_table {
  std::vector<double> values;
  std::vector<index_t> indices, indptr{0};
  index_t columns;

  explicit sparse_table(const table& dense) : columns(dense.columns) {
    const auto& cells = dense.cells;
    for (std::size_t e = 0; e < cells.size(); ++e) {
      const auto column = static_cast<index_t>(e) % columns;
      if (cells[e] != 0.0) {
        values.push_back(cells[e]);
        indices.push_back(column);
      }
      if (column == columns - 1) indptr.push_back(static_cast<index_t>(values.size()));
    }
  }

  // NOLINTNEXTLINE(google-explicit-constructor): a table is its view
  operator bhclust::table_view() const {
    return bhclust::sparse_rows(values.data(), indices.data(), indptr.data(),
                                static_cast<index_t>(indptr.size()) - 1, columns);
  }
};

/// log p of all rows as one cluster.
template <class Family>
double log_marginal(const Family& family, const bhclust::table_view& X) {
  const auto model = bhclust::bind(family, X);
  std::vector<double> t(static_cast<std::size_t>(model.width()), 0.0);
  for (index_t i = 0; i < X.rows(); ++i) model.observe(X.row(i), t.data());
  return model.log_marginal(t.data());
}

/// Defaults made from the table are valid hyperparameters and give its rows a probability; they are
/// returned.
template <class Family>
Family valid_defaults(const bhclust::table_view& X) {
  const auto family = Family::from_data(X);
  CHECK(std::isfinite(log_marginal(family, X)));
  return family;
}

/// A divergence's manners between any two states: symmetric to the last bit, zero with itself, and
/// the difference of potentials.
template <class Column, class Statistics>
double checked_divergence(const Column& column, const Statistics& t, const Statistics& s) {
  const double d = column.divergence(t.data(), s.data());
  CHECK(d >= 0.0);
  CHECK(d == column.divergence(s.data(), t.data()));
  CHECK(column.divergence(t.data(), t.data()) == 0.0);
  auto both = t;
  for (std::size_t i = 0; i < both.size(); ++i) both[i] += s[i];
  CHECK(column.divergence(t.data(), both.data()) >= 0.0);
  const double apart = column.potential(t.data()) + column.potential(s.data());
  const double joined = column.potential(both.data());
  CHECK(std::fabs(d - (apart - joined)) <= 1e-13 * (std::fabs(apart) + std::fabs(joined) + 1.0));
  return d;
}

}  // namespace checks

/// @file
/// The golden values of tests/vectors against a family of the library.
#pragma once

#include <bhclust/family.hpp>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <limits>
#include <string>
#include <vector>

namespace golden {

/// The list in tests/vectors/<name>.json.
inline nlohmann::json read(const std::string& name) {
  std::ifstream file(std::string(BHCLUST_TEST_VECTORS) + "/" + name + ".json");
  REQUIRE_MESSAGE(file.good(), name);
  return nlohmann::json::parse(file);
}

/// The number of a name among a field's choices.
inline bhclust::parameter to_choice(const std::vector<const char*>& choices,
                                    const std::string& name) {
  const auto place = std::find(choices.begin(), choices.end(), name);
  REQUIRE_MESSAGE(place != choices.end(), name);
  return static_cast<double>(place - choices.begin());
}

/// A scalar, a list or a list of lists.
inline bhclust::parameter to_parameter(const nlohmann::json& value) {
  if (value.is_number()) return value.get<double>();
  if (value.empty() || !value[0].is_array()) return value.get<std::vector<double>>();
  std::vector<double> matrix;
  for (const auto& row : value) {
    for (const auto& x : row) matrix.push_back(x.get<double>());
  }
  return bhclust::parameter::matrix(std::move(matrix));
}

template <class Family>
Family to_family(const nlohmann::json& hyper) {
  Family family;
  for (const auto& field : Family::parameters()) {
    const nlohmann::json& value = hyper.at(field.name);
    family.*field.member = value.is_string() ? to_choice(field.choices, value.get<std::string>())
                                             : to_parameter(value);
  }
  return family;
}

/// Row after row; null is a missing cell.
inline std::vector<double> to_cells(const nlohmann::json& rows) {
  std::vector<double> cells;
  for (const auto& row : rows) {
    for (const auto& x : row) {
      cells.push_back(x.is_null() ? std::numeric_limits<double>::quiet_NaN() : x.get<double>());
    }
  }
  return cells;
}

/// log p of the point's rows as one cluster, after every check that users meet.
template <class Family>
double log_marginal(const nlohmann::json& point) {
  const auto family = to_family<Family>(point.at("hyper"));
  const auto columns = point.at("columns").get<bhclust::index_t>();
  const auto n = static_cast<bhclust::index_t>(point.at("rows").size());
  const auto cells = to_cells(point.at("rows"));
  const auto X = bhclust::rows(cells.data(), n, columns);
  if (n > 0) bhclust::check_data(family, X);
  const auto model = bhclust::bind(family, columns);
  std::vector<double> t(static_cast<std::size_t>(model.width()), 0.0);
  for (bhclust::index_t i = 0; i < n; ++i) model.observe(X.row(i), t.data());
  return model.log_marginal(t.data());
}

/// Every point to 1e-12, relative where the value is above 1. `rounding`: for families whose
/// statistics hold a sum that the rest of the formula cancels, how many units of 1e-16 of the
/// formula's terms may be lost beside it.
template <class Family>
void check(const std::string& name, double rounding = 0.0) {
  const auto points = read(name);
  REQUIRE(points.size() >= 100);
  double worst = 0.0;
  for (const auto& point : points) {
    const double wanted = std::stod(point.at("log_marginal").get<std::string>());
    const double found = log_marginal<Family>(point);
    const double allowed = 1e-12 * std::max(1.0, std::fabs(wanted)) +
                           rounding * 1e-16 * point.at("magnitude").get<double>();
    CHECK_MESSAGE(std::fabs(found - wanted) <= allowed,
                  "found " << found << ", wanted " << wanted << " in " << point.dump());
    worst = std::max(worst, std::fabs(found - wanted) / allowed);
  }
  MESSAGE(name << ": worst error " << worst << " of what is allowed");
}

}  // namespace golden

/// @file
/// Hyperparameters: scalars that stand for every column, or one value a column.
#pragma once

#include <bhclust/domain.hpp>
#include <bhclust/types.hpp>

#include <array>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

namespace bhclust {

/// A scalar, a vector (one value a column) or a square matrix (row after row; symmetric).
class parameter {
 public:
  parameter(double scalar) : values_{scalar} {}  // NOLINT(google-explicit-constructor)
  parameter(std::initializer_list<double> values) : values_(values), rank_(1) {}
  parameter(std::vector<double> values)  // NOLINT(google-explicit-constructor)
      : values_(std::move(values)), rank_(1) {}
  /// A d × d matrix.
  [[nodiscard]] static parameter matrix(std::vector<double> row_major) {
    parameter p(std::move(row_major));
    p.rank_ = 2;
    return p;
  }

  /// 0 scalar, 1 vector, 2 matrix.
  [[nodiscard]] int rank() const noexcept { return rank_; }
  [[nodiscard]] index_t size() const noexcept { return static_cast<index_t>(values_.size()); }
  /// The value for column j (of a scalar: the scalar).
  [[nodiscard]] double operator[](index_t j) const noexcept {
    return values_[static_cast<std::size_t>(rank_ == 0 ? 0 : j)];
  }
  [[nodiscard]] const std::vector<double>& values() const noexcept { return values_; }

  friend bool operator==(const parameter& a, const parameter& b) {
    return a.rank_ == b.rank_ && a.values_ == b.values_;
  }
  friend bool operator!=(const parameter& a, const parameter& b) { return !(a == b); }

 private:
  std::vector<double> values_;
  int rank_ = 0;
};

/// The values a hyperparameter may take; a choice is the number of one of the field's names.
enum class range { real, positive, non_negative, whole, choice };

/// The shapes a hyperparameter may take; smaller ones are always allowed too, but `vector_only`.
enum class shape { scalar, per_column, matrix, vector_only };

/// One hyperparameter of a family: the keyword, where it is kept, and what it may be. The list of
/// these is all that checks, the Python classes and persistence need to know of a family.
template <class Family>
struct parameter_field {
  const char* name;
  parameter Family::* member;
  range values;
  bhclust::shape shape;
  const char* meaning;
  std::vector<const char*> choices{};  ///< names, of a choice
};

namespace detail {

[[nodiscard]] inline bool in_range(range r, double x) noexcept {
  if (!std::isfinite(x)) return false;
  switch (r) {
    case range::real:
      return true;
    case range::positive:
      return x > 0.0;
    case range::non_negative:
      return x >= 0.0;
    case range::whole:
      return x >= 1.0 && x == std::floor(x);
    case range::choice:
      return x >= 0.0 && x == std::floor(x);
  }
  return false;
}

[[nodiscard]] inline const char* wanted(range r) noexcept {
  switch (r) {
    case range::real:
      return "finite";
    case range::positive:
      return "finite and above 0";
    case range::non_negative:
      return "finite and at least 0";
    case range::whole:
      return "a whole number of at least 1";
    case range::choice:
      return "the number of a choice: 0, 1, ...";
  }
  return "";
}

inline void check_values(const parameter& p, const char* name, range r) {
  for (index_t j = 0; j < p.size(); ++j) {
    const double x = p.values()[static_cast<std::size_t>(j)];
    require(in_range(p.rank() == 2 ? range::real : r, x), [&] {
      return std::string(name) + (p.rank() == 0 ? "" : "[" + std::to_string(j) + "]") + " is " +
             number(x) + "; it must be " + wanted(r);
    });
    const double limit = r == range::real ? 1e150 : 1e300;
    require(std::fabs(x) <= limit, [&] {
      return std::string(name) + (p.rank() == 0 ? "" : "[" + std::to_string(j) + "]") + " is " +
             number(x) + "; it must be at most 1e" + (r == range::real ? "150" : "300") +
             " in magnitude: rescale X";
    });
  }
}

/// The names of a choice, for messages.
[[nodiscard]] inline std::string listed(const std::vector<const char*>& choices) {
  std::string text;
  for (const char* choice : choices)
    text += (text.empty() ? "'" : ", '") + std::string(choice) + "'";
  return text;
}

template <class Family>
void check_field(const Family& family, const parameter_field<Family>& field) {
  const parameter& p = family.*field.member;
  check_values(p, field.name, field.values);
  if (field.values != range::choice) return;
  for (const double x : p.values()) {
    require(x < static_cast<double>(field.choices.size()), [&] {
      return std::string(field.name) + " is " + number(x) + "; the choices, from 0, are " +
             listed(field.choices);
    });
  }
}

[[nodiscard]] inline std::string wanted(shape s, const std::string& columns) {
  switch (s) {
    case shape::scalar:
      return "a scalar";
    case shape::per_column:
      return "a scalar or " + columns + " values";
    case shape::matrix:
      return "a scalar, " + columns + " values or a " + columns + " x " + columns + " matrix";
    case shape::vector_only:
      return columns + " values";
  }
  return "";
}

inline void check_shape(const parameter& p, const char* name, shape s, index_t columns) {
  const bool fits = p.rank() == 0   ? s != shape::vector_only
                    : p.rank() == 1 ? s != shape::scalar && p.size() == columns
                                    : s == shape::matrix && p.size() == columns * columns;
  require(fits, [&] {
    return std::string(name) + " has " + std::to_string(p.size()) + " value(s) in " +
           std::to_string(p.rank()) + " dimension(s); for " + std::to_string(columns) +
           " column(s) it must be " + wanted(s, std::to_string(columns));
  });
}

}  // namespace detail

/// How many numbers the gradient has for a hyperparameter: one for a scalar, one a column, or one
/// an entry of a matrix (row after row), whatever was given. A gradient holds one field after
/// another.
[[nodiscard]] inline index_t gradient_size(shape s, index_t columns) noexcept {
  return s == shape::scalar ? 1 : s == shape::matrix ? columns * columns : columns;
}

/// Refuses hyperparameters that are out of range.
template <class Family>
void check_parameters(const Family& family) {
  for (const auto& field : Family::parameters()) detail::check_field(family, field);
}

/// Refuses hyperparameters that are out of range or do not fit the number of columns.
template <class Family>
void check_parameters(const Family& family, index_t columns) {
  for (const auto& field : Family::parameters()) {
    detail::check_field(family, field);
    detail::check_shape(family.*field.member, field.name, field.shape, columns);
  }
}

}  // namespace bhclust

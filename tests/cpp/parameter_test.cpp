#include "refusals.hpp"
#include "tables.hpp"
#include <bhclust/parameter.hpp>

#include <doctest/doctest.h>

#include <array>
#include <vector>

using namespace testkit;
using bhclust::check_parameters;
using bhclust::range;

namespace {

/// One hyperparameter of each range and shape.
struct sample {
  parameter anything = 0.0;
  parameter above = 1.0;
  parameter at_least = 0.0;
  parameter whole = 1.0;
  parameter square = 1.0;
  parameter vector = {1.0, 2.0};

  [[nodiscard]] static std::array<bhclust::parameter_field<sample>, 6> parameters() {
    using bhclust::shape;
    return {{{"anything", &sample::anything, range::real, shape::scalar, "any number"},
             {"above", &sample::above, range::positive, shape::per_column, "above 0"},
             {"at_least", &sample::at_least, range::non_negative, shape::per_column, "from 0"},
             {"whole", &sample::whole, range::whole, shape::per_column, "1, 2, …"},
             {"square", &sample::square, range::positive, shape::matrix, "a matrix"},
             {"vector", &sample::vector, range::real, shape::vector_only, "a vector"}}};
  }
};

void check_bad(parameter sample::* member, const parameter& value,
               std::initializer_list<const char*> parts) {
  sample s;
  s.*member = value;
  check_refused([&] { check_parameters(s, 2); }, parts);
}

void check_good(parameter sample::* member, const parameter& value) {
  sample s;
  s.*member = value;
  CHECK_NOTHROW(check_parameters(s, 2));
  CHECK_NOTHROW(check_parameters(s));
}

}  // namespace

TEST_CASE("parameter: scalars stand for every column") {
  const parameter p = 2.5;
  CHECK(p.rank() == 0);
  CHECK(p.size() == 1);
  CHECK(p[0] == 2.5);
  CHECK(p[17] == 2.5);
  CHECK(p.values() == std::vector<double>{2.5});
}

TEST_CASE("parameter: vectors and matrices") {
  const parameter v = {1.0, 2.0};
  CHECK(v.rank() == 1);
  CHECK(v.size() == 2);
  CHECK(v[1] == 2.0);
  CHECK(parameter(std::vector<double>{1.0, 2.0}) == v);
  const parameter single = {2.5};
  CHECK(single.rank() == 1);
  CHECK(single != parameter(2.5));
  const auto m = parameter::matrix({1.0, 0.0, 0.0, 1.0});
  CHECK(m.rank() == 2);
  CHECK(m.size() == 4);
  CHECK(m[3] == 1.0);
  CHECK(m != parameter(std::vector<double>{1.0, 0.0, 0.0, 1.0}));
  CHECK(m == parameter::matrix({1.0, 0.0, 0.0, 1.0}));
}

TEST_CASE("parameter: values out of range") {
  check_bad(&sample::anything, missing, {"anything is nan; it must be finite"});
  check_bad(&sample::anything, -infinite, {"anything is -inf; it must be finite"});
  check_bad(&sample::above, 0.0, {"above is 0; it must be finite and above 0"});
  check_bad(&sample::above, {1.0, -2.5}, {"above[1] is -2.5; it must be finite and above 0"});
  check_bad(&sample::above, infinite, {"above is inf"});
  check_bad(&sample::at_least, -1e-300, {"at_least is -1", "it must be finite and at least 0"});
  check_bad(&sample::whole, 1.5, {"whole is 1.5; it must be a whole number of at least 1"});
  check_bad(&sample::whole, {1.0, 0.0}, {"whole[1] is 0"});
  check_bad(&sample::square, {1.0, 0.0}, {"square[1] is 0; it must be finite and above 0"});
  check_bad(&sample::square, parameter::matrix({1.0, missing, 0.0, 1.0}),
            {"square[1] is nan; it must be finite"});
  check_bad(&sample::vector, {0.0, infinite}, {"vector[1] is inf; it must be finite"});
}

TEST_CASE("parameter: shapes that do not fit the columns") {
  check_bad(&sample::anything, {1.0, 2.0},
            {"anything has 2 value(s) in 1 dimension(s)", "for 2 column(s) it must be a scalar"});
  check_bad(&sample::above, {1.0, 2.0, 3.0},
            {"above has 3 value(s) in 1 dimension(s)", "it must be a scalar or 2 values"});
  check_bad(&sample::above, parameter::matrix({1.0, 1.0, 1.0, 1.0}),
            {"above has 4 value(s) in 2 dimension(s)"});
  check_bad(&sample::square, parameter::matrix({1.0, 1.0}),
            {"square has 2 value(s) in 2 dimension(s)",
             "it must be a scalar, 2 values or a 2 x 2 matrix"});
  check_bad(&sample::square, std::vector<double>{1.0}, {"square has 1 value(s) in 1 dimension(s)"});
  check_bad(&sample::vector, 1.0,
            {"vector has 1 value(s) in 0 dimension(s)", "it must be 2 values"});
  check_bad(&sample::above, std::vector<double>{}, {"above has 0 value(s) in 1 dimension(s)"});
}

TEST_CASE("parameter: what fits") {
  check_good(&sample::anything, -3.0);
  check_good(&sample::above, {1e-300, 1e300});
  check_good(&sample::at_least, {0.0, 2.0});
  check_good(&sample::whole, {1.0, 1e6});
  check_good(&sample::square, 2.0);
  check_good(&sample::square, {1.0, 2.0});
  check_good(&sample::square, parameter::matrix({1.0, -0.5, -0.5, 1.0}));
  check_good(&sample::vector, {0.0, -1.0});
}

TEST_CASE("parameter: without a number of columns only values are checked") {
  sample s;
  s.above = {1.0, 2.0, 3.0};
  CHECK_NOTHROW(check_parameters(s));
  s.above = {1.0, 2.0, -3.0};
  check_refused([&] { check_parameters(s); }, {"above[2] is -3"});
}

TEST_CASE("parameter: entries of a gradient") {
  CHECK(bhclust::gradient_size(bhclust::shape::scalar, 3) == 1);
  CHECK(bhclust::gradient_size(bhclust::shape::per_column, 3) == 3);
  CHECK(bhclust::gradient_size(bhclust::shape::vector_only, 3) == 3);
  CHECK(bhclust::gradient_size(bhclust::shape::matrix, 3) == 9);
}

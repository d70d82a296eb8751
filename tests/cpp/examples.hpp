/// @file
/// Random tables of every family of the list, with the family erased: what tests of algorithms
/// need. The families are compiled once, in examples.cpp, and not in every test.
#pragma once

#include "random_source.hpp"
#include "tables.hpp"
#include <bhclust/any_family.hpp>
#include <bhclust/product.hpp>

#include <functional>

namespace testkit {

using example_visit = std::function<void(random_source&, const bhclust::any_family&, const table&)>;

/// Calls visit(random, family, table) for every family, as for_each_example_of does for one.
void for_each_example(int rounds, index_t rows, index_t most_columns, const example_visit& visit);

using split_visit = std::function<void(random_source&, const bhclust::any_family& whole,
                                       const bhclust::Product& parts, const table&)>;

/// For the families with independent columns, four of them: the family, and a Product of blocks of
/// it that says the same.
void for_each_split_example(int rounds, index_t rows, const split_visit& visit);

}  // namespace testkit

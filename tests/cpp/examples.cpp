#include "examples.hpp"

#include "typed_examples.hpp"
#include <bhclust/families.hpp>

#include <string>
#include <type_traits>
#include <vector>

namespace testkit {
namespace {

template <class Family>
constexpr bool has_independent_columns = !std::is_same_v<Family, bhclust::NormalInverseWishart> &&
                                         !std::is_same_v<Family, bhclust::MultinomialDirichlet> &&
                                         !std::is_same_v<Family, bhclust::VonMisesFisher> &&
                                         !std::is_same_v<Family, bhclust::GaussianProcess>;

/// A family's hyperparameters for the columns given.
template <class Family>
Family for_columns(const Family& family, const std::vector<index_t>& columns) {
  Family some = family;
  for (const auto& field : Family::parameters()) {
    std::vector<double> values;
    for (const index_t j : columns) values.push_back((family.*field.member)[j]);
    if (field.shape == bhclust::shape::per_column) some.*field.member = values;
  }
  return some;
}

template <class Family>
bhclust::Product split(const Family& family, const std::vector<std::vector<index_t>>& blocks) {
  bhclust::Product product;
  for (const auto& columns : blocks) {
    product.blocks.push_back({for_columns(family, columns), columns});
  }
  return product;
}

}  // namespace

void for_each_example(int rounds, index_t rows, index_t most_columns, const example_visit& visit) {
  bhclust::for_each_family([&](auto tag) {
    using family_type = typename decltype(tag)::type;
    for_each_example_of<family_type>(rounds, rows, most_columns,
                                     [&](random_source& random, const family_type& family,
                                         const table& X) { visit(random, family, X); });
  });
}

void for_each_split_example(int rounds, index_t rows, const split_visit& visit) {
  bhclust::for_each_family([&](auto tag) {
    using family_type = typename decltype(tag)::type;
    if constexpr (has_independent_columns<family_type>) {
      for (int round = 0; round < rounds; ++round) {
        INFO(std::string(family_type::name()) << ", round " << round);
        random_source random(static_cast<std::uint64_t>(round));
        const auto family = random_family<family_type>(random, 4);
        const auto X = random_table(random, family, rows, 4);
        visit(random, family, split(family, {{3, 1}, {0}, {2}}), X);
      }
    }
  });
}

}  // namespace testkit

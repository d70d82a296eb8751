/// @file
/// THE list of families. Adding one: its header below and its name in `families`; the Python class,
/// the laws, the benchmarks and the stubs follow from it. (Product holds other families and stands
/// apart; a family of a C++ user's own needs no entry.)
#pragma once

#include <bhclust/family/bernoulli_beta.hpp>
#include <bhclust/family/categorical_dirichlet.hpp>
#include <bhclust/family/exponential_gamma.hpp>
#include <bhclust/family/gaussian_process.hpp>
#include <bhclust/family/geometric_beta.hpp>
#include <bhclust/family/multinomial_dirichlet.hpp>
#include <bhclust/family/negative_binomial_beta.hpp>
#include <bhclust/family/normal_inverse_gamma.hpp>
#include <bhclust/family/normal_inverse_wishart.hpp>
#include <bhclust/family/normal_known_variance.hpp>
#include <bhclust/family/poisson_gamma.hpp>
#include <bhclust/family/von_mises_fisher.hpp>
#include <bhclust/product.hpp>

namespace bhclust {

template <class... Family>
struct family_list {};

/// All families that have a name in Python.
using families =
    family_list<NormalInverseWishart, NormalInverseGamma, NormalKnownVariance, BernoulliBeta,
                CategoricalDirichlet, MultinomialDirichlet, PoissonGamma, ExponentialGamma,
                GeometricBeta, NegativeBinomialBeta, VonMisesFisher, GaussianProcess>;

/// A type as a value, for calls such as visit(type_tag<PoissonGamma>{}).
template <class T>
struct type_tag {
  using type = T;
};

namespace detail {
template <class... Family, class Visit>
void visit_list(family_list<Family...>, const Visit& visit) {
  (visit(type_tag<Family>{}), ...);
}
}  // namespace detail

/// Calls visit(type_tag<Family>{}) for each family of the list.
template <class Visit>
void for_each_family(const Visit& visit) {
  detail::visit_list(families{}, visit);
}

}  // namespace bhclust

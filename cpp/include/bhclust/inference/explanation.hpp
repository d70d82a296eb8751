/// @file
/// Which columns make a cluster one, or keep two apart.
#pragma once

#include <bhclust/detail/log_space.hpp>
#include <bhclust/detail/special.hpp>
#include <bhclust/family.hpp>
#include <bhclust/inference/posterior.hpp>
#include <bhclust/tree.hpp>

#include <cmath>
#include <string>
#include <vector>

namespace bhclust {

/// The log odds that an inner node is one cluster, given its rows, in parts that sum to them; nats.
struct explanation {
  /// log p(X_k) - log p(X_l) - log p(X_r) by column: above 0 for one cluster, below for two
  std::vector<double> columns;
  double prior = 0.0;     ///< lnΓ(n_k) - log α - lnΓ(n_l) - lnΓ(n_r)
  double children = 0.0;  ///< log r_l + log r_r <= 0: what splits inside the children take off
  double log_odds = 0.0;  ///< the sum, as the posterior has it
};

namespace detail {

/// An order of the columns for column_terms: nullptr for none given.
[[nodiscard]] inline const index_t* checked_order(const std::vector<index_t>& order,
                                                  index_t columns) {
  if (order.empty()) return nullptr;
  std::vector<unsigned char> seen(static_cast<std::size_t>(columns), 0);
  require(static_cast<index_t>(order.size()) == columns, [&] {
    return "order has " + std::to_string(order.size()) + " entries; X has " +
           std::to_string(columns) + " columns, and each must be named once";
  });
  for (const index_t j : order) {
    require(j >= 0 && j < columns && seen[static_cast<std::size_t>(j)]++ == 0, [&] {
      return "order names column " + std::to_string(j) + (j >= 0 && j < columns ? " twice" : "") +
             "; it must name each of the columns 0 to " + std::to_string(columns - 1) + " once";
    });
  }
  return order.data();
}

template <class Model>
[[nodiscard]] std::vector<double> statistics_of(const Model& model, const table_view& X,
                                                const std::vector<index_t>& rows) {
  std::vector<double> all(static_cast<std::size_t>(model.width()), 0.0), one(all);
  for (const index_t i : rows) {
    std::fill(one.begin(), one.end(), 0.0);
    model.observe(X.row(i), one.data());
    model.merge(all.data(), one.data());
  }
  return all;
}

/// The leaves below a node. O(their number).
[[nodiscard]] inline std::vector<index_t> leaves_below(const tree& t, index_t node) {
  std::vector<index_t> leaves, open{node};
  while (!open.empty()) {
    const index_t k = open.back();
    open.pop_back();
    if (t.is_leaf(k)) {
      leaves.push_back(k);
    } else {
      open.push_back(t.right(k));
      open.push_back(t.left(k));
    }
  }
  return leaves;
}

}  // namespace detail

/// log p(X_a) + log p(X_b) - log p(X_a ∪ X_b) by column, nats: the evidence that two sets of rows
/// are two clusters and not one. Exact for independent columns and Products of such. Where columns
/// depend on each other the terms sum to the evidence all the same: NormalInverseWishart,
/// GaussianProcess and MultinomialDirichlet take each column given those before it in `order`
/// (empty: as they are); VonMisesFisher splits in proportion to squared coordinates. O(rows ·
/// width), and O(columns³) for NormalInverseWishart and GaussianProcess.
template <class Family>
[[nodiscard]] std::vector<double> separation(const table_view& X, const Family& family,
                                             const std::vector<index_t>& a,
                                             const std::vector<index_t>& b,
                                             const std::vector<index_t>& order = {}) {
  const auto model = bind(family, X);
  const index_t* columns_in_order = detail::checked_order(order, X.columns());
  for (const auto* rows : {&a, &b}) {
    require(!rows->empty(), "separation needs at least one row on either side");
    for (const index_t i : *rows) {
      require(i >= 0 && i < X.rows(), [&] {
        return "there is no row " + std::to_string(i) + "; X has " + std::to_string(X.rows());
      });
    }
  }
  auto first = detail::statistics_of(model, X, a);
  const auto second = detail::statistics_of(model, X, b);
  std::vector<double> apart(static_cast<std::size_t>(X.columns())), terms(apart);
  model.column_terms(first.data(), columns_in_order, apart.data());
  model.column_terms(second.data(), columns_in_order, terms.data());
  for (std::size_t j = 0; j < apart.size(); ++j) apart[j] += terms[j];
  model.merge(first.data(), second.data());
  model.column_terms(first.data(), columns_in_order, terms.data());
  for (std::size_t j = 0; j < apart.size(); ++j) apart[j] -= terms[j];
  return apart;
}

/// The log odds of an inner node in parts. As separation; O(rows below · width).
template <class Family>
[[nodiscard]] explanation explain(const tree& t, const tree_posterior& p, const table_view& X,
                                  const Family& family, index_t node,
                                  const std::vector<index_t>& order = {}) {
  detail::require_leaves(t, X.rows());
  require(node >= t.leaves() && node < t.nodes(), [&] {
    return "node is " + std::to_string(node) + "; merges are the nodes " +
           std::to_string(t.leaves()) + " to " + std::to_string(t.nodes() - 1) +
           " (rows, below these, have nothing to explain)";
  });
  const index_t l = t.left(node);
  const index_t r = t.right(node);
  explanation e;
  e.columns = separation(X, family, detail::leaves_below(t, l), detail::leaves_below(t, r), order);
  for (double& part : e.columns) part = -part;
  const auto size = [&](index_t k) { return static_cast<double>(p.n_rows(t, k)); };
  e.prior = detail::log_gamma(size(node)) - std::log(p.alpha) - detail::log_gamma(size(l)) -
            detail::log_gamma(size(r));
  const auto log_r = [&](index_t k) {
    return detail::log_sigmoid(p.log_odds[static_cast<std::size_t>(k)]);
  };
  e.children = log_r(l) + log_r(r);
  e.log_odds = p.log_odds[static_cast<std::size_t>(node)];
  return e;
}

}  // namespace bhclust

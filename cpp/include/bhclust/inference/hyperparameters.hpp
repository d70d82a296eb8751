/// @file
/// The gradient of the evidence bound on a fixed tree, for learning hyperparameters.
#pragma once

#include <bhclust/detail/node_statistics.hpp>
#include <bhclust/detail/special.hpp>
#include <bhclust/family.hpp>
#include <bhclust/inference/posterior.hpp>
#include <bhclust/progress.hpp>
#include <bhclust/tree.hpp>

#include <vector>

namespace bhclust {

/// Derivatives of log_evidence_bound, in nats a unit.
struct evidence_gradient {
  double alpha = 0.0;
  /// By the family's hyperparameters: one field after another in the order of parameters(), each
  /// with gradient_size() entries (parameter.hpp); of a Product, one block after another.
  std::vector<double> family;
};

/// ∂/∂η log p̃_T(root) = Σ_k ω_k ∂ log p̃_H(k) / ∂η on a fixed tree, and by α. `p` is the tree's
/// posterior for the same X and family. One pass, O(n · width).
template <class Family>
[[nodiscard]] evidence_gradient gradient_of_evidence(const tree& t, const tree_posterior& p,
                                                     const table_view& X, const Family& family,
                                                     const progress_function& report = {}) {
  detail::require_leaves(t, X.rows());
  detail::progress_meter progress(report, t.nodes());
  const auto model = bind(family, X);
  evidence_gradient g;
  g.family.assign(static_cast<std::size_t>(model.gradient_size()), 0.0);
  double expected_clusters = 0.0;
  detail::for_each_node_statistics(t, X, model, [&](index_t k, const double* statistics) {
    const double omega = p.omega[static_cast<std::size_t>(k)];
    expected_clusters += omega;
    if (omega > 0.0) model.add_gradient(statistics, omega, g.family.data());
    progress.advance(1);
    progress.tick();
  });
  g.alpha =
      expected_clusters / p.alpha - detail::digamma_ratio(p.alpha, static_cast<double>(t.leaves()));
  progress.finish();
  return g;
}

}  // namespace bhclust

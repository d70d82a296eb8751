/// @file
/// The gradient of the evidence bound on a fixed tree, for learning hyperparameters.
#pragma once

#include <bhclust/detail/node_statistics.hpp>
#include <bhclust/detail/parallel.hpp>
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

namespace detail {

/// Σ ω_k ∂ log p(X_k | H_k) over the nodes that it is shown, and Σ ω_k.
template <class Model>
class gradient_visitor {
 public:
  gradient_visitor(const Model& model, const tree_posterior& p)
      : model_(&model), posterior_(&p), sum_(static_cast<std::size_t>(model.gradient_size())) {}

  void operator()(const node_statistics& node, const node_statistics&, const node_statistics&) {
    const double omega = posterior_->omega[static_cast<std::size_t>(node.node)];
    omegas_ += omega;
    if (omega > 0.0) model_->add_gradient(node.own, omega, sum_.data());
  }

  [[nodiscard]] const std::vector<double>& sum() const noexcept { return sum_; }
  [[nodiscard]] double omegas() const noexcept { return omegas_; }

 private:
  const Model* model_;
  const tree_posterior* posterior_;
  std::vector<double> sum_;
  double omegas_ = 0.0;
};

}  // namespace detail

/// ∂/∂η log p̃_T(root) = Σ_k ω_k ∂ log p̃_H(k) / ∂η on a fixed tree, and by α. `p` is the tree's
/// posterior for the same X and family. One pass, O(n · width), on all threads.
template <class Family>
[[nodiscard]] evidence_gradient gradient_of_evidence(const tree& t, const tree_posterior& p,
                                                     const table_view& X, const Family& family,
                                                     const progress_function& report = {},
                                                     int n_threads = 0) {
  detail::require_leaves(t, X.rows());
  detail::progress_meter progress(report, t.nodes());
  const auto model = bind(family, X);
  detail::thread_team team(n_threads);
  const auto parts = detail::walk_statistics<1>(t, X, model, team, progress,
                                                [&] { return detail::gradient_visitor(model, p); });
  evidence_gradient g;
  g.family.assign(static_cast<std::size_t>(model.gradient_size()), 0.0);
  double expected_clusters = 0.0;
  for (const auto& part : parts) {
    expected_clusters += part.omegas();
    for (std::size_t i = 0; i < g.family.size(); ++i) g.family[i] += part.sum()[i];
  }
  g.alpha = expected_clusters / p.alpha -
            detail::digamma_ratio(p.alpha, static_cast<double>(p.n_rows(t)));
  progress.finish();
  return g;
}

}  // namespace bhclust

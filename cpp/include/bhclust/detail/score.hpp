/// @file
/// The two quantities that algorithms rank merges by, as policies over a model.
#pragma once

#include <bhclust/family.hpp>
#include <bhclust/types.hpp>

#include <limits>

namespace bhclust::detail {

/// More than the error of a gain, as a share of its terms, where each column adds to it.
[[nodiscard]] inline double gain_rounding(index_t columns) noexcept {
  constexpr double epsilon = std::numeric_limits<double>::epsilon();
  return (64.0 + 4.0 * static_cast<double>(columns)) * epsilon;
}

enum class score_kind { evidence, relaxed };

/// BHC: score(c) = log p(X_c | H_c), so gain(a, b) is the log Bayes factor of a ∪ b against a and b
/// apart (nats, any sign).
struct evidence_score {
  static constexpr score_kind kind = score_kind::evidence;

  template <class Model>
  [[nodiscard]] static double self(const Model& m, const double* t) {
    return m.log_marginal(t);
  }
  /// `scratch` holds width() doubles; `self_*` are the scores of t and s.
  template <class Model>
  [[nodiscard]] static double gain(const Model& m, const double* t, const double* s, double self_t,
                                   double self_s, double* scratch) {
    for (index_t i = 0, w = m.width(); i < w; ++i) scratch[i] = t[i];
    merge_statistics(m, scratch, s);
    return m.log_marginal(scratch) - self_t - self_s;
  }
};

/// RBHC: gain(a, b) = -d*(a, b) <= 0.
struct relaxed_score {
  static constexpr score_kind kind = score_kind::relaxed;

  template <class Model>
  [[nodiscard]] static double self(const Model&, const double*) {
    return 0.0;
  }
  template <class Model>
  [[nodiscard]] static double gain(const Model& m, const double* t, const double* s, double, double,
                                   double* scratch) {
    return -divergence_of(m, t, s, scratch);
  }
};

}  // namespace bhclust::detail

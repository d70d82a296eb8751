/// @file
/// Bounds on divergences whose potential is that of Kullback and Leibler.
#pragma once

#include <bhclust/detail/log_space.hpp>
#include <bhclust/detail/screenable.hpp>
#include <bhclust/detail/simd.hpp>
#include <bhclust/types.hpp>

#include <cmath>
#include <vector>

namespace bhclust::detail {

/// For clusters of weights w and smoothed means u > 0 with the cost
///     d* = F_0 + F_1 - F,  F = w Σ_j u_j log u_j  (+ a linear function),
/// the pooled u being the weighted mean. Generalised Kullback-Leibler divergences exceed squared
/// Hellinger distances, so that
///     d* >= -log(1 - a)/a · w_0 w_1 / w · Σ_j (√u_0j - √u_1j)²,  a = min(w_0, w_1) / w <= ½,
/// with equality for means that are 0 in the heavier cluster and in no other; for close means d* is
/// twice the sum without its first factor. The tighter bound is d* from logarithms, less what
/// rounding may have added.
///
/// Of the model it needs
///     index_t smoothed_means_size() const
///     double smoothed_means(const double* t, double* u) const;    // returns w
///
/// Record: w, a share of |√u|² that rounding can't exceed, F, the size of what F is a sum of, √u.
template <class Model>
class root_screen {
 public:
  struct query {
    double weight = 0.0, rounding = 0.0, potential = 0.0, size = 0.0;
    std::vector<double> root, mean;
  };

  static constexpr index_t point = 4;
  [[nodiscard]] static const double* point_of(const query& q) noexcept { return q.root.data(); }

  root_screen(const Model& model, const table_view&) : model_(model) {}

  /// Tables in which every column of a cluster has the same weight, in ordinary range, and not so
  /// sparse that clusters' statistics are much larger than their rows.
  [[nodiscard]] static bool takes(const Model& model, const table_view& X) {
    constexpr double largest = 1e100;
    return screenable(X, model.width(), [](double x) { return x < largest; });
  }

  [[nodiscard]] index_t fields() const noexcept { return first + size(); }
  [[nodiscard]] static index_t scratch() noexcept { return 0; }

  void encode(const double* t, double* record) const {
    double* u = record + first;
    const double w = model_.smoothed_means(t, u);
    double sum = 0.0;
    double potential = 0.0;
    double magnitude = 0.0;
    for (index_t j = 0; j < size(); ++j) {
      const double term = x_log_x(u[j]);
      sum += u[j];
      potential += term;
      magnitude += std::fabs(term) + 1.0;
      u[j] = std::sqrt(u[j]);
    }
    record[0] = w;
    record[1] = square_of_rounding * sum;
    record[2] = w * potential;
    record[3] = w * magnitude * rounding_of_sums();
  }

  void load(query& q, const double* record) const {
    q.weight = record[0];
    q.rounding = record[1];
    q.potential = record[2];
    q.size = record[3];
    q.root.assign(record + first, record + fields());
    q.mean = q.root;
    for (double& u : q.mean) u *= u;
  }

  [[nodiscard]] lanes bounds(const query& q, const double* block, double*) const noexcept {
    constexpr index_t width = lanes::count;
    const double* roots = block + first * width;
    lanes even = lanes::all(0.0);
    lanes odd = lanes::all(0.0);
    index_t j = 0;
    for (; j + 1 < size(); j += 2) {
      const lanes a = lanes::load(roots + j * width) - q.root[static_cast<std::size_t>(j)];
      const lanes b =
          lanes::load(roots + (j + 1) * width) - q.root[static_cast<std::size_t>(j + 1)];
      even = even + a * a;
      odd = odd + b * b;
    }
    if (j < size()) {
      const lanes a = lanes::load(roots + j * width) - q.root[static_cast<std::size_t>(j)];
      even = even + a * a;
    }
    const lanes weight = lanes::load(block);
    const lanes total = at_least(weight + q.weight, least_weight);
    const lanes per_total = 1.0 / total;
    const lanes smaller = (total - at_least(weight, q.weight)) * per_total;
    const lanes beyond = smaller * (smaller * (smaller * 0.25 + 1.0 / 3.0) + 0.5) + 1.0;
    const lanes rounding = lanes::load(block + width) + q.rounding;
    return ((even + odd) * nearly - rounding) * (weight * q.weight * per_total * beyond);
  }

  [[nodiscard]] lanes far(const query& q, const lanes& square, const lanes& weight,
                          const lanes& rounding) const noexcept {
    const lanes pooled = weight * q.weight / at_least(weight + q.weight, least_weight);
    return (square * nearly - (rounding + q.rounding)) * pooled;
  }

  [[nodiscard]] lanes tighter(const query& q, const double* block, double*) const noexcept {
    constexpr index_t width = lanes::count;
    const lanes weight = lanes::load(block);
    const lanes total = at_least(weight + q.weight, least_weight);
    const lanes share = weight / total;
    const lanes other = lanes::all(q.weight) / total;
    lanes sum = lanes::all(0.0);
    for (index_t j = 0; j < size(); ++j) {
      const lanes root = lanes::load(block + (first + j) * width);
      const lanes u = root * root * share + other * q.mean[static_cast<std::size_t>(j)];
      sum = sum + u * log(u);
    }
    const lanes divergence = lanes::load(block + 2 * width) + q.potential - sum * total;
    return divergence - (lanes::load(block + 3 * width) + q.size);
  }

 private:
  static constexpr index_t first = point;
  static constexpr double nearly = 1.0 - 1e-6;
  static constexpr double least_weight = 1e-300;
  /// (x - y)² of rounded x and y is at least (1 - δ)(x - y)² - e²/δ, where |x - y| is off by e;
  /// here δ = 1e-6 and e² = 1e-30 (x² + y²).
  static constexpr double square_of_rounding = 1e-24;

  [[nodiscard]] index_t size() const noexcept { return model_.smoothed_means_size(); }
  [[nodiscard]] double rounding_of_sums() const noexcept {
    return 1e-15 * (8.0 + static_cast<double>(size()));
  }

  Model model_;
};

}  // namespace bhclust::detail

/// @file
/// Bounds on divergences whose potential is that of Kullback and Leibler.
#pragma once

#include <bhclust/detail/lane_functions.hpp>
#include <bhclust/detail/log_space.hpp>
#include <bhclust/detail/root_sketch.hpp>
#include <bhclust/detail/screenable.hpp>
#include <bhclust/detail/simd.hpp>
#include <bhclust/types.hpp>

#include <cmath>
#include <utility>
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
    std::vector<float> near_root;
  };

  static constexpr index_t point = 4;
  [[nodiscard]] static const double* point_of(const query& q) noexcept { return q.root.data(); }

  root_screen(Model model, const table_view&)
      : model_(std::move(model)), about_(nearly_in_single()) {}

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
    q.near_root.assign(q.root.begin(), q.root.end());
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
    const lanes per_total = per_total_of(q, weight);
    const lanes rounding = lanes::load(block + width) + q.rounding;
    const lanes beyond = first_factor(share_of_smaller(q, weight, per_total));
    return ((even + odd) * nearly - rounding) * (weight * q.weight * per_total * beyond);
  }

  /// Roots are looked at as far as shows that all eight are above the limit; what is not has its
  /// columns' parts of d* bounded one by one (root_clusters.hpp).
  [[nodiscard]] lanes near(const query& q, const double* block, const float* roots,
                           double limit) const noexcept {
    constexpr index_t width = lanes::count;
    constexpr index_t some = 12;
    const lanes weight = lanes::load(block);
    const lanes per_total = per_total_of(q, weight);
    const lanes smaller = share_of_smaller(q, weight, per_total);
    const lanes pooled = weight * q.weight * per_total;
    const lanes factor = pooled * first_factor(smaller);
    const lanes rounding = (lanes::load(block + width) + q.rounding) * more_rounding;
    root_sketch sum;
    lanes least = lanes::all(0.0);
    for (index_t j = 0; j < size();) {
      const index_t stop = size() - j < some + some / 2 ? size() : j + some;
      sum.add_squares(q.near_root.data() + j, roots + j * width, stop - j);
      j = stop;
      least = (sum.value() * about_ - rounding) * factor;
      if (bits_at_most(least, lanes::all(limit)) == 0) return least;
    }
    root_sketch parts;
    parts.add_parts(q.near_root.data(), roots, size(), (smaller * -2.0 + 1.0) * (2.0 / 3.0));
    return larger(least, (parts.value() * about_ - rounding) * pooled);
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
  [[nodiscard, gnu::always_inline]] static lanes per_total_of(const query& q,
                                                              const lanes& weight) noexcept {
    return 1.0 / at_least(weight + q.weight, least_weight);
  }
  /// The smaller weight's share of both.
  [[nodiscard, gnu::always_inline]] static lanes share_of_smaller(const query& q,
                                                                  const lanes& weight,
                                                                  const lanes& per_total) noexcept {
    const lanes total = at_least(weight + q.weight, least_weight);
    return (total - at_least(weight, q.weight)) * per_total;
  }
  /// The first terms of -log(1 - a)/a.
  [[nodiscard, gnu::always_inline]] static lanes first_factor(const lanes& a) noexcept {
    return a * (a * (a * 0.25 + 1.0 / 3.0) + 0.5) + 1.0;
  }

  static constexpr index_t first = point;
  static constexpr double nearly = 1.0 - 1e-6;
  static constexpr double least_weight = 1e-300;
  /// (x - y)² of rounded x and y is at least (1 - δ)(x - y)² - e²/δ, where |x - y| is off by e;
  /// here δ = 1e-6 and e² = 1e-30 (x² + y²).
  static constexpr double square_of_rounding = 1e-24;
  /// In single precision δ = 1e-4 and e² = 1e-14 (x² + y²), for parts twice that: the root of a
  /// part grows by no more than √2 times what |x - y| does.
  static constexpr double more_rounding = 3e14;

  [[nodiscard]] index_t size() const noexcept { return model_.smoothed_means_size(); }
  [[nodiscard]] double nearly_in_single() const noexcept {
    return std::fmax(0.0, 1.0 - 1e-4 - 2e-7 * static_cast<double>(size()));
  }
  [[nodiscard]] double rounding_of_sums() const noexcept {
    return 1e-15 * (8.0 + static_cast<double>(size()));
  }

  Model model_;
  double about_;
};

}  // namespace bhclust::detail

/// @file
/// Evidence of Gaussian clusters of known variance, eight at a time.
#pragma once

#include <bhclust/detail/lane_functions.hpp>
#include <bhclust/detail/row_boxes.hpp>
#include <bhclust/detail/scaled_columns.hpp>
#include <bhclust/detail/score.hpp>
#include <bhclust/detail/simd.hpp>
#include <bhclust/progress.hpp>
#include <bhclust/types.hpp>

#include <algorithm>
#include <cmath>
#include <vector>

namespace bhclust::detail {

/// With columns in units of √2 σ and τ = ρ²/σ², the log Bayes factor of a union is a difference of
/// two quadratic forms and a function of the sizes:
///     size_term(n_a) + size_term(n_b) - size_term(n_a + n_b)
///       - Σ_j n_b / (1 + n_b τ_aj) (ȳ_bj - m_aj)² + fit(b),    size_term(n) = ½ Σ_j log(1 + n
///       τ_j),
/// m_a and τ_a the posterior mean and variance of cluster a, fit(b) = Σ_j n_b / (1 + n_b τ_j)
/// (ȳ_bj - h_j)² the same for the prior mean h. Two rows are scored by sums and differences, the
/// same to the last bit with one and the other exchanged, so that copies of a pair tie whichever is
/// newer.
///
/// Records. Row: y, fit. Cluster: n, fit, ȳ.
template <class Model>
class normal_known_variance_kernel {
 public:
  struct query {
    double n = 0.0;
    double base = 0.0;                        ///< what rows' gains have in common
    std::vector<double> centre, tau, weight;  ///< m, τ, and 1 / (1 + τ) after n rows
    double fit = 0.0;
    std::vector<double> mean;
  };

  normal_known_variance_kernel(const Model& model, const table_view& X)
      : normal_known_variance_kernel(model, X, X.rows()) {}

  /// For clusters of at most so many rows, which lie where those of X do.
  normal_known_variance_kernel(const Model& model, const table_view& X, index_t most)
      : columns_(scale(model, X)) {
    for (index_t j = 0; j < model.columns(); ++j) {
      const auto& column = model.column(j);
      prior_mean_.push_back(columns_(j, column.mean));
      tau_.push_back(column.prior_variance / column.variance);
      pair_weight_.push_back(0.5 / (1.0 + 2.0 * tau_.back()));
    }
    size_term_.reserve(static_cast<std::size_t>(most + 2));
    pacer pace;
    for (index_t i = 0; i <= most + 1; ++i) {
      pace(16 * model.columns());
      double sum = 0.0;
      for (const double tau : tau_) sum += std::log1p(static_cast<double>(i) * tau);
      size_term_.push_back(0.5 * sum);
    }
  }

  [[nodiscard]] static bool takes(const Model& model, const table_view& X) {
    constexpr double largest_tau = 1e200;
    std::vector<double> means;
    for (index_t j = 0; j < model.columns(); ++j) {
      const auto& column = model.column(j);
      if (!(column.prior_variance / column.variance < largest_tau)) return false;
      means.push_back(column.mean);
    }
    return scale(model, X).take(X, means);
  }

  [[nodiscard]] index_t row_fields() const noexcept { return d() + 1; }
  [[nodiscard]] index_t cluster_fields() const noexcept { return 2 + d(); }
  [[nodiscard]] static index_t scratch() noexcept { return 0; }

  void encode(const row_view& row, double* y) const noexcept {
    for (index_t j = 0; j < d(); ++j) y[j] = columns_(j, row.value(j));
    y[d()] = fit(1.0, y);
  }

  void lift(const double* row, double* cluster) const noexcept {
    cluster[0] = 1.0;
    cluster[1] = row[d()];
    std::copy_n(row, d(), cluster + 2);
  }

  /// The rows of a group, 0 where its statistics are none that the kernel takes.
  [[nodiscard]] static double group_mean(const Model& model, const double* t, double* mean) {
    return rows_and_means(model, t, mean);
  }

  void encode_group(const Model& model, const double* t, double* cluster) const {
    cluster[0] = moments::load(t).n;
    for (index_t j = 0; j < d(); ++j) {
      cluster[2 + j] = columns_.mean(j, moments::load(t + model.offset(j)));
    }
    cluster[1] = fit(cluster[0], cluster + 2);
  }

  void merge(const double* a, const double* b, double* made) const noexcept {
    const double n = a[0] + b[0];
    for (index_t j = 2; j < 2 + d(); ++j) made[j] = a[j] + b[0] / n * (b[j] - a[j]);
    made[0] = n;
    made[1] = fit(n, made + 2);
  }

  void load(query& q, const double* cluster) const {
    q.n = cluster[0];
    q.fit = cluster[1];
    q.mean.assign(cluster + 2, cluster + 2 + d());
    q.base = size_term(q.n) + size_term(1.0) - size_term(q.n + 1.0);
    q.centre.resize(at(d()));
    q.tau.resize(at(d()));
    q.weight.resize(at(d()));
    for (index_t j = 0; j < d(); ++j) {
      const double y = cluster[2 + j];
      const double shrink = 1.0 / (1.0 + q.n * tau_[at(j)]);
      q.tau[at(j)] = tau_[at(j)] * shrink;
      q.centre[at(j)] = y - shrink * (y - prior_mean_[at(j)]);
      q.weight[at(j)] = 1.0 / (1.0 + q.tau[at(j)]);
    }
  }

  [[nodiscard]] lanes rows(const query& q, const double* block, double*) const noexcept {
    if (q.n == 1.0) return pairs(q, block);
    const double* centre = q.centre.data();
    const double* weight = q.weight.data();
    lanes misfit = lanes::all(0.0);
    for (index_t j = 0; j < d(); ++j) {
      const lanes apart = lanes::load(block + j * lanes::count) - centre[j];
      misfit = misfit + apart * apart * weight[j];
    }
    return lanes::load(block + d() * lanes::count) - misfit + q.base;
  }

  [[nodiscard]] lanes clusters(const query& q, const double* block, double*) const noexcept {
    constexpr index_t w = lanes::count;
    const lanes n = lanes::load(block);
    lanes misfit = lanes::all(0.0);
    for (index_t j = 0; j < d(); ++j) {
      const lanes apart = lanes::load(block + (2 + j) * w) - q.centre[at(j)];
      misfit = misfit + apart * apart / (n * q.tau[at(j)] + 1.0);
    }
    const lanes sizes = look_up(size_term_.data(), n) -
                        look_up(size_term_.data(), smaller(n + q.n, lanes::all(largest())));
    return lanes::load(block + w) - n * misfit + (sizes + size_term(q.n));
  }

  /// At the centre.
  [[nodiscard]] double peak(const query& q) const noexcept {
    return q.base + gain_rounding(d()) * (std::fabs(q.base) + q.fit);
  }

  static constexpr index_t most_coordinates = 32;
  [[nodiscard]] double own(const double* row) const noexcept { return row[d()]; }
  void slope(const double*, double* g) const noexcept { std::fill_n(g, d(), 0.0); }
  static void aim(query&, const double*) noexcept {}

  /// A gain is a sum of one term a column, with A = 1 / (1 + τ) and B = weight,
  ///     A (y - h)² - B (y - m)² = top - (B - A) (y - peak)²:
  /// its largest in a box is that of the y nearest to the peak.
  [[nodiscard]] lanes bounds(const query& q, const double* block, double*) const noexcept {
    constexpr index_t w = lanes::count;
    constexpr double rounding = 1e-13;
    const box_fields field{d()};
    lanes sum = lanes::all(0.0);
    lanes size = lanes::all(std::fabs(q.base));
    for (index_t j = 0; j < d(); ++j) {
      const double a = 1.0 / (1.0 + tau_[at(j)]);
      const double b = q.weight[at(j)];
      const double h = prior_mean_[at(j)];
      const double m = q.centre[at(j)];
      const lanes low = lanes::load(block + field.low(j) * w);
      const lanes high = lanes::load(block + field.high(j) * w);
      // What lies beyond m as seen from h is the farther one's gain.
      const double peak = b > a ? m + a / (b - a) * (m - h) : (m < h ? -HUGE_VAL : HUGE_VAL);
      const lanes y = smaller(larger(low, lanes::all(peak)), high);
      const lanes from_prior = y - h;
      const lanes apart = y - m;
      const lanes gained = from_prior * from_prior * a;
      const lanes lost = apart * apart * b;
      sum = sum + (gained - lost);
      size = size + (gained + lost);
    }
    return sum + q.base + size * rounding;
  }

 private:
  [[nodiscard]] static std::size_t at(index_t j) noexcept { return static_cast<std::size_t>(j); }
  [[nodiscard]] index_t d() const noexcept { return static_cast<index_t>(tau_.size()); }
  /// Sweeps pass over dead slots too, so that a cluster meets itself and its parts: more than all.
  [[nodiscard]] double largest() const noexcept {
    return static_cast<double>(size_term_.size() - 1);
  }
  [[nodiscard]] double size_term(double n) const noexcept {
    return size_term_[static_cast<std::size_t>(n)];
  }

  /// Rows against a row: fit(a ∪ b) by the sum of both, the scatter within it by the difference.
  [[nodiscard]] lanes pairs(const query& q, const double* block) const noexcept {
    lanes misfit = lanes::all(0.0);
    for (index_t j = 0; j < d(); ++j) {
      const lanes y = lanes::load(block + j * lanes::count);
      const lanes sum = y + q.mean[at(j)] - 2.0 * prior_mean_[at(j)];
      const lanes apart = y - q.mean[at(j)];
      misfit = misfit + (sum * sum * pair_weight_[at(j)] + apart * apart * 0.5);
    }
    return lanes::load(block + d() * lanes::count) + q.fit - misfit + q.base;
  }

  [[nodiscard]] double fit(double n, const double* mean) const noexcept {
    double sum = 0.0;
    for (index_t j = 0; j < d(); ++j) {
      const double z = mean[j] - prior_mean_[at(j)];
      sum += n / (1.0 + n * tau_[at(j)]) * (z * z);
    }
    return sum;
  }

  [[nodiscard]] static scaled_columns scale(const Model& model, const table_view& X) {
    return {X, units_of_noise(model)};
  }

  scaled_columns columns_;
  std::vector<double> prior_mean_;  ///< h
  std::vector<double> tau_;
  std::vector<double> pair_weight_;  ///< 1 / (2 (1 + 2 τ))
  std::vector<double> size_term_;
};

}  // namespace bhclust::detail

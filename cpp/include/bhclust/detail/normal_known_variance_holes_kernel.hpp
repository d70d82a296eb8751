/// @file
/// Evidence of Gaussian clusters of known variance with missing cells, eight at a time.
#pragma once

#include <bhclust/detail/column_holes.hpp>
#include <bhclust/detail/lane_functions.hpp>
#include <bhclust/detail/scaled_columns.hpp>
#include <bhclust/detail/simd.hpp>
#include <bhclust/types.hpp>

#include <algorithm>
#include <cmath>
#include <vector>

namespace bhclust::detail {

/// As normal_known_variance_kernel, with a count n_j of its own for each column: the log Bayes
/// factor of a union is
///     Σ_j [½ log(1 + n_aj n_bj τ_j² / (1 + (n_aj + n_bj) τ_j))
///          - n_bj / (1 + n_bj τ_aj) (ȳ_bj - m_aj)²] + fit(b).
/// Two rows are scored the same to the last bit with one and the other exchanged.
///
/// Records: see column_holes; the term is fit.
template <class Model>
class normal_known_variance_holes_kernel {
 public:
  struct query {
    bool row = false;  ///< no column has more than one value
    std::vector<double> n, mean;
    std::vector<double> centre, tau, weight;  ///< m, τ, and 1 / (1 + τ) after n values
    std::vector<double> change;               ///< by one more value, wherever it is
  };

  normal_known_variance_holes_kernel(const Model& model, const table_view& X)
      : columns_(scale(model, X)), records_{model.columns()} {
    for (index_t j = 0; j < d(); ++j) {
      const auto& own = model.column(j);
      prior_mean_.push_back(columns_(j, own.mean));
      tau_.push_back(own.prior_variance / own.variance);
    }
  }

  [[nodiscard]] static bool takes(const Model& model, const table_view& X) {
    constexpr double largest_tau = 1e15;
    std::vector<double> means;
    for (index_t j = 0; j < model.columns(); ++j) {
      const auto& own = model.column(j);
      if (!(own.prior_variance / own.variance < largest_tau)) return false;
      means.push_back(own.mean);
    }
    return scale(model, X).take(X, means, true);
  }

  [[nodiscard]] index_t row_fields() const noexcept { return records_.row_fields(); }
  [[nodiscard]] index_t cluster_fields() const noexcept { return 1 + 2 * d(); }
  [[nodiscard]] static index_t scratch() noexcept { return 0; }

  void encode(const row_view& row, double* y) const {
    records_.encode(columns_, row, cluster_fields(), [this](const double* c) { return fit(c); }, y);
  }

  void lift(const double* row, double* cluster) const noexcept { records_.lift(row, cluster); }

  void merge(const double* a, const double* b, double* made) const noexcept {
    records_.merge(a, b, made);
    made[0] = fit(made);
  }

  void load(query& q, const double* cluster) const {
    q.n.assign(records_.n(cluster), records_.n(cluster) + d());
    q.mean.assign(records_.mean(cluster), records_.mean(cluster) + d());
    q.row = *std::max_element(q.n.begin(), q.n.end()) <= 1.0;
    for (auto* field : {&q.centre, &q.tau, &q.weight, &q.change}) field->resize(at(d()));
    for (index_t j = 0; j < d(); ++j) {
      const double tau = tau_[at(j)];
      const double n = q.n[at(j)];
      const double shrink = 1.0 / (1.0 + n * tau);
      q.tau[at(j)] = tau * shrink;
      q.centre[at(j)] = q.mean[at(j)] - shrink * (q.mean[at(j)] - prior_mean_[at(j)]);
      q.weight[at(j)] = 1.0 / (1.0 + q.tau[at(j)]);
      q.change[at(j)] = 0.5 * std::log1p(n * tau * (tau / (1.0 + (n + 1.0) * tau)));
    }
  }

  [[nodiscard]] lanes rows(const query& q, const double* block, double*) const noexcept {
    if (q.row) return pairs(q, block);
    lanes gain = lanes::all(0.0);
    for (index_t j = 0; j < d(); ++j) {
      const lanes y = lanes::load(block + j * lanes::count);
      const lanes apart = y - q.centre[at(j)];
      gain = gain + where_seen(y, lanes::all(q.change[at(j)]) - apart * apart * q.weight[at(j)]);
    }
    return gain + lanes::load(block + d() * lanes::count);
  }

  [[nodiscard]] lanes clusters(const query& q, const double* block, double*) const noexcept {
    constexpr index_t w = lanes::count;
    constexpr index_t in_range = 8;
    const double* counts = block + w;
    const double* means = counts + d() * w;
    lanes misfit = lanes::all(0.0);
    lanes logs = lanes::all(0.0);
    lanes product = lanes::all(1.0);
    for (index_t j = 0; j < d(); ++j) {
      const double tau = tau_[at(j)];
      const lanes n = lanes::load(counts + j * w);
      const lanes apart = lanes::load(means + j * w) - q.centre[at(j)];
      misfit = misfit + n * (apart * apart / (n * q.tau[at(j)] + 1.0));
      const lanes both = (n + q.n[at(j)]) * tau + 1.0;
      product = product * (n * (q.n[at(j)] * tau) * (lanes::all(tau) / both) + 1.0);
      if (j % in_range < in_range - 1 && j < d() - 1) continue;
      logs = logs + log(product);
      product = lanes::all(1.0);
    }
    return lanes::load(block) - misfit + logs * 0.5;
  }

 private:
  [[nodiscard]] static std::size_t at(index_t j) noexcept { return static_cast<std::size_t>(j); }
  [[nodiscard]] index_t d() const noexcept { return records_.d; }

  /// Rows against a row: by sums and differences, of the columns that both have seen.
  [[nodiscard]] lanes pairs(const query& q, const double* block) const noexcept {
    lanes gain = lanes::all(0.0);
    for (index_t j = 0; j < d(); ++j) {
      if (q.n[at(j)] == 0.0) continue;
      const double alone = 1.0 / (1.0 + tau_[at(j)]);
      const double together = 0.5 / (1.0 + 2.0 * tau_[at(j)]);
      const double own = q.mean[at(j)] - prior_mean_[at(j)];
      const lanes y = lanes::load(block + j * lanes::count);
      const lanes other = y - prior_mean_[at(j)];
      const lanes sum = other + own;
      const lanes apart = y - q.mean[at(j)];
      const lanes fits = (other * other + own * own) * alone;
      const lanes misfit = sum * sum * together + apart * apart * 0.5;
      gain = gain + where_seen(y, fits - misfit + q.change[at(j)]);
    }
    return gain;
  }

  [[nodiscard]] double fit(const double* cluster) const noexcept {
    double sum = 0.0;
    for (index_t j = 0; j < d(); ++j) {
      const double n = records_.n(cluster)[j];
      const double z = records_.mean(cluster)[j] - prior_mean_[at(j)];
      sum += n / (1.0 + n * tau_[at(j)]) * (z * z);
    }
    return sum;
  }

  [[nodiscard]] static scaled_columns scale(const Model& model, const table_view& X) {
    return {X, units_of_noise(model)};
  }

  scaled_columns columns_;
  column_holes records_;
  std::vector<double> prior_mean_;  ///< h
  std::vector<double> tau_;
};

}  // namespace bhclust::detail

/// @file
/// Evidence of clusters of series with missing cells, eight at a time.
#pragma once

#include <bhclust/detail/cholesky.hpp>
#include <bhclust/detail/eight_eliminations.hpp>
#include <bhclust/detail/lane_functions.hpp>
#include <bhclust/detail/robust.hpp>
#include <bhclust/detail/simd.hpp>
#include <bhclust/types.hpp>

#include <algorithm>
#include <cmath>
#include <vector>

namespace bhclust::detail {

/// With columns in units of √2 σ from their middles, κ = K/σ², and n_t values at time t with mean
/// ȳ_t in a cluster, the log Bayes factor of a union is
///     fit(a) + fit(b) - fit(a ∪ b) - Σ_t n_at n_bt / (n_at + n_bt) (ȳ_at - ȳ_bt)²,
///     fit = ½ log |I + A| + zᵀ (I + A)⁻¹ z,  A_ts = (n_t n_s)^½ κ_ts,  z_t = n_t^½ (ȳ_t - h_t),
/// h the prior mean. O(d³), by elimination. The same to the last bit with a and b exchanged.
///
/// Records of rows and of clusters: fit, n, ȳ (0 at times not seen).
template <class Model>
class gaussian_process_holes_kernel {
 public:
  struct query {
    double fit = 0.0;
    std::vector<double> n, mean;
  };

  gaussian_process_holes_kernel(const Model& model, const table_view& X)
      : scale_(model, X), kappa_(static_cast<std::size_t>(triangle(X.columns()))) {
    for (index_t i = 0; i < d(); ++i) {
      for (index_t k = 0; k <= i; ++k) {
        kappa_[at(triangle(i) + k)] =
            static_cast<double>(model.prior().k[at(i * d() + k)] / model.noise());
      }
    }
    // Sweeps pass over dead slots too, so that a cluster meets itself and its parts.
    for (index_t n = 0; n <= 2 * X.rows(); ++n) root_.push_back(std::sqrt(static_cast<double>(n)));
  }

  /// Rounding moves a score by some 1e-16 of the largest entry of A and of the squares of z; scores
  /// are wanted to a small part of a nat.
  [[nodiscard]] static bool takes(const Model& model, const table_view& X) {
    constexpr double largest_entry = 1e7;
    constexpr double farthest = 1e4;
    const scaling scale(model, X);
    for (index_t j = 0; j < X.columns(); ++j) {
      const double entry = model.column(j).prior_variance / model.noise();
      if (!(2.0 * static_cast<double>(X.rows()) * entry < largest_entry)) return false;
      if (!(std::fabs(scale.prior_mean[at(j)]) < farthest)) return false;
      for (index_t i = 0; i < X.rows(); ++i) {
        const double x = X.row(i).value(j);
        if (!is_missing(x) && !(std::fabs(scale(j, x)) < farthest)) return false;
      }
    }
    return true;
  }

  [[nodiscard]] index_t row_fields() const noexcept { return 1 + 2 * d(); }
  [[nodiscard]] index_t cluster_fields() const noexcept { return 1 + 2 * d(); }
  [[nodiscard]] index_t scratch() const noexcept {
    return (triangle(d()) + 3 * d()) * lanes::count;
  }

  void encode(const row_view& row, double* record) const {
    for (index_t j = 0; j < d(); ++j) {
      const double x = row.value(j);
      n(record)[j] = is_missing(x) ? 0.0 : 1.0;
      mean(record)[j] = is_missing(x) ? 0.0 : scale_(j, x);
    }
    record[0] = fit(record);
  }

  void lift(const double* row, double* cluster) const noexcept {
    std::copy_n(row, cluster_fields(), cluster);
  }

  void merge(const double* a, const double* b, double* made) const {
    for (index_t j = 0; j < d(); ++j) {
      const double both = n(a)[j] + n(b)[j];
      n(made)[j] = both;
      mean(made)[j] = both > 0.0 ? mean(a)[j] + n(b)[j] / both * (mean(b)[j] - mean(a)[j]) : 0.0;
    }
    made[0] = fit(made);
  }

  void load(query& q, const double* cluster) const {
    q.fit = cluster[0];
    q.n.assign(n(cluster), n(cluster) + d());
    q.mean.assign(mean(cluster), mean(cluster) + d());
  }

  [[nodiscard]] lanes rows(const query& q, const double* block, double* scratch) const {
    return clusters(q, block, scratch);
  }

  [[nodiscard]] lanes clusters(const query& q, const double* block, double* scratch) const {
    lanes misfit = lanes::all(0.0);
    const lanes joined = fit_of(q, block, scratch, misfit);
    return lanes::load(block) + q.fit - (joined + misfit);
  }

 private:
  /// Columns counted from their middles in units of √2 σ.
  struct scaling {
    scaling(const Model& model, const table_view& X)
        : middle(middle_of(X)), unit(std::sqrt(2.0) * std::sqrt(model.noise())) {
      for (index_t j = 0; j < X.columns(); ++j) {
        prior_mean.push_back((*this)(j, model.column(j).mean));
      }
    }
    [[nodiscard]] double operator()(index_t j, double x) const noexcept {
      return (x - middle[at(j)]) / unit;
    }

    std::vector<double> middle, prior_mean;
    double unit;
  };

  [[nodiscard]] static std::size_t at(index_t j) noexcept { return static_cast<std::size_t>(j); }
  [[nodiscard]] index_t d() const noexcept {
    return static_cast<index_t>(scale_.prior_mean.size());
  }
  [[nodiscard]] double* n(double* record) const noexcept { return record + 1; }
  [[nodiscard]] const double* n(const double* record) const noexcept { return record + 1; }
  [[nodiscard]] double* mean(double* record) const noexcept { return record + 1 + d(); }
  [[nodiscard]] const double* mean(const double* record) const noexcept { return record + 1 + d(); }

  /// The fit of one cluster: of eight unions of it with nothing, one.
  [[nodiscard]] double fit(const double* record) const {
    std::vector<double> block(at(cluster_fields() * lanes::count), 0.0), work(at(scratch()));
    const query q{0.0, {n(record), n(record) + d()}, {mean(record), mean(record) + d()}};
    lanes misfit = lanes::all(0.0);
    double all[lanes::count];
    fit_of(q, block.data(), work.data(), misfit).store(all);
    return all[0];
  }

  /// The fit of the query's union with each of eight clusters; `misfit` gains what their means'
  /// distances cost.
  [[nodiscard]] lanes fit_of(const query& q, const double* block, double* scratch,
                             lanes& misfit) const {
    constexpr index_t w = lanes::count;
    const double* counts = block + w;
    const double* means = counts + d() * w;
    double* roots = scratch + (triangle(d()) + 2 * d()) * w;
    eight_eliminations all{scratch, scratch + triangle(d()) * w, roots - d() * w};
    for (index_t i = 0; i < d(); ++i) {
      const lanes n = lanes::load(counts + i * w);
      const lanes total = n + q.n[at(i)];
      const lanes root = look_up(root_.data(), total);
      const lanes mean = lanes::load(means + i * w);
      const lanes apart = mean - q.mean[at(i)];
      const lanes reciprocal = 1.0 / at_least(total, 1.0);
      misfit = misfit + n * q.n[at(i)] * reciprocal * (apart * apart);
      const lanes y =
          (n * mean + q.n[at(i)] * q.mean[at(i)]) * reciprocal - scale_.prior_mean[at(i)];
      double* row = scratch + triangle(i) * w;
      const double* kappa = kappa_.data() + triangle(i);
      for (index_t k = 0; k < i; ++k) {
        (root * kappa[k] * lanes::load(roots + k * w)).store(row + k * w);
      }
      root.store(roots + i * w);
      all.eliminate(i, total * kappa[i], root * y);
    }
    return all.growth(lanes::all(0.0)) * 0.5 + all.distance;
  }

  scaling scale_;
  std::vector<double> kappa_;  ///< lower triangle
  std::vector<double> root_;
};

}  // namespace bhclust::detail

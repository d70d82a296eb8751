/// @file
/// Evidence of Gaussian clusters with independent columns, eight at a time.
#pragma once

#include <bhclust/detail/lane_functions.hpp>
#include <bhclust/detail/lane_gamma.hpp>
#include <bhclust/detail/row_boxes.hpp>
#include <bhclust/detail/scaled_columns.hpp>
#include <bhclust/detail/score.hpp>
#include <bhclust/detail/simd.hpp>
#include <bhclust/detail/special.hpp>
#include <bhclust/progress.hpp>
#include <bhclust/types.hpp>

#include <algorithm>
#include <cmath>
#include <vector>

namespace bhclust::detail {

/// With columns in units of √(2b) and one shape a for all of them, the evidence has one power of a
/// product over columns:
///     log p = size_term(n) - (a + n/2) log Π_j (1 + M_j + κn/(κ+n) (ȳ_j - h_j)²),
/// M the sum of squares about the mean ȳ, h the prior mean. One logarithm does for eight columns.
///
/// Records. Row: y, log p. Cluster: n, log p, ȳ, M.
template <class Model>
class normal_inverse_gamma_kernel {
 public:
  struct query {
    double n = 0.0;
    double log_p = 0.0;
    std::vector<double> mean, squares;
    std::vector<double> from_prior;  ///< ȳ - h
    // Rows: gain = base - power log Π (1 + weight (y - centre)²) - log p of the row.
    double base = 0.0, power = 0.0;
    std::vector<double> centre, weight;
  };

  normal_inverse_gamma_kernel(const Model& model, const table_view& X)
      : normal_inverse_gamma_kernel(model, X, X.rows()) {}

  /// For clusters of at most so many rows, which lie where those of X do.
  normal_inverse_gamma_kernel(const Model& model, const table_view& X, index_t most)
      : columns_(scale(model, X)), shape_(model.column(0).a) {
    double log_b = 0.0;
    for (index_t j = 0; j < model.columns(); ++j) {
      const auto& column = model.column(j);
      prior_mean_.push_back(columns_(j, column.mean));
      kappa_.push_back(column.kappa);
      log_b += std::log(column.b);
    }
    size_term_ = size_terms(most + 1, static_cast<double>(model.columns()) * ln_2pi + log_b);
  }

  [[nodiscard]] static bool takes(const Model& model, const table_view& X) {
    std::vector<double> means;
    for (index_t j = 0; j < model.columns(); ++j) {
      if (model.column(j).a != model.column(0).a) return false;
      means.push_back(model.column(j).mean);
    }
    return scaled_columns::are_near(X, units_of(model), means) || scale(model, X).take(X, means);
  }

  [[nodiscard]] index_t row_fields() const noexcept { return d() + 1; }
  [[nodiscard]] index_t cluster_fields() const noexcept { return 2 + 2 * d(); }
  [[nodiscard]] static index_t scratch() noexcept { return 0; }

  /// `block` has the rows' cells, field by field.
  void encode_eight(double* block) const noexcept {
    constexpr index_t w = lanes::count;
    for (index_t j = 0; j < d(); ++j) columns_.scale_eight(j, block + j * w);
    const lanes log_product = log_of_product([&](index_t j) {
      const lanes z = lanes::load(block + j * w) - prior_mean_[at(j)];
      return z * z * mean_weight(j, 1.0) + 1.0;
    });
    (lanes::all(size_term(1.0)) - log_product * power(1.0)).store(block + d() * w);
  }

  void lift(const double* row, double* cluster) const noexcept {
    cluster[0] = 1.0;
    cluster[1] = row[d()];
    std::copy_n(row, d(), mean(cluster));
    std::fill_n(squares(cluster), d(), 0.0);
  }

  void merge(const double* a, const double* b, double* made) const {
    std::copy_n(a, cluster_fields(), made);
    absorb(made, b);
    finish(made);
  }

  /// The rows of a group, 0 where its statistics are none that the kernel takes.
  [[nodiscard]] static double group_mean(const Model& model, const double* t, double* mean) {
    constexpr double widest = 1e12;
    const double n = rows_and_means(model, t, mean);
    for (index_t j = 0; j < model.columns(); ++j) {
      const double most = widest * n * model.column(j).b;
      if (!(moments::load(t + model.offset(j)).squares <= most)) return 0.0;
    }
    return n;
  }

  void encode_group(const Model& model, const double* t, double* cluster) const {
    cluster[0] = moments::load(t).n;
    for (index_t j = 0; j < d(); ++j) {
      const auto column = moments::load(t + model.offset(j));
      mean(cluster)[j] = columns_.mean(j, column);
      squares(cluster)[j] = columns_.squares(j, column);
    }
    finish(cluster);
  }

  /// a becomes a ∪ b, but for log p.
  void absorb(double* a, const double* b) const noexcept {
    const double n = a[0] + b[0];
    const double share = b[0] / n;
    const double weight = a[0] * share;
    for (index_t j = 0; j < d(); ++j) {
      const double apart = mean(b)[j] - mean(a)[j];
      mean(a)[j] += share * apart;
      squares(a)[j] = squares(a)[j] + squares(b)[j] + weight * apart * apart;
    }
    a[0] = n;
  }

  /// log p.
  void finish(double* cluster) const {
    const double n = cluster[0];
    double factors = 1.0;
    double log_product = 0.0;
    for (index_t j = 0; j < d(); ++j) {
      const double z = mean(cluster)[j] - prior_mean_[at(j)];
      multiply(1.0 + (squares(cluster)[j] + mean_weight(j, n) * z * z), j, factors, log_product);
    }
    cluster[1] = size_term(n) - power(n) * (log_product + std::log(factors));
  }

  void load(query& q, const double* cluster) const {
    const double n = cluster[0];
    q.n = n;
    q.log_p = cluster[1];
    q.mean.assign(mean(cluster), mean(cluster) + d());
    q.squares.assign(squares(cluster), squares(cluster) + d());
    q.from_prior.resize(at(d()));
    q.centre.resize(at(d()));
    q.weight.resize(at(d()));
    double factors = 1.0;
    double log_product = 0.0;
    for (index_t j = 0; j < d(); ++j) {
      const double z = q.mean[at(j)] - prior_mean_[at(j)];
      const double kappa = kappa_[at(j)];
      const double excess = q.squares[at(j)] + mean_weight(j, n) * z * z;
      multiply(1.0 + excess, j, factors, log_product);
      q.from_prior[at(j)] = z;
      q.centre[at(j)] = q.mean[at(j)] - kappa / (kappa + n) * z;
      q.weight[at(j)] = (kappa + n) / (kappa + n + 1.0) / (1.0 + excess);
    }
    q.power = power(n + 1.0);
    q.base = size_term(n + 1.0) - q.log_p - q.power * (log_product + std::log(factors));
  }

  [[nodiscard]] lanes rows(const query& q, const double* block, double*) const noexcept {
    const double* centre = q.centre.data();
    const double* weight = q.weight.data();
    const lanes log_product = log_of_product([&](index_t j) {
      const lanes apart = lanes::load(block + j * lanes::count) - centre[j];
      return apart * apart * weight[j] + 1.0;
    });
    return lanes::all(q.base) - log_product * q.power - lanes::load(block + d() * lanes::count);
  }

  [[nodiscard]] lanes clusters(const query& q, const double* block, double*) const noexcept {
    constexpr index_t w = lanes::count;
    const double* means = block + 2 * w;
    const double* squares = means + d() * w;
    const lanes n = lanes::load(block) + q.n;
    const lanes share = lanes::load(block) / n;
    const lanes log_product = log_of_product([&](index_t j) {
      const lanes apart = lanes::load(means + j * w) - q.mean[at(j)];
      const lanes z = share * apart + q.from_prior[at(j)];
      const lanes kappa = lanes::all(kappa_[at(j)]);
      return lanes::load(squares + j * w) + q.squares[at(j)] + share * apart * apart * q.n +
             n * kappa / (n + kappa) * (z * z) + 1.0;
    });
    return look_up(size_term_.data(), smaller(n, lanes::all(largest()))) -
           log_product * (n * 0.5 + shape_) - (lanes::load(block + w) + q.log_p);
  }

  /// At the centre.
  [[nodiscard]] double peak(const query& q) const noexcept {
    const double terms = std::fabs(q.base) + q.power * static_cast<double>(d());
    return q.base + gain_rounding(d()) * terms;
  }

  static constexpr index_t most_coordinates = 32;
  [[nodiscard]] double own(const double* row) const noexcept { return -row[d()]; }
  void slope(const double* y, double* g) const noexcept {
    for (index_t j = 0; j < d(); ++j) {
      const double z = y[j] - prior_mean_[at(j)];
      const double weight = mean_weight(j, 1.0);
      g[j] = 2.0 * power(1.0) * weight * z / (1.0 + weight * z * z);
    }
  }
  static void aim(query&, const double*) noexcept {}

  /// With q_j = 1 + weight (y_j - centre)², from q_low to q_high in a box: log is concave, so
  ///     log q >= log q_low + 2 (q - q_low) / (q_low + q_high),
  /// which makes of the gain a quadratic function of each column, given that of the rows' own
  /// terms.
  [[nodiscard]] lanes bounds(const query& q, const double* block, double*) const noexcept {
    constexpr index_t w = lanes::count;
    constexpr double rounding = 1e-14;
    const box_fields field{d()};
    const double* centre = q.centre.data();
    const double* weight = q.weight.data();
    lanes rise = lanes::load(block + field.lift() * w);
    lanes size = lanes::all(0.0);
    const lanes log_product = log_of_product([&](index_t j) {
      const lanes low = lanes::load(block + field.low(j) * w);
      const lanes high = lanes::load(block + field.high(j) * w);
      const lanes slope = lanes::load(block + field.slope(j) * w);
      const lanes from = low - centre[j];
      const lanes to = high - centre[j];
      const lanes near = least_size(from, to);
      const lanes far = larger(from * -1.0, to);
      const lanes near_square = near * near;
      const lanes least = near_square * weight[j] + 1.0;
      const lanes both = far * far * weight[j] + (least + 1.0);
      const lanes peak = slope * both * (0.25 / (q.power * weight[j]));
      const lanes apart = smaller(larger(from, peak), to);
      const lanes bend = (2.0 * q.power * weight[j]) / both;
      rise = rise + (slope * (apart - (from + to) * 0.5) - bend * (apart * apart - near_square));
      size = size + size_of(slope) * (to - from);
      return least;
    });
    const lanes own = smaller(rise + size * rounding, lanes::load(block + field.most() * w));
    const lanes fall = log_product * (q.power * (1.0 - rounding));
    const double terms = std::fabs(q.base) + 16.0 * q.power * static_cast<double>(d());
    return lanes::all(q.base + rounding * terms) - fall + own + size_of(own) * rounding;
  }

 private:
  [[nodiscard]] static std::size_t at(index_t j) noexcept { return static_cast<std::size_t>(j); }
  [[nodiscard]] index_t d() const noexcept { return static_cast<index_t>(kappa_.size()); }
  [[nodiscard]] double power(double n) const noexcept { return shape_ + 0.5 * n; }
  /// Sweeps pass over dead slots too, so that a cluster meets itself and its parts: more than all.
  [[nodiscard]] double largest() const noexcept {
    return static_cast<double>(size_term_.size() - 1);
  }
  [[nodiscard]] double size_term(double n) const noexcept {
    return size_term_[static_cast<std::size_t>(n)];
  }
  /// Of 0, 1, …, most rows; `log_scale` is what each row takes off.
  [[nodiscard]] std::vector<double> size_terms(index_t most, double log_scale) const {
    constexpr index_t large = 32;
    const double least = *std::min_element(kappa_.begin(), kappa_.end());
    const index_t first = static_cast<double>(most) < 1e290 * least ? large : most + 1;
    const auto columns = static_cast<double>(d());
    return table_of_sizes(
        most, first, 16 * d(),
        [&](double n) {
          double spread = 0.0;
          for (const double kappa : kappa_) spread += log1p_ratio(n, kappa);
          return columns * log_gamma_ratio(shape_, 0.5 * n) - 0.5 * (n * log_scale + spread);
        },
        [&](const lanes& n) {
          lanes spread = lanes::all(0.0);
          for (const double kappa : kappa_) spread = spread + log1p(n / lanes::all(kappa));
          return log_gamma_ratio(shape_, n * 0.5) * columns - (n * log_scale + spread) * 0.5;
        });
  }
  [[nodiscard]] double mean_weight(index_t j, double n) const noexcept {
    return kappa_[at(j)] / (kappa_[at(j)] + n) * n;
  }
  [[nodiscard]] double* mean(double* cluster) const noexcept { return cluster + 2; }
  [[nodiscard]] const double* mean(const double* cluster) const noexcept { return cluster + 2; }
  [[nodiscard]] double* squares(double* cluster) const noexcept { return cluster + 2 + d(); }
  [[nodiscard]] const double* squares(const double* cluster) const noexcept {
    return cluster + 2 + d();
  }

  [[nodiscard]] static std::vector<double> units_of(const Model& model) {
    std::vector<double> units;
    for (index_t j = 0; j < model.columns(); ++j) {
      units.push_back(std::sqrt(2.0) * std::sqrt(model.column(j).b));
    }
    return units;
  }
  [[nodiscard]] static scaled_columns scale(const Model& model, const table_view& X) {
    return {X, units_of(model)};
  }

  /// Factors whose bounds (scaled_columns::take) keep products of so many in range.
  static constexpr index_t in_range = 8;

  /// Takes the factor of column j into a product; one logarithm does for `in_range` columns.
  static void multiply(double factor, index_t j, double& product, double& log_before) noexcept {
    product *= factor;
    if (j % in_range != in_range - 1) return;
    log_before += std::log(product);
    product = 1.0;
  }

  /// log Π_j factor(j).
  template <class Factor>
  [[nodiscard]] lanes log_of_product(const Factor& factor) const noexcept {
    lanes sum = lanes::all(0.0);
    for (index_t first = 0; first < d(); first += in_range) {
      lanes product = factor(first);
      const index_t last = std::min(d(), first + in_range);
      for (index_t j = first + 1; j < last; ++j) product = product * factor(j);
      sum = sum + log(product);
    }
    return sum;
  }

  scaled_columns columns_;
  double shape_;
  std::vector<double> prior_mean_;  ///< h
  std::vector<double> kappa_;
  std::vector<double> size_term_;
};

}  // namespace bhclust::detail

/// @file
/// Evidence of clusters of exponential rows, eight at a time.
#pragma once

#include <bhclust/detail/lane_functions.hpp>
#include <bhclust/detail/row_boxes.hpp>
#include <bhclust/detail/simd.hpp>
#include <bhclust/detail/special.hpp>
#include <bhclust/progress.hpp>
#include <bhclust/types.hpp>

#include <algorithm>
#include <cmath>
#include <vector>

namespace bhclust::detail {

/// With columns in units of the prior rate b, s the sums of a cluster's rows and a the shapes,
///     log p = size_term(n) - Σ_j (a_j + n) log(1 + s_j).
/// Where all shapes are equal, one logarithm does for eight columns.
///
/// Records. Row: y, log p. Cluster: n, log p, s.
template <class Model>
class exponential_gamma_kernel {
 public:
  struct query {
    double n = 0.0;
    double log_p = 0.0;
    std::vector<double> sum;
    // Rows: gain = base - Σ_j power_j log(1 + weight_j y_j) - log p of the row.
    double base = 0.0;
    std::vector<double> power, weight;
  };

  exponential_gamma_kernel(const Model& model, const table_view& X) {
    for (index_t j = 0; j < model.columns(); ++j) {
      shape_.push_back(model.column(j).shape);
      rate_.push_back(model.column(j).rate);
      one_shape_ = one_shape_ && shape_.back() == shape_.front();
    }
    // Sweeps pass over dead slots too, so that a cluster meets itself and its parts.
    pacer pace;
    for (index_t i = 0; i <= 2 * X.rows(); ++i) {
      pace(32 * d());
      const auto n = static_cast<double>(i);
      double sum = 0.0;
      for (index_t j = 0; j < d(); ++j) {
        sum += log_gamma_ratio(shape_[at(j)], n) - n * std::log(rate_[at(j)]);
      }
      size_term_.push_back(sum);
    }
  }

  /// Nothing missing, no product of eight factors that overflows, and no prior so strong that the
  /// rounding of 1 + s is seen in gains.
  [[nodiscard]] static bool takes(const Model& model, const table_view& X) {
    constexpr double strongest = 1e4;
    constexpr double largest = 1e25;
    pacer pace;
    for (index_t j = 0; j < model.columns(); ++j) {
      pace(4 * X.rows());
      const auto& column = model.column(j);
      if (!(column.shape < strongest)) return false;
      for (index_t i = 0; i < X.rows(); ++i) {
        if (!(X.row(i).value(j) / column.rate < largest)) return false;
      }
    }
    return true;
  }

  [[nodiscard]] index_t row_fields() const noexcept { return d() + 1; }
  [[nodiscard]] index_t cluster_fields() const noexcept { return 2 + d(); }
  [[nodiscard]] static index_t scratch() noexcept { return 0; }

  void encode(const row_view& row, double* y) const {
    for (index_t j = 0; j < d(); ++j) y[j] = row.value(j) / rate_[at(j)];
    y[d()] = log_marginal(1.0, y);
  }

  void lift(const double* row, double* cluster) const noexcept {
    cluster[0] = 1.0;
    cluster[1] = row[d()];
    std::copy_n(row, d(), cluster + 2);
  }

  void merge(const double* a, const double* b, double* made) const {
    made[0] = a[0] + b[0];
    for (index_t j = 2; j < 2 + d(); ++j) made[j] = a[j] + b[j];
    made[1] = log_marginal(made[0], made + 2);
  }

  void load(query& q, const double* cluster) const {
    q.n = cluster[0];
    q.log_p = cluster[1];
    q.sum.assign(cluster + 2, cluster + 2 + d());
    q.power.resize(at(d()));
    q.weight.resize(at(d()));
    q.base = size_term(q.n + 1.0) - q.log_p;
    for (index_t j = 0; j < d(); ++j) {
      q.power[at(j)] = shape_[at(j)] + (q.n + 1.0);
      q.weight[at(j)] = 1.0 / (1.0 + q.sum[at(j)]);
      q.base -= q.power[at(j)] * std::log1p(q.sum[at(j)]);
    }
  }

  [[nodiscard]] lanes rows(const query& q, const double* block, double*) const noexcept {
    const double* weight = q.weight.data();
    const double* power = q.power.data();
    const lanes fall = sum_of_logs(
        [&](index_t j) { return lanes::load(block + j * lanes::count) * weight[j] + 1.0; },
        [&](index_t j, const lanes& log) { return log * power[j]; });
    return lanes::all(q.base) - fall - lanes::load(block + d() * lanes::count);
  }

  [[nodiscard]] lanes clusters(const query& q, const double* block, double*) const noexcept {
    constexpr index_t w = lanes::count;
    const lanes n = lanes::load(block) + q.n;
    const lanes fall = sum_of_logs(
        [&](index_t j) { return lanes::load(block + (2 + j) * w) + q.sum[at(j)] + 1.0; },
        [&](index_t j, const lanes& log) { return log * (n + shape_[at(j)]); });
    return look_up(size_term_.data(), n) - fall - (lanes::load(block + w) + q.log_p);
  }

  static constexpr index_t most_coordinates = 32;
  [[nodiscard]] double own(const double* row) const noexcept { return -row[d()]; }
  void slope(const double* y, double* g) const noexcept {
    for (index_t j = 0; j < d(); ++j) g[j] = (shape_[at(j)] + 1.0) / (1.0 + y[j]);
  }
  static void aim(query&, const double*) noexcept {}

  /// With q_j = 1 + weight_j y_j, from q_low to q_high in a box: log is concave, so
  ///     log q >= log q_low + 2 (q - q_low) / (q_low + q_high),
  /// which makes of the gain a linear function of each column, given that of the rows' own terms.
  [[nodiscard]] lanes bounds(const query& q, const double* block, double*) const noexcept {
    constexpr index_t w = lanes::count;
    constexpr double rounding = 1e-14;
    const box_fields field{d()};
    const double* weight = q.weight.data();
    const double* power = q.power.data();
    lanes rise = lanes::load(block + field.lift() * w);
    lanes size = lanes::all(std::fabs(q.base));
    const lanes fall = sum_of_logs(
        [&](index_t j) {
          const lanes low = lanes::load(block + field.low(j) * w);
          const lanes wide = lanes::load(block + field.high(j) * w) - low;
          const lanes slope = lanes::load(block + field.slope(j) * w);
          const lanes least = low * weight[j] + 1.0;
          const lanes drop = (2.0 * power[j] * weight[j]) / (least * 2.0 + wide * weight[j]);
          rise = rise + wide * (at_least(slope - drop, 0.0) - slope * 0.5);
          size = size + wide * (slope + drop);
          return least;
        },
        [&](index_t j, const lanes& log) { return log * power[j]; });
    const lanes own = smaller(rise, lanes::load(block + field.most() * w));
    return lanes::all(q.base) - fall + own + (size + fall + size_of(own)) * rounding;
  }

 private:
  [[nodiscard]] static std::size_t at(index_t j) noexcept { return static_cast<std::size_t>(j); }
  [[nodiscard]] index_t d() const noexcept { return static_cast<index_t>(shape_.size()); }
  [[nodiscard]] double size_term(double n) const noexcept {
    return size_term_[static_cast<std::size_t>(n)];
  }

  [[nodiscard]] double log_marginal(double n, const double* sum) const {
    double fall = 0.0;
    for (index_t j = 0; j < d(); ++j) fall += (shape_[at(j)] + n) * std::log1p(sum[j]);
    return size_term(n) - fall;
  }

  /// Σ_j weigh(j, log factor(j)).
  template <class Factor, class Weigh>
  [[nodiscard]] lanes sum_of_logs(const Factor& factor, const Weigh& weigh) const noexcept {
    lanes sum = lanes::all(0.0);
    if (!one_shape_) {
      for (index_t j = 0; j < d(); ++j) sum = sum + weigh(j, log(factor(j)));
      return sum;
    }
    constexpr index_t in_range = 8;
    for (index_t first = 0; first < d(); first += in_range) {
      lanes product = factor(first);
      const index_t last = std::min(d(), first + in_range);
      for (index_t j = first + 1; j < last; ++j) product = product * factor(j);
      sum = sum + log(product);
    }
    return weigh(0, sum);
  }

  std::vector<double> shape_, rate_;
  bool one_shape_ = true;
  std::vector<double> size_term_;
};

}  // namespace bhclust::detail

/// @file
/// Ward's cost, eight clusters at a time.
#pragma once

#include <bhclust/detail/scaled_columns.hpp>
#include <bhclust/detail/simd.hpp>
#include <bhclust/types.hpp>

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

namespace bhclust::detail {

/// With columns in units of √2 σ, d*(a, b) = n_a n_b / (n_a + n_b) ‖ȳ_a - ȳ_b‖², in this form: from
/// differences, and the same to the last bit with a and b exchanged.
///
/// Records. Row: y. Cluster: n, ȳ.
template <class Model>
class ward_kernel {
 public:
  struct query {
    double n = 0.0;
    std::vector<double> mean;
  };

  ward_kernel(const Model& model, const table_view& X)
      : columns_(scale(model, X)), d_(X.columns()) {}

  [[nodiscard]] static bool takes(const Model& model, const table_view& X) {
    return scale(model, X).take(X, {});
  }

  [[nodiscard]] index_t row_fields() const noexcept { return d_; }
  [[nodiscard]] index_t cluster_fields() const noexcept { return 1 + d_; }
  [[nodiscard]] static index_t scratch() noexcept { return 0; }

  void encode(const row_view& row, double* y) const noexcept {
    for (index_t j = 0; j < d_; ++j) y[j] = columns_(j, row.value(j));
  }

  void lift(const double* row, double* cluster) const noexcept {
    cluster[0] = 1.0;
    std::copy_n(row, d_, cluster + 1);
  }

  void merge(const double* a, const double* b, double* made) const noexcept {
    const double n = a[0] + b[0];
    for (index_t j = 1; j <= d_; ++j) made[j] = a[j] + b[0] / n * (b[j] - a[j]);
    made[0] = n;
  }

  void load(query& q, const double* cluster) const {
    q.n = cluster[0];
    q.mean.assign(cluster + 1, cluster + 1 + d_);
  }

  [[nodiscard]] lanes rows(const query& q, const double* block, double*) const noexcept {
    return squared_distance(q, block) * -(q.n / (q.n + 1.0));
  }

  [[nodiscard]] lanes clusters(const query& q, const double* block, double*) const noexcept {
    const lanes n = lanes::load(block);
    return squared_distance(q, block + lanes::count) * (n * -q.n / (n + q.n));
  }

 private:
  [[nodiscard]] lanes squared_distance(const query& q, const double* block) const noexcept {
    lanes sum = lanes::all(0.0);
    for (index_t j = 0; j < d_; ++j) {
      const lanes apart =
          lanes::load(block + j * lanes::count) - q.mean[static_cast<std::size_t>(j)];
      sum = sum + apart * apart;
    }
    return sum;
  }

  [[nodiscard]] static scaled_columns scale(const Model& model, const table_view& X) {
    return {X, units_of_noise(model)};
  }

  scaled_columns columns_;
  index_t d_;
};

}  // namespace bhclust::detail

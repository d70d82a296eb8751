/// @file
/// Ward's cost with missing cells, eight clusters at a time.
#pragma once

#include <bhclust/detail/column_holes.hpp>
#include <bhclust/detail/scaled_columns.hpp>
#include <bhclust/detail/simd.hpp>
#include <bhclust/types.hpp>

#include <vector>

namespace bhclust::detail {

/// With columns in units of √2 σ and a count n_j of its own for each column,
///     d*(a, b) = Σ_j n_aj n_bj / (n_aj + n_bj) (ȳ_aj - ȳ_bj)²,
/// the same to the last bit with a and b exchanged.
///
/// Records: see column_holes; the term is not used.
template <class Model>
class ward_holes_kernel {
 public:
  struct query {
    std::vector<double> n, mean;
    std::vector<double> weight;  ///< n / (n + 1)
  };

  ward_holes_kernel(const Model& model, const table_view& X)
      : columns_(scale(model, X)), records_{X.columns()} {}

  [[nodiscard]] static bool takes(const Model& model, const table_view& X) {
    return scale(model, X).take(X, {}, true);
  }

  [[nodiscard]] index_t row_fields() const noexcept { return records_.row_fields(); }
  [[nodiscard]] index_t cluster_fields() const noexcept { return 1 + 2 * d(); }
  [[nodiscard]] static index_t scratch() noexcept { return 0; }

  void encode(const row_view& row, double* y) const noexcept {
    records_.encode(columns_, row, y);
    y[d()] = 0.0;
  }
  void lift(const double* row, double* cluster) const noexcept { records_.lift(row, cluster); }
  void merge(const double* a, const double* b, double* made) const noexcept {
    records_.merge(a, b, made);
    made[0] = 0.0;
  }

  void load(query& q, const double* cluster) const {
    q.n.assign(records_.n(cluster), records_.n(cluster) + d());
    q.mean.assign(records_.mean(cluster), records_.mean(cluster) + d());
    q.weight.clear();
    for (const double n : q.n) q.weight.push_back(n / (n + 1.0));
  }

  [[nodiscard]] lanes rows(const query& q, const double* block, double*) const noexcept {
    lanes sum = lanes::all(0.0);
    for (index_t j = 0; j < d(); ++j) {
      const lanes y = lanes::load(block + j * lanes::count);
      const lanes apart = y - q.mean[at(j)];
      sum = sum + where_seen(y, apart * apart * q.weight[at(j)]);
    }
    return sum * -1.0;
  }

  [[nodiscard]] lanes clusters(const query& q, const double* block, double*) const noexcept {
    constexpr index_t w = lanes::count;
    const double* counts = block + w;
    const double* means = counts + d() * w;
    lanes sum = lanes::all(0.0);
    for (index_t j = 0; j < d(); ++j) {
      const lanes n = lanes::load(counts + j * w);
      const lanes apart = lanes::load(means + j * w) - q.mean[at(j)];
      sum = sum + apart * apart * (n * q.n[at(j)] / at_least(n + q.n[at(j)], 1.0));
    }
    return sum * -1.0;
  }

 private:
  [[nodiscard]] static std::size_t at(index_t j) noexcept { return static_cast<std::size_t>(j); }
  [[nodiscard]] index_t d() const noexcept { return records_.d; }

  [[nodiscard]] static scaled_columns scale(const Model& model, const table_view& X) {
    return {X, units_of_noise(model)};
  }

  scaled_columns columns_;
  column_holes records_;
};

}  // namespace bhclust::detail

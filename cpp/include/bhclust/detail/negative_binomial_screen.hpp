/// @file
/// Bounds on divergences of negative binomial counts.
#pragma once

#include <bhclust/detail/lane_functions.hpp>
#include <bhclust/detail/log_space.hpp>
#include <bhclust/detail/screenable.hpp>
#include <bhclust/detail/simd.hpp>
#include <bhclust/types.hpp>

#include <cmath>
#include <vector>

namespace bhclust::detail {

/// n φ of smoothed means u without its linear part, φ = u log u - (r + u) log(r + u): d* by
/// logarithms less what rounding may have added. For tables without missing cells.
///
/// Record: n, Σ n φ, what rounding may have added to it, u.
template <class Model>
class negative_binomial_screen {
 public:
  struct query {
    double n = 0.0, potential = 0.0, margin = 0.0;
    std::vector<double> mean;
  };

  negative_binomial_screen(const Model& model, const table_view&) : model_(model) {}

  [[nodiscard]] static bool takes(const Model& model, const table_view& X) {
    for (index_t j = 0; j < X.columns(); ++j) {
      const double r = model.column(j).failures();
      const bool within_range = r > 1e-100 && r < 1e100;
      if (!within_range) return false;
    }
    return screenable(X, model.width(), [](double x) { return !is_missing(x); });
  }

  [[nodiscard]] index_t fields() const noexcept { return first + model_.columns(); }
  [[nodiscard]] static index_t scratch() noexcept { return 0; }

  void encode(const double* t, double* record) const {
    double potential = 0.0;
    double magnitude = 0.0;
    for (index_t j = 0; j < model_.columns(); ++j) {
      const double r = model_.column(j).failures();
      const double u = model_.column(j).smoothed_mean(t + model_.offset(j));
      record[first + j] = u;
      const double of_mean = x_log_x(u);
      const double of_both = x_log_x(r + u);
      potential += of_mean - of_both;
      magnitude += std::fabs(of_mean) + std::fabs(of_both) + (r + u) + 1.0;
    }
    record[0] = t[0];
    record[1] = t[0] * potential;
    record[2] = 1e-15 * t[0] * magnitude * static_cast<double>(8 + model_.columns());
  }

  void load(query& q, const double* record) const {
    q.n = record[0];
    q.potential = record[1];
    q.margin = record[2];
    q.mean.assign(record + first, record + fields());
  }

  [[nodiscard]] lanes bounds(const query& q, const double* block, double*) const noexcept {
    constexpr index_t width = lanes::count;
    const lanes n = lanes::load(block);
    const lanes total = n + q.n;
    const lanes share = n / total;
    const lanes other = lanes::all(q.n) / total;
    lanes sum = lanes::all(0.0);
    for (index_t j = 0; j < model_.columns(); ++j) {
      const lanes u = lanes::load(block + (first + j) * width) * share +
                      other * q.mean[static_cast<std::size_t>(j)];
      const lanes both = u + model_.column(j).failures();
      sum = sum + (u * log(u) - both * log(both));
    }
    const lanes apart = lanes::load(block + width) + q.potential;
    return (apart - sum * total) - (lanes::load(block + 2 * width) + q.margin);
  }

 private:
  static constexpr index_t first = 3;

  Model model_;
};

}  // namespace bhclust::detail

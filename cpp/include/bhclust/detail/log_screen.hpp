/// @file
/// Bounds on divergences that are logarithms of pooled spreads.
#pragma once

#include <bhclust/detail/lane_functions.hpp>
#include <bhclust/detail/moments.hpp>
#include <bhclust/detail/robust.hpp>
#include <bhclust/detail/simd.hpp>
#include <bhclust/progress.hpp>
#include <bhclust/types.hpp>

#include <algorithm>
#include <cmath>
#include <vector>

namespace bhclust::detail {

/// For independent columns without missing cells whose cost is
///     d* = factor Σ_j (n log w_j - n_0 log w_0j - n_1 log w_1j),
///     w_j = (n_0 w_0j + n_1 w_1j)/n + n_0 n_1/n² (y_0j - y_1j)²,
/// one logarithm for the product of eight columns. The bound is that less what rounding may have
/// added.
///
/// `Spread` knows the columns' w and y:
///     Spread(const Model&, const table_view&)     // chooses units: makes w neither large nor
///     small static constexpr double factor static constexpr bool has_means             // else y =
///     0 double spread(index_t j, const double* t) const double mean(index_t j, const double* t)
///     const
///
/// Record: n, n Σ log w, the rounding of logarithms, a share of y² that rounding can't exceed; then
/// w, or w and y in turn.
template <class Model, class Spread>
class log_screen {
 public:
  struct query {
    double n = 0.0, potential = 0.0, margin = 0.0, rounding = 0.0;
    std::vector<double> columns;
  };

  log_screen(const Model& model, const table_view& X) : model_(model), spread_(model, X) {}

  /// Tables without missing cells, of ordinary range.
  [[nodiscard]] static bool takes(const Model& model, const table_view& X) {
    constexpr double widest = 1e15;
    const log_screen screen(model, X);
    std::vector<double> t(static_cast<std::size_t>(model.width()));
    pacer pace;
    for (index_t i = 0; i < X.rows(); ++i) {
      pace(32 * X.columns());
      std::fill(t.begin(), t.end(), 0.0);
      model.observe(X.row(i), t.data());
      for (index_t j = 0; j < X.columns(); ++j) {
        const double* own = t.data() + model.offset(j);
        if (own[0] == 0.0) return false;
        const double w = screen.spread_.spread(j, own);
        const bool within_range = w < widest && w > 1.0 / widest;
        if (!within_range) return false;
        if (Spread::has_means && !(std::fabs(screen.spread_.mean(j, own)) < 1e7)) return false;
      }
    }
    return true;
  }

  [[nodiscard]] index_t fields() const noexcept { return first + each * model_.columns(); }
  [[nodiscard]] static index_t scratch() noexcept { return 0; }

  void encode(const double* t, double* record) const {
    double* to = record + first;
    double potential = 0.0;
    double magnitude = 0.0;
    double farthest = 0.0;
    for (index_t j = 0; j < model_.columns(); ++j) {
      const double* own = t + model_.offset(j);
      to[0] = spread_.spread(j, own);
      const double log_spread = std::log(to[0]);
      potential += log_spread;
      magnitude += std::fabs(log_spread) + 8.0;
      if constexpr (Spread::has_means) {
        to[1] = spread_.mean(j, own);
        farthest = std::max(farthest, std::fabs(to[1]));
      }
      to += each;
    }
    const double n = t[0];
    constexpr double rounding = 1e-15;
    record[0] = n;
    record[1] = n * potential;
    record[2] = rounding * n * magnitude * static_cast<double>(8 + model_.columns());
    record[3] = square_of_rounding * farthest * farthest;
  }

  void load(query& q, const double* record) const {
    q.n = record[0];
    q.potential = record[1];
    q.margin = record[2];
    q.rounding = record[3];
    q.columns.assign(record + first, record + fields());
  }

  [[nodiscard]] lanes bounds(const query& q, const double* block, double*) const noexcept {
    constexpr index_t width = lanes::count;
    constexpr index_t in_range = 8;  // the product of so many spreads
    const lanes n = lanes::load(block);
    const lanes total = n + q.n;
    const lanes share = n / total;
    const lanes other = lanes::all(q.n) / total;
    const lanes nearly_both = share * other * nearly;
    const lanes rounding = lanes::load(block + 3 * width) + q.rounding;
    const double* of = q.columns.data();
    const double* columns = block + first * width;
    lanes sum = lanes::all(0.0);
    for (index_t j = 0; j < model_.columns();) {
      const index_t stop = std::min(model_.columns(), j + in_range);
      lanes product = lanes::all(1.0);
      for (; j < stop; ++j, of += each, columns += each * width) {
        lanes w = lanes::load(columns) * share + other * of[0];
        if constexpr (Spread::has_means) {
          const lanes apart = lanes::load(columns + width) - of[1];
          w = w + (apart * apart * nearly_both - rounding);
        }
        product = product * w;
      }
      sum = sum + log(product);
    }
    const lanes apart = lanes::load(block + width) + q.potential;
    return (sum * total - apart) * Spread::factor - (lanes::load(block + 2 * width) + q.margin);
  }

 private:
  static constexpr index_t first = 4;
  static constexpr index_t each = Spread::has_means ? 2 : 1;
  static constexpr double nearly = 1.0 - 1e-6;
  /// As for root_screen.
  static constexpr double square_of_rounding = 1e-24;

  Model model_;
  Spread spread_;
};

/// Variances and means of columns in units of their smoothing: w = v/ε + 1.
template <class Model>
class smoothed_variances {
 public:
  static constexpr double factor = 0.5;
  static constexpr bool has_means = true;

  smoothed_variances(const Model& model, const table_view& X) : middle_(middle_of(X)) {
    for (index_t j = 0; j < X.columns(); ++j) {
      smoothing_.push_back(model.column(j).smoothing());
      unit_.push_back(std::sqrt(smoothing_.back()));
    }
  }

  [[nodiscard]] double spread(index_t j, const double* t) const noexcept {
    return 1.0 + moments::load(t).squares / t[0] / smoothing_[static_cast<std::size_t>(j)];
  }
  [[nodiscard]] double mean(index_t j, const double* t) const noexcept {
    const auto at = static_cast<std::size_t>(j);
    return moments::load(t).offset(middle_[at]) / unit_[at];
  }

 private:
  std::vector<double> middle_, smoothing_, unit_;
};

/// Means of positive columns in units of their middle.
template <class Model>
class scaled_means {
 public:
  static constexpr double factor = 1.0;
  static constexpr bool has_means = false;

  scaled_means(const Model&, const table_view& X) : middle_(middle_of(X)) {}

  [[nodiscard]] double spread(index_t j, const double* t) const noexcept {
    return t[1] / t[0] / middle_[static_cast<std::size_t>(j)];
  }
  [[nodiscard]] static double mean(index_t, const double*) noexcept { return 0.0; }

 private:
  std::vector<double> middle_;
};

}  // namespace bhclust::detail

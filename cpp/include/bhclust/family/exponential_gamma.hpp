/// @file
/// Positive reals in independent columns: density rate exp(-rate x), rate ~ Gamma(shape a, rate b).
#pragma once

#include <bhclust/detail/column_summary.hpp>
#include <bhclust/detail/draws.hpp>
#include <bhclust/detail/exponential_gamma_kernel.hpp>
#include <bhclust/detail/lane_store.hpp>
#include <bhclust/detail/log_screen.hpp>
#include <bhclust/detail/moments.hpp>
#include <bhclust/detail/possible.hpp>
#include <bhclust/detail/screened_store.hpp>
#include <bhclust/detail/special.hpp>
#include <bhclust/independent.hpp>
#include <bhclust/parameter.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>
#include <vector>

namespace bhclust {

namespace detail {

/// Statistics: n, Σx.
struct exponential_gamma_column {
  double shape, rate;

  [[nodiscard]] static index_t width() noexcept { return 2; }

  static void observe(double x, double* t) noexcept {
    t[0] += 1.0;
    t[1] += x;
  }

  [[nodiscard]] static bool possible(const double* t, index_t rows) noexcept {
    return is_count(t[0], static_cast<double>(rows)) && (t[0] == 0.0 ? t[1] == 0.0 : t[1] > 0.0);
  }

  static constexpr index_t hyperparameters = 2;

  void gradient(const double* t, double* g) const noexcept {
    g[0] = digamma_ratio(shape, t[0]) - std::log1p(t[1] / rate);
    g[1] = (shape * (t[1] / rate) - t[0]) / (rate + t[1]);
  }

  /// a log(b/(b+s)) and n log(b+s) are kept apart: neither cancels for s << b.
  [[nodiscard]] double log_marginal(const double* t) const noexcept {
    return log_gamma_ratio(shape, t[0]) - shape * std::log1p(t[1] / rate) -
           t[0] * std::log(rate + t[1]);
  }

  void predictive_mean(const double* t, double* out) const noexcept {
    const double excess = (shape - 1.0) + t[0];
    *out = excess > 0.0 ? (rate + t[1]) / excess : infinity;
  }

  [[nodiscard]] double sample(const double* t, random_source& random) const {
    const double log_wait = std::log(-std::log(draw_positive(random)));
    const double log_rate = draw_log_gamma(random, shape + t[0]) - std::log(rate + t[1]);
    constexpr double widest = 690.0;  // e^690 = 1e299
    return std::exp(std::clamp(log_wait - log_rate, -widest, widest));
  }

  /// n (-log x̄ - 1).
  [[nodiscard]] static double potential(const double* t) noexcept {
    if (t[0] == 0.0) return 0.0;
    return t[0] * (-std::log(t[1] / t[0]) - 1.0);
  }

  /// From means, not from products of sums: those overflow for values of 1e300.
  [[nodiscard]] static double divergence(const double* t, const double* s) noexcept {
    if (t[0] == 0.0 || s[0] == 0.0) return 0.0;
    const double n = t[0] + s[0];
    const double gap = t[1] / t[0] - s[1] / s[0];
    const double mean = (t[1] + s[1]) / n;
    return t[0] * itakura_saito(t[1] / t[0], mean, s[0] / n * gap) +
           s[0] * itakura_saito(s[1] / s[0], mean, -(t[0] / n * gap));
  }

 private:
  /// u / v - log(u / v) - 1, u = v + shift.
  [[nodiscard]] static double itakura_saito(double u, double v, double shift) noexcept {
    const double x = shift / v;
    if (x > -0.5) return log1p_gap(x);
    const double ratio = u / v;
    return x - (ratio > 1e-300 ? std::log(ratio) : std::log(u) - std::log(v));
  }
};

/// Columns without missing cells are scored eight clusters at a time, divergences searched by
/// bounds.
class exponential_gamma_model : public independent<exponential_gamma_column> {
  using self = exponential_gamma_model;

 public:
  using independent::independent;
  template <class Score>
  using store = store_of_screen<self, log_screen<self, scaled_means<self>>, Score,
                                store_of_lanes<self, exponential_gamma_kernel<self>, Score,
                                               independent_store<exponential_gamma_column, Score>>>;
};

}  // namespace detail

/// Positive reals, exponential, with a Gamma prior on each column's rate.
struct ExponentialGamma {
  parameter shape = 1.0;
  parameter rate = 1.0;

  static constexpr const char* doc =
      "Positive reals (waiting times, sizes) in independent columns: exponential with a "
      "Gamma(shape, "
      "rate) prior on each column's rate. Tables may have missing cells (NaN).";

  [[nodiscard]] static const char* name() { return "ExponentialGamma"; }
  [[nodiscard]] static domain takes() { return {cell::positive, true, false}; }
  [[nodiscard]] static std::array<parameter_field<ExponentialGamma>, 2> parameters() {
    return {{{"shape", &ExponentialGamma::shape, range::positive, bhclust::shape::per_column,
              "prior shape of the rates"},
             {"rate", &ExponentialGamma::rate, range::positive, bhclust::shape::per_column,
              "prior rate of the rates, in units of the data"}}};
  }

  /// Clusters' means follow an inverse Gamma with the column's mean, and with the variance that the
  /// exponential spread within clusters leaves over; by default that is the squared mean. The shape
  /// stays above 2, where that variance is finite.
  [[nodiscard]] static ExponentialGamma from_data(const table_view& X) {
    check_table(X, takes(), name());
    constexpr double strongest = 20.0;
    std::vector<double> shapes;
    std::vector<double> rates;
    for (const auto& column : detail::summarise_columns(X)) {
      const double mean = column.n > 0.0 ? column.mean : 1.0;
      const double spread = column.variance / mean / mean;
      const double between = std::isfinite(spread) ? std::fmax(spread - 1.0, 0.0) / 2.0 : 1.0;
      shapes.push_back(std::fmin(2.0 + 1.0 / column.shrunk(between, 1.0), strongest));
      rates.push_back((shapes.back() - 1.0) * mean);
    }
    return {std::move(shapes), std::move(rates)};
  }

  [[nodiscard]] auto bind(index_t columns) const {
    std::vector<detail::exponential_gamma_column> all;
    all.reserve(static_cast<std::size_t>(columns));
    for (index_t j = 0; j < columns; ++j) all.push_back({shape[j], rate[j]});
    return detail::exponential_gamma_model(std::move(all));
  }
};

}  // namespace bhclust

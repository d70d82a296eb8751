/// @file
/// Counts in independent columns: x ~ Poisson(rate), rate ~ Gamma(shape a, rate b).
#pragma once

#include <bhclust/detail/bregman.hpp>
#include <bhclust/detail/column_summary.hpp>
#include <bhclust/detail/draws.hpp>
#include <bhclust/detail/possible.hpp>
#include <bhclust/detail/sparse_poisson_store.hpp>
#include <bhclust/detail/special.hpp>
#include <bhclust/independent.hpp>
#include <bhclust/parameter.hpp>

#include <array>
#include <cmath>
#include <utility>
#include <vector>

namespace bhclust {

namespace detail {

/// Statistics: n, Σx, Σ lnΓ(x+1).
struct poisson_gamma_column {
  using sparse_evidence_store = sparse_poisson_store<independent<poisson_gamma_column>>;

  double shape, rate;
  function_table gamma{}, log_rate{}, prior_rate{};

  void tabulate(function_tables& tables) {
    gamma = tables.gamma_ratio(shape);
    log_rate = tables.log_sum(rate);
    prior_rate = tables.scaled_log1p(shape, rate);
  }

  [[nodiscard]] static index_t width() noexcept { return 3; }

  static void observe(double x, double* t) noexcept {
    t[0] += 1.0;
    t[1] += x;
    t[2] += log_gamma(x + 1.0);
  }

  [[nodiscard]] static bool possible(const double* t, index_t rows) noexcept {
    return is_count(t[0], static_cast<double>(rows)) && is_count(t[1], infinity);
  }

  static constexpr index_t hyperparameters = 2;

  void gradient(const double* t, double* g) const noexcept {
    g[0] = digamma_ratio(shape, t[1]) - std::log1p(t[0] / rate);
    g[1] = (shape * (t[0] / rate) - t[1]) / (rate + t[0]);
  }

  /// a log(b/(b+n)) and s log(b+n) are kept apart: neither cancels for n << b.
  [[nodiscard]] double log_marginal(const double* t) const noexcept {
    if (gamma.covers(t[1]) && log_rate.covers(t[0])) {
      return gamma(t[1]) - prior_rate(t[0]) - t[1] * log_rate(t[0]) - t[2];
    }
    return computed(t);
  }

  [[nodiscard]] static double best_log_likelihood(const double* t) noexcept {
    return (t[1] > 0.0 ? t[1] * std::log(t[1] / t[0]) - t[1] : 0.0) - t[2];
  }

  void predictive_mean(const double* t, double* out) const noexcept {
    *out = (shape + t[1]) / (rate + t[0]);
  }

  [[nodiscard]] double sample(const double* t, random_source& random) const {
    return draw_poisson(random,
                        std::exp(draw_log_gamma(random, shape + t[1]) - std::log(rate + t[0])));
  }

  /// n (u log u - u), u = x̄ + smoothing (Lee & Choi 2015).
  [[nodiscard]] static double potential(const double* t) noexcept {
    if (t[0] == 0.0) return 0.0;
    const double u = t[1] / t[0] + smoothing;
    return t[0] * (u * std::log(u) - u);
  }
  static constexpr double smoothing = 0.01;

  [[nodiscard]] static index_t smoothed_means_size() noexcept { return 1; }
  static double smoothed_means(const double* t, double* u) noexcept {
    *u = t[1] / t[0] + smoothing;
    return t[0];
  }

  [[nodiscard]] static double divergence(const double* t, const double* s) noexcept {
    if (t[0] == 0.0 || s[0] == 0.0) return 0.0;
    const auto means = shifts_of_sums(t[0], t[1], s[0], s[1]);
    const double u = means.mean + smoothing;
    return t[0] * kl_term(u, means.first) + s[0] * kl_term(u, means.second);
  }

 private:
  /// Out of line, so that look-ups are inlined.
  [[nodiscard, gnu::noinline]] double computed(const double* t) const noexcept {
    return log_gamma_ratio(shape, t[1]) - shape * std::log1p(t[0] / rate) -
           t[1] * std::log(rate + t[0]) - t[2];
  }
};

}  // namespace detail

/// Poisson counts with a Gamma prior on each column's rate.
struct PoissonGamma {
  parameter shape = 1.0;
  parameter rate = 1.0;

  static constexpr const char* doc =
      "Counts 0, 1, 2, ... in independent columns: Poisson with a Gamma(shape, rate) prior on each "
      "column's rate. Dense tables may have missing cells (NaN); CSR tables are taken as they are.";

  [[nodiscard]] static const char* name() { return "PoissonGamma"; }
  [[nodiscard]] static domain takes() { return {cell::count, true, true}; }
  [[nodiscard]] static std::array<parameter_field<PoissonGamma>, 2> parameters() {
    return {{{"shape", &PoissonGamma::shape, range::positive, bhclust::shape::per_column,
              "prior shape of the rates"},
             {"rate", &PoissonGamma::rate, range::positive, bhclust::shape::per_column,
              "prior rate (inverse scale) of the rates"}}};
  }

  /// Clusters' rates have each column's mean (with half a count in one more row), and the variance
  /// that Poisson spread leaves over; by default twice the squared mean, a typical value. The shape
  /// is kept between the bounds beyond which the evidence of real tables gained nothing.
  [[nodiscard]] static PoissonGamma from_data(const table_view& X) {
    check_table(X, takes(), name());
    constexpr double weakest = 0.02;
    constexpr double strongest = 5.0;
    std::vector<double> shapes;
    std::vector<double> rates;
    for (const auto& column : detail::summarise_columns(X)) {
      const double mean = column.mean_with(0.5);
      const double square = mean * mean;
      const double between = column.shrunk(std::fmax(column.variance - mean, 0.0), 2.0 * square);
      shapes.push_back(std::fmin(std::fmax(square / between, weakest), strongest));
      rates.push_back(shapes.back() / mean);
    }
    return {std::move(shapes), std::move(rates)};
  }

  [[nodiscard]] auto bind(index_t columns) const {
    std::vector<detail::poisson_gamma_column> all;
    for (index_t j = 0; j < columns; ++j) all.push_back({shape[j], rate[j]});
    return independent<detail::poisson_gamma_column>(std::move(all));
  }
};

}  // namespace bhclust

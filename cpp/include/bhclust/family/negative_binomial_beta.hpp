/// @file
/// Over-dispersed counts in independent columns: P(x) = C(x + r - 1, x) p^r (1 - p)^x, r known,
/// p ~ Beta(a, b).
#pragma once

#include <bhclust/detail/beta.hpp>
#include <bhclust/detail/bregman.hpp>
#include <bhclust/detail/column_summary.hpp>
#include <bhclust/detail/draws.hpp>
#include <bhclust/detail/negative_binomial_screen.hpp>
#include <bhclust/detail/possible.hpp>
#include <bhclust/detail/screened_store.hpp>
#include <bhclust/detail/special.hpp>
#include <bhclust/independent.hpp>
#include <bhclust/parameter.hpp>

#include <array>
#include <cmath>
#include <utility>
#include <vector>

namespace bhclust {

namespace detail {

/// ln C(x + r - 1, x) = ln Γ(x + r) - ln Γ(r) - ln Γ(x + 1), by the shorter of two ways.
[[nodiscard]] inline double log_negative_binomial_coefficient(double r, double x) noexcept {
  if (x < r) return log_gamma_ratio(r, x) - log_gamma(x + 1.0);
  const double from_one =
      r >= 1.0 ? log_gamma_ratio(x + 1.0, r - 1.0) : -log_gamma_ratio(x + r, 1.0 - r);
  return from_one - log_gamma(r);
}

/// n φ of negative binomial counts with the mean u: φ = u log(u/(r+u)) + r log(r/(r+u)).
[[nodiscard]] inline double negative_binomial_potential(double r, double n, double u) noexcept {
  return -n * (u * std::log1p(r / u) + r * std::log1p(u / r));
}

/// Divergence of negative binomials with means `own` and u = own - shift: r + own times the
/// divergence of the probabilities p = u / (r + u), both of whose terms are >= 0.
[[nodiscard]] inline double negative_binomial_divergence(double r, double own, double u,
                                                         double shift) noexcept {
  const double total = r + own;
  const double p = u / (r + u);
  const double q = r / (r + u);
  return total * (p * entropy_excess(r / total * (shift / u)) + q * entropy_excess(-shift / total));
}

/// Beta hyperparameters for counts with r known: the clusters' means r (1 - p) / p then have the
/// column's mean (with half a count in one more row), and the variance that the spread within
/// clusters, u + u²/r about a mean u, leaves over; by default m (m + r) / 4, a typical value. `a`
/// stays above 2, where that variance is finite.
[[nodiscard]] inline std::pair<double, double> beta_of_counts(const column_summary& column,
                                                              double r) noexcept {
  constexpr double strongest = 20.0;
  const double m = column.mean_with(0.5);
  const double left = std::fmax(column.variance - m - m * m / r, 0.0) / (1.0 + 1.0 / r);
  const double between = column.shrunk(left, 0.25 * m * (m + r));
  const double a = std::fmin(2.0 + m * (m + r) / between, strongest);
  return {a, (a - 1.0) * m / r};
}

/// Statistics: n, Σx, Σ log coefficients.
struct negative_binomial_beta_column {
  double r, a, b;

  [[nodiscard]] static index_t width() noexcept { return 3; }

  void observe(double x, double* t) const noexcept {
    t[0] += 1.0;
    t[1] += x;
    t[2] += log_negative_binomial_coefficient(r, x);
  }

  [[nodiscard]] static bool possible(const double* t, index_t rows) noexcept {
    return is_count(t[0], static_cast<double>(rows)) && is_count(t[1], infinity);
  }

  static constexpr index_t hyperparameters = 3;

  /// r is known: its derivative is not a function of the statistics, and is given as 0.
  void gradient(const double* t, double* g) const noexcept {
    g[0] = 0.0;
    log_beta_ratio_gradient(a, b, r * t[0], t[1], g + 1);
  }

  [[nodiscard]] double log_marginal(const double* t) const noexcept {
    return log_beta_ratio(a, b, r * t[0], t[1]) + t[2];
  }

  [[nodiscard]] double best_log_likelihood(const double* t) const noexcept {
    return best_log_likelihood_of_two(r * t[0], t[1]) + t[2];
  }

  void predictive_mean(const double* t, double* out) const noexcept {
    const double excess = (a - 1.0) + r * t[0];
    *out = excess > 0.0 ? r * (b + t[1]) / excess : infinity;
  }

  /// A Poisson count whose mean is a Gamma(r) times (1 - p) / p.
  [[nodiscard]] double sample(const double* t, random_source& random) const {
    const double log_odds = draw_log_gamma(random, b + t[1]) - draw_log_gamma(random, a + r * t[0]);
    return draw_poisson(random, std::exp(draw_log_gamma(random, r) + log_odds));
  }

  /// u = x̄ + smoothing.
  static constexpr double smoothing = 0.01;

  [[nodiscard]] double potential(const double* t) const noexcept {
    if (t[0] == 0.0) return 0.0;
    return negative_binomial_potential(r, t[0], t[1] / t[0] + smoothing);
  }

  [[nodiscard]] double failures() const noexcept { return r; }
  [[nodiscard]] static double smoothed_mean(const double* t) noexcept {
    return t[1] / t[0] + smoothing;
  }

  [[nodiscard]] double divergence(const double* t, const double* s) const noexcept {
    if (t[0] == 0.0 || s[0] == 0.0) return 0.0;
    const auto means = shifts_of_sums(t[0], t[1], s[0], s[1]);
    const double u = means.mean + smoothing;
    const auto from_mean = [&](const double* c, double shift) {
      return c[0] * negative_binomial_divergence(r, c[1] / c[0] + smoothing, u, shift);
    };
    return from_mean(t, means.first) + from_mean(s, means.second);
  }
};

/// Columns of negative binomials; without missing cells they are searched by bounds.
template <class Column>
class negative_binomial_model : public independent<Column> {
  using self = negative_binomial_model;

 public:
  using independent<Column>::independent;
  template <class Score>
  using store = store_of_screen<self, negative_binomial_screen<self>, Score,
                                independent_store<Column, Score>>;
};

}  // namespace detail

/// Counts up to the r-th success, with a Beta prior on each column's probability of success.
struct NegativeBinomialBeta {
  parameter r = 1.0;
  parameter a = 1.0;
  parameter b = 1.0;

  static constexpr const char* doc =
      "Counts 0, 1, 2, ... that spread more than Poisson, in independent columns: negative "
      "binomial "
      "with r known and a Beta(a, b) prior on each column's p; the mean is r (1 - p) / p. Dense "
      "tables may have missing cells (NaN); CSR tables are taken as they are.";

  [[nodiscard]] static const char* name() { return "NegativeBinomialBeta"; }
  [[nodiscard]] static domain takes() { return {cell::count, true, true}; }
  [[nodiscard]] static std::array<parameter_field<NegativeBinomialBeta>, 3> parameters() {
    return {{{"r", &NegativeBinomialBeta::r, range::positive, shape::per_column,
              "number of successes, known; small r means much spread"},
             {"a", &NegativeBinomialBeta::a, range::positive, shape::per_column,
              "prior number of successes seen"},
             {"b", &NegativeBinomialBeta::b, range::positive, shape::per_column,
              "prior sum of the counts seen"}}};
  }

  /// One r for all columns: three times the r that explains the table's whole excess over Poisson
  /// spread, since clusters explain a part of it; from 1 (geometric) to 100 (nearly Poisson). The
  /// Beta prior as in detail::beta_of_counts.
  [[nodiscard]] static NegativeBinomialBeta from_data(const table_view& X) {
    check_table(X, takes(), name());
    const auto columns = detail::summarise_columns(X);
    double squares = 0.0;
    double excess = 0.0;
    for (const auto& column : columns) {
      squares += column.mean * column.mean;
      excess += column.variance - column.mean;
    }
    constexpr double most = 100.0;
    const double known =
        3.0 * squares < most * excess ? std::fmax(3.0 * squares / excess, 1.0) : most;
    std::vector<double> a;
    std::vector<double> b;
    for (const auto& column : columns) {
      const auto prior = detail::beta_of_counts(column, known);
      a.push_back(prior.first);
      b.push_back(prior.second);
    }
    return {known, std::move(a), std::move(b)};
  }

  [[nodiscard]] auto bind(index_t columns) const {
    std::vector<detail::negative_binomial_beta_column> all;
    for (index_t j = 0; j < columns; ++j) all.push_back({r[j], a[j], b[j]});
    return detail::negative_binomial_model<detail::negative_binomial_beta_column>(std::move(all));
  }
};

}  // namespace bhclust

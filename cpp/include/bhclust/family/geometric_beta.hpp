/// @file
/// Counts in independent columns: P(x) = p (1 - p)^x, p ~ Beta(a, b).
#pragma once

#include <bhclust/detail/beta.hpp>
#include <bhclust/detail/column_summary.hpp>
#include <bhclust/detail/possible.hpp>
#include <bhclust/detail/random.hpp>
#include <bhclust/detail/special.hpp>
#include <bhclust/family/negative_binomial_beta.hpp>
#include <bhclust/independent.hpp>
#include <bhclust/parameter.hpp>

#include <array>
#include <utility>
#include <vector>

namespace bhclust {

namespace detail {

/// Statistics: n, Σx.
struct geometric_beta_column {
  double a, b;
  beta_ratio_tables ratio{};

  void tabulate(function_tables& tables) { ratio.make(tables, a, b); }

  [[nodiscard]] static index_t width() noexcept { return 2; }

  static void observe(double x, double* t) noexcept {
    t[0] += 1.0;
    t[1] += x;
  }

  [[nodiscard]] static bool possible(const double* t, index_t rows) noexcept {
    return is_count(t[0], static_cast<double>(rows)) && is_count(t[1], infinity);
  }

  static constexpr index_t hyperparameters = 2;

  void gradient(const double* t, double* g) const noexcept {
    log_beta_ratio_gradient(a, b, t[0], t[1], g);
  }

  [[nodiscard]] double log_marginal(const double* t) const noexcept {
    return ratio.covers(t[0], t[1]) ? ratio(t[0], t[1]) : log_beta_ratio(a, b, t[0], t[1]);
  }

  [[nodiscard]] static double best_log_likelihood(const double* t) noexcept {
    return best_log_likelihood_of_two(t[0], t[1]);
  }

  void predictive_mean(const double* t, double* out) const noexcept {
    negative_binomial_beta_column{1.0, a, b}.predictive_mean(t, out);
  }
  [[nodiscard]] double sample(const double* t, random_source& random) const {
    return negative_binomial_beta_column{1.0, a, b}.sample(t, random);
  }

  /// That of the negative binomial with r = 1, which has the same n and Σx.
  [[nodiscard]] static double potential(const double* t) noexcept {
    return negative_binomial_beta_column{1.0, 1.0, 1.0}.potential(t);
  }
  [[nodiscard]] static double failures() noexcept { return 1.0; }
  [[nodiscard]] static double smoothed_mean(const double* t) noexcept {
    return negative_binomial_beta_column::smoothed_mean(t);
  }

  [[nodiscard]] static double divergence(const double* t, const double* s) noexcept {
    return negative_binomial_beta_column{1.0, 1.0, 1.0}.divergence(t, s);
  }
};

}  // namespace detail

/// Counts before the first success, with a Beta prior on each column's probability of success.
struct GeometricBeta {
  parameter a = 1.0;
  parameter b = 1.0;

  static constexpr const char* doc =
      "Counts 0, 1, 2, ... in independent columns: geometric (failures before the first success) "
      "with a Beta(a, b) prior on each column's p; the mean is (1 - p) / p. Dense tables may have "
      "missing cells (NaN); CSR tables are taken as they are.";

  [[nodiscard]] static const char* name() { return "GeometricBeta"; }
  [[nodiscard]] static domain takes() { return {cell::count, true, true}; }
  [[nodiscard]] static std::array<parameter_field<GeometricBeta>, 2> parameters() {
    return {{{"a", &GeometricBeta::a, range::positive, shape::per_column,
              "prior number of successes seen"},
             {"b", &GeometricBeta::b, range::positive, shape::per_column,
              "prior sum of the counts seen"}}};
  }

  /// As NegativeBinomialBeta's with r = 1.
  [[nodiscard]] static GeometricBeta from_data(const table_view& X) {
    check_table(X, takes(), name());
    std::vector<double> a;
    std::vector<double> b;
    for (const auto& column : detail::summarise_columns(X)) {
      const auto prior = detail::beta_of_counts(column, 1.0);
      a.push_back(prior.first);
      b.push_back(prior.second);
    }
    return {std::move(a), std::move(b)};
  }

  [[nodiscard]] auto bind(index_t columns) const {
    std::vector<detail::geometric_beta_column> all;
    for (index_t j = 0; j < columns; ++j) all.push_back({a[j], b[j], {}});
    return detail::negative_binomial_model<detail::geometric_beta_column>(std::move(all));
  }
};

}  // namespace bhclust

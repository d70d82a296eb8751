/// @file
/// Ratios of beta functions: log marginal likelihoods of counts of two kinds.
#pragma once

#include <bhclust/detail/function_tables.hpp>
#include <bhclust/detail/special.hpp>

#include <cmath>
#include <utility>

namespace bhclust::detail {

/// ln B(a + m, b + k) - ln B(a, b) for a, b > 0 and m, k >= 0: the log probability of a sequence of
/// m events of one kind and k of the other. It is a sum of three ratios of gamma functions in three
/// ways; the one whose steps are shortest does not cancel: m + k where the prior is strong, b + k
/// where nearly all events are of the first kind, a + m where nearly none are. O(1).
[[nodiscard]] inline double log_beta_ratio(double a, double b, double m, double k) noexcept {
  if (m <= b && k <= a) {
    return log_gamma_ratio(a, m) + log_gamma_ratio(b, k) - log_gamma_ratio(a + b, m + k);
  }
  if (b + k <= a + m) {
    return log_gamma_ratio(b, k) + (log_gamma_ratio(a, b) - log_gamma_ratio(a + m, b + k));
  }
  return log_gamma_ratio(a, m) + (log_gamma_ratio(b, a) - log_gamma_ratio(b + k, a + m));
}

/// The same for small whole m and k by look-up. Not for strong priors, whose three terms cancel.
struct beta_ratio_tables {
  function_table first{}, second{}, both{};

  void make(function_tables& tables, double a, double b) {
    if (a + b > strong) return;
    first = tables.gamma_ratio_of_both(a);
    second = tables.gamma_ratio_of_both(b);
    both = tables.gamma_ratio_of_both(a + b);
  }
  /// For numbers of rows, m of those that add 1 to the column's sum and k of those that do not.
  void make_of_rows(function_tables& tables, double a, double b) {
    if (a + b > strong) return;
    first = tables.gamma_ratio_of_ones(a);
    second = tables.gamma_ratio_of_zeros(b);
    both = tables.gamma_ratio_of_rows(a + b);
  }

  [[nodiscard]] bool covers(double m, double k) const noexcept {
    return first.covers(m) && second.covers(k) && both.covers(m + k);
  }
  [[nodiscard]] double operator()(double m, double k) const noexcept {
    return first(m) + second(k) - both(m + k);
  }

  [[nodiscard]] bool covers_one_more(double m, double k) const noexcept {
    return first.covers(m + 1.0) && second.covers(k + 1.0) && both.covers(m + k + 1.0);
  }
  /// Of m + 1 and k, and of m and k + 1.
  [[nodiscard]] std::pair<double, double> of_one_more(double m, double k) const noexcept {
    const double* of_first = first.values + static_cast<index_t>(m);
    const double* of_second = second.values + static_cast<index_t>(k);
    const double all = both(m + k + 1.0);
    return {of_first[1] + of_second[0] - all, of_first[0] + of_second[1] - all};
  }

 private:
  static constexpr double strong = 1e4;
};

/// m ln m, 0 of 0.
[[nodiscard]] inline double count_log_count(double m) noexcept {
  return m > 0.0 ? m * std::log(m) : 0.0;
}

/// The log probability of a sequence of m and k events of two kinds at the shares that suit it
/// best.
[[nodiscard]] inline double best_log_likelihood_of_two(double m, double k) noexcept {
  return (m > 0.0 ? m * std::log(m / (m + k)) : 0.0) + (k > 0.0 ? k * std::log(k / (m + k)) : 0.0);
}
/// The same by a table of count_log_count, whose counts are small enough for its terms to cancel.
[[nodiscard]] inline double best_log_likelihood_of_two(const function_table& table, double m,
                                                       double k) noexcept {
  return table.covers(m + k) ? table(m) + table(k) - table(m + k)
                             : best_log_likelihood_of_two(m, k);
}

/// ∂/∂a and ∂/∂b of log_beta_ratio.
inline void log_beta_ratio_gradient(double a, double b, double m, double k, double* g) noexcept {
  const double all = digamma_ratio(a + b, m + k);
  g[0] = digamma_ratio(a, m) - all;
  g[1] = digamma_ratio(b, k) - all;
}

}  // namespace bhclust::detail

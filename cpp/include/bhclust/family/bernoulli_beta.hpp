/// @file
/// Bits in independent columns: P(x = 1) = p, p ~ Beta(a, b).
#pragma once

#include <bhclust/detail/beta.hpp>
#include <bhclust/detail/bregman.hpp>
#include <bhclust/detail/column_summary.hpp>
#include <bhclust/detail/possible.hpp>
#include <bhclust/detail/random.hpp>
#include <bhclust/independent.hpp>
#include <bhclust/parameter.hpp>

#include <array>
#include <utility>
#include <vector>

namespace bhclust {

namespace detail {

/// Statistics: n, number of ones.
struct bernoulli_beta_column {
  double a, b;
  beta_ratio_tables ratio{};
  function_table entropy{};

  void tabulate(function_tables& tables) {
    ratio.make_of_rows(tables, a, b);
    entropy = tables.count_log_count_of_rows();
  }

  [[nodiscard]] static index_t width() noexcept { return 2; }

  static void observe(double x, double* t) noexcept {
    t[0] += 1.0;
    t[1] += x;
  }

  [[nodiscard]] static bool possible(const double* t, index_t rows) noexcept {
    return is_count(t[0], static_cast<double>(rows)) && is_count(t[1], t[0]);
  }

  static constexpr index_t hyperparameters = 2;

  void gradient(const double* t, double* g) const noexcept {
    log_beta_ratio_gradient(a, b, t[1], t[0] - t[1], g);
  }

  [[nodiscard]] double log_marginal(const double* t) const noexcept {
    return ratio.covers(t[1], t[0] - t[1]) ? ratio(t[1], t[0] - t[1]) : computed(t);
  }

  bool gains_of_bits(const double* t, double self, const double* selves,
                     double* out) const noexcept {
    const double m = t[1];
    const double k = t[0] - m;
    if (!ratio.covers_one_more(m, k)) return false;
    const auto joint = ratio.of_one_more(m, k);
    out[0] = joint.second - self - selves[0];
    out[1] = joint.first - self - selves[1];
    return true;
  }

  [[nodiscard]] double best_log_likelihood(const double* t) const noexcept {
    return best_log_likelihood_of_two(entropy, t[1], t[0] - t[1]);
  }

  void predictive_mean(const double* t, double* out) const noexcept {
    *out = (a + t[1]) / (a + b + t[0]);
  }

  [[nodiscard]] double sample(const double* t, random_source& random) const {
    return random.uniform() * (a + b + t[0]) < a + t[1] ? 1.0 : 0.0;
  }

  /// p = (1 - smoothing) x̄ + smoothing / 2, so that the potential of a single row has a slope.
  static constexpr double smoothing = 0.01;

  /// n (p log p + (1 - p) log(1 - p)).
  [[nodiscard]] static double potential(const double* t) noexcept {
    if (t[0] == 0.0) return 0.0;
    const double p = (1.0 - smoothing) * (t[1] / t[0]) + 0.5 * smoothing;
    return t[0] * (x_log_x(p) + x_log_x(1.0 - p));
  }

  [[nodiscard]] static index_t smoothed_means_size() noexcept { return 2; }
  static double smoothed_means(const double* t, double* u) noexcept {
    u[0] = (1.0 - smoothing) * (t[1] / t[0]) + 0.5 * smoothing;
    u[1] = 1.0 - u[0];
    return t[0];
  }

  [[nodiscard]] static double divergence(const double* t, const double* s) noexcept {
    if (t[0] == 0.0 || s[0] == 0.0) return 0.0;
    const auto means = shifts_of_sums(t[0], t[1], s[0], s[1]);
    const double p = (1.0 - smoothing) * means.mean + 0.5 * smoothing;
    const auto from_mean = [p](double shift) {
      return kl_term(p, shift) + kl_term(1.0 - p, -shift);
    };
    return t[0] * from_mean((1.0 - smoothing) * means.first) +
           s[0] * from_mean((1.0 - smoothing) * means.second);
  }

 private:
  /// Out of line, so that look-ups are inlined.
  [[nodiscard, gnu::noinline]] double computed(const double* t) const noexcept {
    return log_beta_ratio(a, b, t[1], t[0] - t[1]);
  }
};

}  // namespace detail

/// Bits with a Beta prior on each column's probability of a one.
struct BernoulliBeta {
  parameter a = 1.0;
  parameter b = 1.0;

  static constexpr const char* doc =
      "Bits 0 or 1 in independent columns: Bernoulli with a Beta(a, b) prior on each column's "
      "probability of a one. Tables may have missing cells (NaN).";

  [[nodiscard]] static const char* name() { return "BernoulliBeta"; }
  [[nodiscard]] static domain takes() { return {cell::bit, true, true}; }
  [[nodiscard]] static std::array<parameter_field<BernoulliBeta>, 2> parameters() {
    return {
        {{"a", &BernoulliBeta::a, range::positive, shape::per_column, "prior number of ones seen"},
         {"b", &BernoulliBeta::b, range::positive, shape::per_column,
          "prior number of zeros seen"}}};
  }

  /// A prior worth one row in all, about each column's own share of ones, to which half a one and
  /// half a zero are added. It lets a cluster be nearly pure in a column, and columns in which ones
  /// are rare say little where both clusters have none.
  [[nodiscard]] static BernoulliBeta from_data(const table_view& X) {
    check_table(X, takes(), name());
    std::vector<double> ones;
    std::vector<double> zeros;
    for (const auto& column : detail::summarise_columns(X)) {
      const double share = column.mean_with(0.5);
      ones.push_back(share);
      zeros.push_back(1.0 - share);
    }
    return {std::move(ones), std::move(zeros)};
  }

  [[nodiscard]] auto bind(index_t columns) const {
    std::vector<detail::bernoulli_beta_column> all;
    for (index_t j = 0; j < columns; ++j) all.push_back({a[j], b[j]});
    return independent<detail::bernoulli_beta_column>(std::move(all));
  }
};

}  // namespace bhclust

/// @file
/// Ratios of gamma functions, eight at a time, and tables of what depends on a number of rows.
#pragma once

#include <bhclust/detail/lane_functions.hpp>
#include <bhclust/detail/simd.hpp>
#include <bhclust/detail/special.hpp>
#include <bhclust/progress.hpp>
#include <bhclust/types.hpp>

#include <algorithm>
#include <cstddef>
#include <vector>

namespace bhclust::detail {

/// μ(a + m) - μ(a) as the scalar function.
[[nodiscard]] inline lanes stirling_correction_difference(double a, const lanes& m) noexcept {
  const double ia = 1.0 / a;
  const double za = ia * ia;
  const lanes ib = 1.0 / (m + a);
  const lanes zb = ib * ib;
  const auto& c = stirling_coefficients;
  std::size_t k = a >= 16.0 ? 5 : c.size() - 1;
  lanes value = lanes::all(c[k]);
  lanes slope = lanes::all(0.0);
  while (k-- > 0) {
    slope = slope * za + value;
    value = value * zb + c[k];
  }
  return m * ib * (-ia) * (value + (ib + ia) * slope * ia);
}

/// ln Γ(x) for eight x >= 9.
[[nodiscard]] inline lanes log_gamma_of_large(const lanes& x) noexcept {
  const lanes inverse = 1.0 / x;
  const lanes z = inverse * inverse;
  lanes correction = lanes::all(stirling_coefficients.back());
  for (std::size_t k = stirling_coefficients.size() - 1; k-- > 0;) {
    correction = correction * z + stirling_coefficients[k];
  }
  return (x - 0.5) * (log(x) - 1.0) + (0.5 * ln_2pi - 0.5) + correction * inverse;
}

/// ln Γ(a + m) - ln Γ(a) for a > 0 and eight m >= 9: see the scalar function.
[[nodiscard]] inline lanes log_gamma_ratio(double a, const lanes& m) noexcept {
  if (!(a >= 3.0)) return log_gamma_of_large(m + a) - log_gamma(a);
  return m * (log(m + a) - 1.0) + log1p(m / lanes::all(a)) * (a - 0.5) +
         stirling_correction_difference(a, m);
}

/// ln Γ_d(a + half_n) - ln Γ_d(a) for eight half_n >= max(9, d / 2): see log_gamma_ratio_ladder.
[[nodiscard]] inline lanes log_multigamma_ratio(double a, const lanes& half_n, index_t d) noexcept {
  lanes sum = lanes::all(0.0);
  index_t i = 0;
  for (; i + 1 < d; i += 2) {
    sum = sum + log_gamma_ratio(2.0 * a - static_cast<double>(i) - 1.0, half_n * 2.0) -
          half_n * (2.0 * ln_2);
  }
  if (i < d) sum = sum + log_gamma_ratio(a - 0.5 * static_cast<double>(i), half_n);
  return sum;
}

/// one(n) for n = 0, 1, …, most; from `first` on by eight(n, n + 1, …, n + 7). Each costs `work`
/// additions.
template <class One, class Eight>
[[nodiscard]] std::vector<double> table_of_sizes(index_t most, index_t first, index_t work,
                                                 const One& one, const Eight& eight) {
  constexpr index_t w = lanes::count;
  std::vector<double> terms;
  terms.reserve(static_cast<std::size_t>(most + w));
  pacer pace;
  for (index_t n = 0; n < std::min(first, most + 1); ++n) {
    pace(work);
    terms.push_back(one(static_cast<double>(n)));
  }
  for (index_t n = first; n <= most; n += w) {
    pace(w * work);
    double some[w];
    for (index_t l = 0; l < w; ++l) some[l] = static_cast<double>(n + l);
    eight(lanes::load(some)).store(some);
    terms.insert(terms.end(), some, some + std::min(w, most + 1 - n));
  }
  return terms;
}

}  // namespace bhclust::detail

/// @file
/// Special functions of the log marginal likelihoods. Pure: no global state (std::lgamma writes
/// signgam, a data race), no errno, no exceptions. Natural logarithms throughout.
#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <limits>

#include "bhclust/types.hpp"

namespace bhclust::detail {

inline constexpr double infinity = std::numeric_limits<double>::infinity();
inline constexpr double ln_2 = 0.69314718055994530942;
inline constexpr double ln_pi = 1.1447298858494001741;
inline constexpr double ln_2pi = 1.8378770664093454836;

/// c[First] + c[First + 2] x + c[First + 4] x² + …, unrolled.
template <std::size_t First, std::size_t N>
[[nodiscard]] constexpr double every_second(const std::array<double, N>& c, double x) noexcept {
  if constexpr (First + 2 >= N) {
    return c[First];
  } else {
    return c[First] + x * every_second<First + 2>(c, x);
  }
}

/// c[0] + c[1] x + … + c[N-1] x^(N-1), N >= 2, as two interleaved Horner schemes: half the latency.
template <std::size_t N>
[[nodiscard]] constexpr double polynomial(const std::array<double, N>& c, double x) noexcept {
  return every_second<0>(c, x * x) + x * every_second<1>(c, x * x);
}

/// x μ(x) as a polynomial in 1/x² for x >= 3, where μ is what Stirling's formula lacks:
/// ln Γ(x) = (x - ½) ln x - x + ½ ln 2π + μ(x). Error 3e-17; interpolates at Chebyshev nodes.
inline constexpr std::array<double, 11> stirling_coefficients = {
    0.08333333333333333,    -0.0027777777777198706, 0.0007936507724234067, -0.0005952350113118343,
    0.0008415163778136668,  -0.0019068288114279443, 0.006092364447572614,  -0.023023388614372777,
    0.0813307211132798,     -0.2070933006751568,    0.26180852870866445};

/// μ(x) for x >= 3, given 1/x.
[[nodiscard]] inline double stirling_correction(double inverse) noexcept {
  return inverse * polynomial(stirling_coefficients, inverse * inverse);
}

/// ln Γ(1 + u) for u in [0, 2] with small relative error also at its zeros 0 and 1: u (u - 1) times
/// a rational function with positive coefficients.
[[nodiscard]] inline double log_gamma_1p(double u) noexcept {
  constexpr std::array<double, 9> p = {
      0.5772156649015329,  1.795879018997928,    2.1865334418937055,
      1.3226883681228077,  0.4175253681048576,   0.06620652414372981,
      0.004630212547046027, 0.00010318936786846241, 1.54621296801624e-07};
  constexpr std::array<double, 9> q = {
      1.0,                 3.5361659629745215,  5.021257900661251,
      3.6722217552107503,  1.4771004522959044,  0.3239769173460576,
      0.03613884447121401, 0.0017463681006452904, 2.4701852219090835e-05};
  return u * (u - 1.0) * polynomial(p, u) / polynomial(q, u);
}

/// ln Γ(x) for x > 0; +inf at +inf. Error below 4 ulp of max(1, |value|), and relative to the value
/// near its zeros 1 and 2. O(1), at most one logarithm.
[[nodiscard]] inline double log_gamma(double x) noexcept {
  if (x >= 3.0) {
    // (x - ½)(ln x - 1) keeps the two large terms of Stirling's formula from cancelling.
    return (x - 0.5) * (std::log(x) - 1.0) + (0.5 * ln_2pi - 0.5) + stirling_correction(1.0 / x);
  }
  if (x >= 1.0) return log_gamma_1p(x - 1.0);
  return log_gamma_1p(x) - std::log(x);
}

/// μ(a + m) - μ(a) for a >= 3, m >= 0, without cancellation: the polynomial's divided difference.
[[nodiscard]] inline double stirling_correction_difference(double a, double m) noexcept {
  const double ia = 1.0 / a;
  const double ib = 1.0 / (a + m);
  const double za = ia * ia;
  const double zb = ib * ib;
  const auto& c = stirling_coefficients;
  double value = c[c.size() - 1];
  double slope = 0.0;
  for (std::size_t k = c.size() - 1; k-- > 0;) {
    slope = slope * za + value;
    value = value * zb + c[k];
  }
  const double step = -(m * ib) * ia;  // ib - ia
  return step * (value + ia * (ia + ib) * slope);
}

/// ln Γ(a + m) - ln Γ(a) for a >= 3, m > 0.
[[nodiscard]] inline double log_gamma_ratio_stirling(double a, double m) noexcept {
  return m * (std::log(a + m) - 1.0) + (a - 0.5) * std::log1p(m / a) +
         stirling_correction_difference(a, m);
}

/// ln a (a + 1) … (a + m - 1) for a small integer m and a^m in range.
[[nodiscard]] inline double log_rising(double a, double m) noexcept {
  double product = a;
  for (double k = 1.0; k < m; k += 1.0) product *= a + k;
  return std::log(product);
}

/// As log_gamma_ratio for a < 3 and m < 1: from a + 3 down. What is taken off is of the order of m
/// as well, so the error stays relative to m.
[[nodiscard]] inline double log_gamma_ratio_shifted(double a, double m) noexcept {
  double excess = m / a;  // Π (1 + m / (a + k)) - 1
  if (!(excess < infinity)) return log_gamma(a + m) - log_gamma(a);
  for (int k = 1; k < 3; ++k) {
    const double t = m / (a + k);
    excess += t + excess * t;
  }
  return log_gamma_ratio_stirling(a + 3.0, m) - std::log1p(excess);
}

/// ln Γ(a + m) - ln Γ(a) for a > 0, m >= 0, both finite. Relative error about 1e-15 for a >= 3
/// however small m / a; below that about 1e-15 max(m, |value|), since the value has zeros. O(1).
[[nodiscard]] inline double log_gamma_ratio(double a, double m) noexcept {
  constexpr double longest_product = 8.0;
  constexpr double largest_factor = 1e37;
  constexpr double smallest_factor = 1e-300;
  if (m == 0.0) return 0.0;
  if (m <= longest_product && m == std::floor(m) && a < largest_factor && a > smallest_factor) {
    return log_rising(a, m);
  }
  if (a >= 3.0) return log_gamma_ratio_stirling(a, m);
  if (m < 1.0) return log_gamma_ratio_shifted(a, m);
  return log_gamma(a + m) - log_gamma(a);
}

/// ψ(x) = d ln Γ(x) / dx for x in [1, 2]; relative to the value at its zero too.
[[nodiscard]] inline double digamma_near_zero(double x) noexcept {
  constexpr double zero_high = 1.4616321449683622;
  constexpr double zero_low = 9.549995429965697e-17;
  constexpr std::array<double, 7> p = {
      1.2503801375034054,  1.8675925104074453,    0.9711327526262392,    0.21631407251432455,
      0.01996408274151926, 0.0005811135063985677, 1.0894678528383955e-06};
  constexpr std::array<double, 7> q = {
      1.0,                 2.1771665986671342,   1.6630736963665909,    0.5710455727133128,
      0.09111902253303285, 0.006100975692434821, 0.00012043151172286901};
  const double u = x - 1.0;
  return ((x - zero_high) - zero_low) * polynomial(p, u) / polynomial(q, u);
}

/// ψ(x) = d ln Γ(x) / dx for x > 0; -inf at 0. Relative error about 1e-15.
[[nodiscard]] inline double digamma(double x) noexcept {
  constexpr std::array<double, 11> c = {
      0.08333333333333333,   -0.0083333333323328,   0.003968253600942064, -0.004166613154056894,
      0.007571670662698111,  -0.020904992716699745, 0.07768996902561713,  -0.32525222437397994,
      1.2213863296286607,    -3.2200812668413126,   4.15409568940603};
  if (x >= 3.0) {
    const double inverse = 1.0 / x;
    const double z = inverse * inverse;
    return std::log(x) - 0.5 * inverse - z * polynomial(c, z);
  }
  if (x > 2.0) return digamma_near_zero(x - 1.0) + 1.0 / (x - 1.0);
  if (x >= 1.0) return digamma_near_zero(x);
  return digamma_near_zero(x + 1.0) - 1.0 / x;
}

/// ln B(a, b) = ln Γ(a) + ln Γ(b) - ln Γ(a + b) for a, b > 0, accurate for very unequal and for
/// large arguments. O(1).
[[nodiscard]] inline double log_beta(double a, double b) noexcept {
  const double small = a < b ? a : b;
  const double large = a < b ? b : a;
  if (small < 3.0) return log_gamma(small) - log_gamma_ratio(large, small);
  // Both terms of the first line are negative, so that nothing large cancels.
  return -(small - 0.5) * std::log1p(large / small) - large * std::log1p(small / large) +
         0.5 * (ln_2pi - std::log(large)) + stirling_correction(1.0 / small) -
         stirling_correction_difference(large, small);
}

/// ln Γ_d(a) = d (d - 1) / 4 ln π + Σ_{i<d} ln Γ(a - i / 2), a > (d - 1) / 2. O(d).
[[nodiscard]] inline double log_multigamma(double a, index_t d) noexcept {
  const auto dimension = static_cast<double>(d);
  double sum = 0.25 * dimension * (dimension - 1.0) * ln_pi;
  for (index_t i = 0; i < d; ++i) sum += log_gamma(a - 0.5 * static_cast<double>(i));
  return sum;
}

/// Σ_{i<terms} [ln Γ(a - i/2 + m) - ln Γ(a - i/2)]. Two neighbours are one term by the duplication
/// formula Γ(x) Γ(x - ½) = 2^(2 - 2x) √π Γ(2x - 1).
[[nodiscard]] inline double log_gamma_ratio_ladder(double a, double m, index_t terms) noexcept {
  double sum = 0.0;
  index_t i = 0;
  for (; i + 1 < terms; i += 2) {
    sum += log_gamma_ratio(2.0 * a - static_cast<double>(i) - 1.0, 2.0 * m) - 2.0 * m * ln_2;
  }
  if (i < terms) sum += log_gamma_ratio(a - 0.5 * static_cast<double>(i), m);
  return sum;
}

/// ln Γ_d(a + half_n) - ln Γ_d(a) for a > (d - 1) / 2, half_n >= 0. O(d), and O(n) where
/// n = 2 half_n is an integer below d, since the ratio is symmetric in n and d.
[[nodiscard]] inline double log_multigamma_ratio(double a, double half_n, index_t d) noexcept {
  const double n = 2.0 * half_n;
  const auto dimension = static_cast<double>(d);
  if (n < dimension && n == std::floor(n)) {
    return log_gamma_ratio_ladder(a + 0.5 * (n - dimension), 0.5 * dimension,
                                  static_cast<index_t>(n));
  }
  return log_gamma_ratio_ladder(a, half_n, d);
}

}  // namespace bhclust::detail

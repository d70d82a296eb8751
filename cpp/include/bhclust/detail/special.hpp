/// @file
/// Special functions of the log marginal likelihoods. Pure: no global state (std::lgamma writes
/// signgam, a data race), no errno, no exceptions. Natural logarithms throughout.
#pragma once

#include "bhclust/types.hpp"

#include <array>
#include <cmath>
#include <cstddef>
#include <limits>

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

/// ln(1 + t) for finite t >= 0 in one logarithm: the second term gives back what 1 + t rounded off.
[[nodiscard]] inline double log1p_positive(double t) noexcept {
  const double rounded = 1.0 + t;
  return std::log(rounded) + (t - (rounded - 1.0)) / rounded;
}

/// x μ(x) as a polynomial in 1/x² for x >= 3, where μ is what Stirling's formula lacks:
/// ln Γ(x) = (x - ½) ln x - x + ½ ln 2π + μ(x). Error 3e-17; interpolates at Chebyshev nodes.
inline constexpr std::array<double, 11> stirling_coefficients = {
    0.08333333333333333,   -0.0027777777777198706, 0.0007936507724234067, -0.0005952350113118343,
    0.0008415163778136668, -0.0019068288114279443, 0.006092364447572614,  -0.023023388614372777,
    0.0813307211132798,    -0.2070933006751568,    0.26180852870866445};

/// μ(x) for x >= 3, given 1/x.
[[nodiscard]] inline double stirling_correction(double inverse) noexcept {
  return inverse * polynomial(stirling_coefficients, inverse * inverse);
}

/// ln Γ(1 + u) for u in [0, 2] with small relative error also at its zeros 0 and 1: u (u - 1) times
/// a rational function with positive coefficients.
[[nodiscard]] inline double log_gamma_1p(double u) noexcept {
  constexpr std::array<double, 9> p = {
      0.5772156649015329,   1.795879018997928,      2.1865334418937055,
      1.3226883681228077,   0.4175253681048576,     0.06620652414372981,
      0.004630212547046027, 0.00010318936786846241, 1.54621296801624e-07};
  constexpr std::array<double, 9> q = {1.0,
                                       3.5361659629745215,
                                       5.021257900661251,
                                       3.6722217552107503,
                                       1.4771004522959044,
                                       0.3239769173460576,
                                       0.03613884447121401,
                                       0.0017463681006452904,
                                       2.4701852219090835e-05};
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
  std::size_t k = a >= 16.0 ? 5 : c.size() - 1;  // later terms are below 1e-16 of the ratio
  double value = c[k];
  double slope = 0.0;
  while (k-- > 0) {
    slope = slope * za + value;
    value = value * zb + c[k];
  }
  const double step = -(m * ib) * ia;  // ib - ia
  return step * (value + ia * (ia + ib) * slope);
}

/// ln Γ(a + m) - ln Γ(a) for a >= 3, m > 0.
[[nodiscard]] inline double log_gamma_ratio_stirling(double a, double m) noexcept {
  return m * (std::log(a + m) - 1.0) + (a - 0.5) * log1p_positive(m / a) +
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
  return log_gamma_ratio_stirling(a + 3.0, m) - log1p_positive(excess);
}

/// ln Γ(a + m) - ln Γ(a) for a > 0, m >= 0, both finite. Relative error about 1e-15 for a >= 3
/// however small m / a. Below that the value has zeros: the error is about 1e-15 of the largest of
/// |value|, min(m, 1) and |ln a|. O(1).
[[nodiscard]] inline double log_gamma_ratio(double a, double m) noexcept {
  constexpr double longest_product = 8.0;
  constexpr double largest_factor = 1e37;
  if (m == 0.0) return 0.0;
  if (m <= longest_product && m == std::floor(m) && a < largest_factor) {
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
  constexpr std::array<double, 7> q = {1.0,
                                       2.1771665986671342,
                                       1.6630736963665909,
                                       0.5710455727133128,
                                       0.09111902253303285,
                                       0.006100975692434821,
                                       0.00012043151172286901};
  const double u = x - 1.0;
  return ((x - zero_high) - zero_low) * polynomial(p, u) / polynomial(q, u);
}

/// ψ(x) = d ln Γ(x) / dx for x > 0; -inf at 0. Relative error about 1e-15.
[[nodiscard]] inline double digamma(double x) noexcept {
  constexpr std::array<double, 11> c = {
      0.08333333333333333,  -0.0083333333323328,   0.003968253600942064, -0.004166613154056894,
      0.007571670662698111, -0.020904992716699745, 0.07768996902561713,  -0.32525222437397994,
      1.2213863296286607,   -3.2200812668413126,   4.15409568940603};
  if (x >= 3.0) {
    const double inverse = 1.0 / x;
    const double z = inverse * inverse;
    return std::log(x) - 0.5 * inverse - z * polynomial(c, z);
  }
  if (x > 2.0) return digamma_near_zero(x - 1.0) + 1.0 / (x - 1.0);
  if (x >= 1.0) return digamma_near_zero(x);
  return digamma_near_zero(x + 1.0) - 1.0 / x;
}

/// ψ(a + m) - ψ(a) for a > 0, m >= 0, both finite: the derivative of log_gamma_ratio by a. Does not
/// cancel for small m and large a. O(1).
[[nodiscard]] inline double digamma_ratio(double a, double m) noexcept {
  constexpr double longest_sum = 8.0;
  constexpr double asymptotic = 1e3;  // the next term is below 1e-2 a^-4
  if (m <= longest_sum && m == std::floor(m)) {
    double sum = 0.0;
    for (double k = 0.0; k < m; k += 1.0) sum += 1.0 / (a + k);
    return sum;
  }
  if (a < asymptotic) return digamma(a + m) - digamma(a);
  const double slope = m / (a * (a + m));  // 1/a - 1/(a + m)
  return std::log1p(m / a) + slope * (0.5 + (1.0 / a + 1.0 / (a + m)) / 12.0);
}

/// ln B(a, b) = ln Γ(a) + ln Γ(b) - ln Γ(a + b) for a, b > 0, accurate for very unequal and for
/// large arguments. O(1).
[[nodiscard]] inline double log_beta(double a, double b) noexcept {
  const double small = a < b ? a : b;
  const double large = a < b ? b : a;
  if (small < 3.0) return log_gamma(small) - log_gamma_ratio(large, small);
  // Both terms of the first line are negative, so that nothing large cancels.
  return -(small - 0.5) * log1p_positive(large / small) - large * log1p_positive(small / large) +
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

/// Modified Bessel functions. Debye's expansion for large order, uniform in x (DLMF 10.41.3), with
/// h = sqrt(ν² + x²), q = (ν / h)²:
///   ln I_ν(x) ~ h - ν asinh(ν / x) - ½ ln(2π h) + Σ_k D_k,  D_k = h^-k Σ_{j<=k} e_kj q^j.
inline constexpr std::size_t debye_terms = 10;

/// From this order on the expansion is taken; its truncation error is then below 3e-16.
inline constexpr double debye_order = 30.0;

struct debye_table {
  using row = std::array<double, debye_terms + 1>;
  std::array<row, debye_terms> value{};  ///< e_kj in row k - 1
  std::array<row, debye_terms> slope{};  ///< (k + 2j) e_kj: -x^-1 h² ∂/∂x of the above
};

/// The coefficients from the differential equation of S = e^D in p = ν / h,
///   D'_{k+1} = ½ (a D'_k)' + ½ a Σ_{i+l=k} D'_i D'_l,  a = p² (1 - p²),  D'_1 = (1 - 5p²) / 8.
[[nodiscard]] constexpr debye_table make_debye_table() noexcept {
  debye_table table;
  auto& s = table.slope;
  s[0][0] = 0.125;
  s[0][1] = -0.625;
  for (std::size_t k = 1; k < debye_terms; ++k) {
    for (std::size_t j = 0; j <= k; ++j) {
      const double linear = static_cast<double>(k + 2 * j + 1) * s[k - 1][j];
      s[k][j] += 0.5 * linear;
      s[k][j + 1] -= 0.5 * (linear + 2.0 * s[k - 1][j]);
    }
    for (std::size_t i = 1; i < k; ++i) {
      for (std::size_t u = 0; u <= i; ++u) {
        for (std::size_t v = 0; v <= k - i; ++v) {
          const double product = 0.5 * s[i - 1][u] * s[k - i - 1][v];
          s[k][u + v] += product;
          s[k][u + v + 1] -= product;
        }
      }
    }
  }
  for (std::size_t k = 1; k <= debye_terms; ++k) {
    for (std::size_t j = 0; j <= k; ++j) {
      table.value[k - 1][j] = s[k - 1][j] / static_cast<double>(k + 2 * j);
    }
  }
  return table;
}

inline constexpr debye_table debye = make_debye_table();

/// Σ_{k>=1} h^-k Σ_j rows_kj q^j with as many terms as order nu needs.
[[nodiscard]] inline double debye_sum(const std::array<debye_table::row, debye_terms>& rows,
                                      double nu, double inverse_h, double q) noexcept {
  constexpr double large_order = 120.0;
  double sum = 0.0;
  for (std::size_t k = nu >= large_order ? 6 : debye_terms; k >= 1; --k) {
    const auto& row = rows[k - 1];
    double inner = row[k];
    for (std::size_t j = k; j-- > 0;) inner = inner * q + row[j];
    sum = (sum + inner) * inverse_h;
  }
  return sum;
}

/// h - ν asinh(ν / x) for ν >= debye_order. It vanishes at x = ν z0; near there by its Taylor
/// series in x - ν z0, else by its definition, which would leave an absolute error proportional to
/// ν.
[[nodiscard]] inline double debye_exponent(double nu, double x, double h) noexcept {
  constexpr double z0_high = 0.6627434193491816;
  constexpr double z0_low = 8.155323790501267e-18;
  constexpr std::array<double, 11> taylor = {
      1.8101705806989772, -0.948886416256837,  1.1001528948506503, -1.2953006779860539,
      1.5715455665619724, -1.9710295801345066, 2.5442226725502084, -3.3574176889619283,
      4.503639745039154,  -6.116916154170854,  8.391114712091305};
  if (std::fabs(x - z0_high * nu) > 0.03 * nu) return h - nu * std::asinh(nu / x);
  const double distance = std::fma(-z0_high, nu, x) - z0_low * nu;
  return distance * polynomial(taylor, distance / nu);
}

/// I_{ν+1}(x) / I_ν(x) for ν >= debye_order: the derivative of Debye's expansion less ν / x.
[[nodiscard]] inline double bessel_ratio_debye(double nu, double x) noexcept {
  const double h = std::sqrt(nu * nu + x * x);
  const double inverse_h = 1.0 / h;
  const double p = nu * inverse_h;
  const double sum = debye_sum(debye.slope, nu, inverse_h, p * p);
  return x * (1.0 / (h + nu) - inverse_h * inverse_h * (0.5 + sum));
}

/// ln[Γ(ν+1) (2/x)^ν I_ν(x)] by Debye's expansion, ν >= debye_order; no cancellation between the
/// large parts of ln I_ν, of ln Γ and of the power.
[[nodiscard]] inline double log_bessel_i_reduced_debye(double nu, double x) noexcept {
  const double h = std::sqrt(nu * nu + x * x);
  const double inverse_h = 1.0 / h;
  const double p = nu * inverse_h;
  const double rise = x * (x / (h + nu));  // h - nu
  return rise - nu * log1p_positive(0.5 * rise / nu) - 0.5 * log1p_positive(rise / nu) +
         (debye_sum(debye.value, nu, inverse_h, p * p) + stirling_correction(1.0 / nu));
}

/// The same by its power series Σ (x²/4)^k / (k! (ν+1)_k), for x²/4 of the order of ν + 1 or less.
[[nodiscard]] inline double log_bessel_i_reduced_series(double nu, double x) noexcept {
  const double y = 0.25 * x * x;
  double term = y / (nu + 1.0);
  double sum = term;
  for (double k = 2.0; term > 1e-17 * sum; k += 1.0) {
    term *= y / (k * (nu + k));
    sum += term;
  }
  return log1p_positive(sum);
}

/// The same from an order in Debye's range down, by the recurrence that is stable downwards.
[[nodiscard]] inline double log_bessel_i_reduced_recurrence(double nu, double x) noexcept {
  const double steps = std::ceil(debye_order - nu);
  const double top = nu + steps;
  double ratio = bessel_ratio_debye(top, x);
  double product = 1.0;
  for (double n = top; n > nu + 0.5; n -= 1.0) {  // ratio is I_{n+1} / I_n
    const double step = 0.5 * x / n;
    const double quotient = 1.0 + step * ratio;
    product *= quotient;
    ratio = step / quotient;
  }
  return log_bessel_i_reduced_debye(top, x) + std::log(product);
}

/// ln I_ν(x) by Hankel's expansion (DLMF 10.40.1) for x >= hankel_limit(ν).
[[nodiscard]] inline double log_bessel_i_hankel(double nu, double x) noexcept {
  const double mu = 4.0 * nu * nu;
  double term = 1.0;
  double sum = 0.0;
  for (double k = 1.0; k < 60.0 && std::fabs(term) > 1e-17; k += 1.0) {
    const double odd = 2.0 * k - 1.0;
    term *= (odd * odd - mu) / (8.0 * k * x);
    sum += term;
  }
  return x - 0.5 * (ln_2pi + std::log(x)) + std::log(1.0 + sum);
}

/// Where Hankel's expansion reaches full precision: e^(-2x) is gone and the first term is below 1.
[[nodiscard]] inline double hankel_limit(double nu) noexcept {
  constexpr double exponential_gone = 25.0;
  return std::fmax(exponential_gone, 0.5 * nu * nu);
}

/// Largest x²/4 / (ν + 1) at which the power series is taken: a few terms of it.
[[nodiscard]] inline double series_limit(double nu) noexcept {
  return nu >= debye_order ? 0.02 : 2.0;
}

/// ln[Γ(ν+1) (2/x)^ν I_ν(x)] = ln 0F1(; ν+1; x²/4) for ν > -1, x >= 0: the part of ln I_ν that is 0
/// at x = 0 and rises to +inf, with small relative error everywhere. O(1).
[[nodiscard]] inline double log_bessel_i_reduced(double nu, double x) noexcept {
  if (0.25 * x * x <= series_limit(nu) * (nu + 1.0)) return log_bessel_i_reduced_series(nu, x);
  if (x == infinity) return x;
  if (nu >= debye_order) return log_bessel_i_reduced_debye(nu, x);
  if (x < hankel_limit(nu)) return log_bessel_i_reduced_recurrence(nu, x);
  return log_bessel_i_hankel(nu, x) + log_gamma(nu + 1.0) - nu * std::log(0.5 * x);
}

/// ln I_ν(x), the modified Bessel function of the first kind, ν >= 0, x in [0, 1e150]; at x = 0 it
/// is 0 for ν = 0, else -inf. Error below 1e-13 max(1, |value|). O(1).
[[nodiscard]] inline double log_bessel_i(double nu, double x) noexcept {
  if (x == infinity) return x;
  if (x == 0.0) return nu == 0.0 ? 0.0 : -infinity;
  if (0.25 * x * x > series_limit(nu) * (nu + 1.0)) {
    if (nu >= debye_order) {
      const double h = std::sqrt(nu * nu + x * x);
      const double p = nu / h;
      return debye_exponent(nu, x, h) - 0.5 * (ln_2pi + std::log(h)) +
             debye_sum(debye.value, nu, 1.0 / h, p * p);
    }
    if (x >= hankel_limit(nu)) return log_bessel_i_hankel(nu, x);
  }
  return nu * (std::log(x) - ln_2) - log_gamma(nu + 1.0) + log_bessel_i_reduced(nu, x);
}

/// I_{ν+1}(x) / I_ν(x) in [0, 1), ν >= 0, x >= 0; relative error about 1e-15. It is the mean
/// resultant length of a von Mises-Fisher distribution with d = 2ν + 2. O(1).
[[nodiscard]] inline double bessel_ratio(double nu, double x) noexcept {
  if (x == infinity) return 1.0;
  const double steps = std::fmax(std::ceil(debye_order - nu), 0.0);
  double ratio = bessel_ratio_debye(nu + steps, x);
  for (double n = nu + steps; n > nu + 0.5; n -= 1.0) ratio = 1.0 / (2.0 * n / x + ratio);
  return ratio;
}

/// ln of the area of the unit sphere in d >= 1 dimensions (d = 1: two points).
[[nodiscard]] inline double log_sphere_area(index_t d) noexcept {
  const double half = 0.5 * static_cast<double>(d);
  return ln_2 + half * ln_pi - log_gamma(half);
}

/// ln[C_d(0) / C_d(κ)] >= 0: how far a von Mises-Fisher normaliser lies below the uniform one. Sums
/// and differences of normalisers are best formed of these, since ln C_d(0) is large for large d.
[[nodiscard]] inline double log_vmf_excess(double kappa, index_t d) noexcept {
  return log_bessel_i_reduced(0.5 * static_cast<double>(d) - 1.0, kappa);
}

/// ln C_d(κ) with C_d(κ) e^(κ μ'x) the von Mises-Fisher density on the unit sphere in d >= 1
/// dimensions, κ >= 0; minus log_sphere_area(d) at κ = 0. O(1).
[[nodiscard]] inline double log_vmf_normalizer(double kappa, index_t d) noexcept {
  return -log_sphere_area(d) - log_vmf_excess(kappa, d);
}

}  // namespace bhclust::detail

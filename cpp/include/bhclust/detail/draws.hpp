/// @file
/// Random numbers of the families' distributions. Exact methods, without the standard's
/// distributions, whose results differ from platform to platform.
#pragma once

#include <bhclust/detail/moments.hpp>
#include <bhclust/detail/random.hpp>

#include <algorithm>
#include <cmath>

namespace bhclust::detail {

/// The largest count and the largest real that families take: what heavy tails give beyond is drawn
/// as these.
inline constexpr double most_drawn = 9007199254740992.0;
inline constexpr double farthest_drawn = 9e149;

[[nodiscard]] inline double within_reals(double x) noexcept {
  return std::clamp(x, -farthest_drawn, farthest_drawn);
}

/// In (0, 1].
[[nodiscard]] inline double draw_positive(random_source& random) { return 1.0 - random.uniform(); }

/// Standard normal (Marsaglia's polar method).
[[nodiscard]] inline double draw_normal(random_source& random) {
  for (;;) {
    const double u = 2.0 * random.uniform() - 1.0;
    const double v = 2.0 * random.uniform() - 1.0;
    const double square = u * u + v * v;
    if (square > 0.0 && square < 1.0) return u * std::sqrt(-2.0 * std::log(square) / square);
  }
}

/// The logarithm of a Gamma(shape, 1): shapes far below 1 give values below double's range. By
/// Marsaglia & Tsang 2000; below 1 from shape + 1.
[[nodiscard]] inline double draw_log_gamma(random_source& random, double shape) {
  if (shape < 1.0) {
    return draw_log_gamma(random, shape + 1.0) + std::log(draw_positive(random)) / shape;
  }
  const double d = shape - 1.0 / 3.0;
  const double c = 1.0 / std::sqrt(9.0 * d);
  for (;;) {
    const double x = draw_normal(random);
    const double step = c * x;
    if (step <= -1.0) continue;
    const double excess = step * (3.0 + step * (3.0 + step));  // (1 + step)³ - 1
    if (std::log(draw_positive(random)) < 0.5 * x * x - d * log1p_gap(excess)) {
      return std::log(d) + 3.0 * std::log1p(step);
    }
  }
}

/// p and 1 - p, each to its own digits.
struct share {
  double p, rest;
};

/// p ~ Beta(a, b).
[[nodiscard]] inline share draw_beta(random_source& random, double a, double b) {
  const double x = draw_log_gamma(random, a);
  const double y = draw_log_gamma(random, b);
  const double smaller = std::exp(-std::fabs(x - y));
  const double small = smaller / (1.0 + smaller);
  const double large = 1.0 / (1.0 + smaller);
  return x > y ? share{large, small} : share{small, large};
}

/// An index with probability in proportion to its weight.
template <class Weight>
[[nodiscard]] index_t draw_index(random_source& random, index_t n, double total,
                                 const Weight& weight) {
  double left = random.uniform() * total;
  index_t last = 0;
  for (index_t i = 0; i < n; ++i) {
    const double w = weight(i);
    if (w <= 0.0) continue;
    last = i;
    left -= w;
    if (left < 0.0) break;
  }
  return last;
}

/// By inversion, a few steps for a mean of a dozen: `first` = P(0), P(k) = P(k - 1) · ratio(k). The
/// steps are bounded by a value whose probability is far below 2^-53.
template <class Ratio>
[[nodiscard]] double draw_by_inversion(random_source& random, double first, const Ratio& ratio) {
  constexpr double farthest = 200.0;
  double left = random.uniform();
  double mass = first;
  double k = 0.0;
  while (left >= mass && k < farthest) {
    left -= mass;
    k += 1.0;
    mass *= ratio(k);
  }
  return k;
}

/// From this mean on counts are split instead of counted out.
inline constexpr double large_mean = 12.0;

/// Binomial(n, p) for whole n >= 0. Where n p is large, the middle one of n uniform numbers is a
/// Beta; if it lies below p, so do all before it, and those after go on; and the other way round.
/// O(log n).
[[nodiscard]] inline double draw_binomial(random_source& random, double n, double p) {
  double sure = 0.0;
  while (n * std::min(p, 1.0 - p) > large_mean) {
    const double a = 1.0 + std::floor(0.5 * n);
    const share middle = draw_beta(random, a, n + 1.0 - a);
    if (middle.p <= p) {
      sure += a;
      n -= a;
      p = std::min(1.0, (p - middle.p) / middle.rest);
    } else {
      n = a - 1.0;
      p = std::min(1.0, p / middle.p);
    }
  }
  const double q = std::min(p, 1.0 - p);
  const double few = draw_by_inversion(random, std::exp(n * std::log1p(-q)), [&](double k) {
    return std::max(0.0, n - k + 1.0) / k * (q / (1.0 - q));
  });
  return sure + (p <= 0.5 ? std::min(few, n) : std::max(0.0, n - few));
}

/// Poisson(mean), at most most_drawn (Ahrens & Dieter 1974): the time of the m-th event is a Gamma;
/// if it lies before the end, m events and those of the rest are counted, else those before it are
/// a binomial share. O(log mean).
[[nodiscard]] inline double draw_poisson(random_source& random, double mean) {
  double sure = 0.0;
  mean = std::min(mean, most_drawn);
  while (mean > large_mean) {
    const double m = std::floor(0.875 * mean);
    const double time = std::exp(draw_log_gamma(random, m));
    if (time > mean) {
      return std::min(most_drawn, sure + draw_binomial(random, m - 1.0, mean / time));
    }
    sure += m;
    mean -= time;
  }
  const double few = draw_by_inversion(random, std::exp(-mean), [&](double k) { return mean / k; });
  return std::min(most_drawn, sure + few);
}

/// ½ - ½ of the cosine of a von Mises-Fisher direction's angle with its mean, in [0, 1], for d >= 2
/// (Wood 1994, written by the distance from the mean, so that it keeps its digits where kappa is
/// large).
[[nodiscard]] inline double draw_half_versine(random_source& random, double kappa, double d) {
  const double m = d - 1.0;
  const double b = m / (2.0 * kappa + std::sqrt(4.0 * kappa * kappa + m * m));
  const double origin = 2.0 * b / (1.0 + b);  // 1 - x0 of Wood's
  for (;;) {
    const share z = draw_beta(random, 0.5 * m, 0.5 * m);
    const double versine = 2.0 * b * z.p / (z.rest + b * z.p);
    // log of (1 - x0 w) / (1 - x0²), w = 1 - versine
    const double slack = std::log((origin + (1.0 - origin) * versine) / (origin * (2.0 - origin)));
    if (kappa * (origin - versine) + m * slack >= std::log(draw_positive(random))) {
      return 0.5 * versine;
    }
  }
}

/// x ← a von Mises-Fisher direction about the unit vector x, uniform for kappa = 0; `scratch` holds
/// d doubles.
inline void draw_direction(random_source& random, double kappa, index_t d, double* x,
                           double* scratch) {
  if (d == 1) {
    const double stays = kappa == 0.0 ? 0.5 : 1.0 / (1.0 + std::exp(-2.0 * kappa));
    const double sign = kappa == 0.0 || x[0] >= 0.0 ? 1.0 : -1.0;
    x[0] = random.uniform() < stays ? sign : -sign;
    return;
  }
  const auto scaled = [d](double* v) {
    double square = 0.0;
    for (index_t j = 0; j < d; ++j) square += v[j] * v[j];
    const double length = std::sqrt(square);
    for (index_t j = 0; j < d; ++j) v[j] /= length;
    return length > 0.0;
  };
  if (kappa == 0.0) {
    do {
      for (index_t j = 0; j < d; ++j) x[j] = draw_normal(random);
    } while (!scaled(x));
    return;
  }
  do {
    double along = 0.0;
    for (index_t j = 0; j < d; ++j) {
      scratch[j] = draw_normal(random);
      along += scratch[j] * x[j];
    }
    for (index_t j = 0; j < d; ++j) scratch[j] -= along * x[j];
  } while (!scaled(scratch));
  const double half = draw_half_versine(random, kappa, static_cast<double>(d));
  const double sine = 2.0 * std::sqrt(half * (1.0 - half));
  for (index_t j = 0; j < d; ++j) x[j] = (1.0 - 2.0 * half) * x[j] + sine * scratch[j];
  scaled(x);
}

}  // namespace bhclust::detail

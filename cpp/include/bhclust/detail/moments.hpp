/// @file
/// Centred moments: counts, means and sums of squares about the means. Raw second moments would
/// lose the spread of data that lie far from zero.
#pragma once

#include <bhclust/detail/possible.hpp>
#include <bhclust/detail/special.hpp>
#include <bhclust/types.hpp>

#include <algorithm>
#include <array>
#include <cmath>

namespace bhclust::detail {

/// high + low += step, where low is what high has no digits for. At an offset of 1e8 spreads a
/// plain mean is off by 1e-8 spreads; a pair is not.
inline void add_to_pair(double& high, double& low, double step) noexcept {
  const double sum = high + step;
  const double rest = sum - high;
  low += (high - (sum - rest)) + (step - rest);
  high = sum + low;
  low -= high - sum;
}

/// x - log(1 + x) >= 0 for x > -1, to small relative error. With r = x / (2 + x) it is
/// x r - 2 r³ (1/3 + r²/5 + r⁴/7 + …).
[[nodiscard]] inline double log1p_gap(double x) noexcept {
  constexpr std::array<double, 10> odd = {1.0 / 3.0,  1.0 / 5.0,  1.0 / 7.0,  1.0 / 9.0,
                                          1.0 / 11.0, 1.0 / 13.0, 1.0 / 15.0, 1.0 / 17.0,
                                          1.0 / 19.0, 1.0 / 21.0};
  if (std::fabs(x) > 0.25) return x - std::log1p(x);
  const double r = x / (2.0 + x);
  return x * r - 2.0 * r * r * r * polynomial(odd, r * r);
}

/// log(1 + x / y) for x >= 0 and y > 0, also where the ratio overflows.
[[nodiscard]] inline double log1p_ratio(double x, double y) noexcept {
  const double ratio = x / y;
  return ratio < infinity ? std::log1p(ratio) : std::log(x) - std::log(y);
}

/// The moments of one column, four doubles: n, the mean as a pair, Σ (x - mean)².
struct moments {
  double n = 0.0, mean = 0.0, mean_low = 0.0, squares = 0.0;

  static constexpr index_t width = 4;

  [[nodiscard]] static moments load(const double* t) noexcept { return {t[0], t[1], t[2], t[3]}; }
  void store(double* t) const noexcept {
    t[0] = n;
    t[1] = mean;
    t[2] = mean_low;
    t[3] = squares;
  }

  /// Whether so many rows can have them, some of whose cells are missing.
  [[nodiscard]] bool possible(index_t rows) const noexcept {
    constexpr double largest = 1.01e150;  // what a cell may be, and rounding
    if (n == 0.0) return mean == 0.0 && mean_low == 0.0 && squares == 0.0;
    return is_count(n, static_cast<double>(rows)) && std::fabs(mean) < largest &&
           std::fabs(mean_low) < largest && squares >= 0.0;
  }

  /// mean - x.
  [[nodiscard]] double offset(double x) const noexcept { return (mean - x) + mean_low; }
  [[nodiscard]] double offset(const moments& other) const noexcept {
    return (mean - other.mean) + (mean_low - other.mean_low);
  }

  void observe(double x) noexcept {
    if (n == 0.0) {
      *this = {1.0, x, 0.0, 0.0};
      return;
    }
    const double step = -offset(x);
    squares += step * step * (n / (n + 1.0));
    n += 1.0;
    add_to_pair(mean, mean_low, step / n);
  }

  /// Union (Chan, Golub & LeVeque 1983).
  void merge(const moments& s) noexcept {
    if (s.n == 0.0) return;
    if (n == 0.0) {
      *this = s;
      return;
    }
    const double total = n + s.n;
    const double step = s.offset(*this);
    squares = (squares + s.squares) + step * step * (n * s.n / total);
    n = total;
    add_to_pair(mean, mean_low, step * (s.n / total));
  }

  /// Takes a subset out: the inverse of merge.
  void remove(const moments& s) noexcept {
    if (s.n == 0.0) return;
    const double left = n - s.n;
    if (left < 0.5) {
      *this = {};
      return;
    }
    const double step = offset(s);
    squares = std::max(0.0, (squares - s.squares) - step * step * (n * s.n / left));
    if (left < 1.5) squares = 0.0;
    n = left;
    add_to_pair(mean, mean_low, step * (s.n / left));
  }
};

/// What one-column models over moments share: their statistics and the changes to these.
struct moments_column {
  [[nodiscard]] static index_t width() noexcept { return moments::width; }
  static void observe(double x, double* t) noexcept {
    moments m = moments::load(t);
    m.observe(x);
    m.store(t);
  }
  [[nodiscard]] static bool possible(const double* t, index_t rows) noexcept {
    return moments::load(t).possible(rows);
  }
  static void merge(double* t, const double* s) noexcept {
    moments m = moments::load(t);
    m.merge(moments::load(s));
    m.store(t);
  }
  static void remove(double* t, const double* s) noexcept {
    moments m = moments::load(t);
    m.remove(moments::load(s));
    m.store(t);
  }
};

}  // namespace bhclust::detail

/// @file
/// Covariance of a random curve at two times.
#pragma once

#include <bhclust/types.hpp>

#include <algorithm>
#include <cmath>
#include <vector>

namespace bhclust {

/// Kernels of GaussianProcess, in the order of their names there.
enum time_kernel : unsigned char { squared_exponential, matern32, matern52, cubic_spline };

namespace detail {

/// Kernels are evaluated, decomposed and eliminated in this type. What rounding of the kernel's
/// entries costs a log marginal grows as n · amplitude / noise, so a few more digits (x86-64 and
/// AArch64 Linux have them) leave the result those of a double.
using wide = long double;

/// A kernel of amplitude 1. With r = |t - s| / length_scale:
///     squared exponential   exp(-r²/2)
///     Matérn 3/2            (1 + √3 r) exp(-√3 r)
///     Matérn 5/2            (1 + √5 r + 5/3 r²) exp(-√5 r)
///     cubic spline          1 + u v + [u v > 0] m² (3 M - m) / 6,  u = (t - centre) /
///     length_scale,
///                           v = (s - centre) / length_scale, m = min(|u|, |v|), M = max(|u|, |v|)
/// The spline is white noise integrated twice, from the centre both ways, with a standard normal
/// level and slope there: a proper prior whose posterior means are natural cubic splines, and which
/// a reversal of time leaves as it is.
class unit_kernel {
 public:
  unit_kernel(time_kernel kind, double length_scale, double centre) noexcept
      : kind_(kind), length_scale_(length_scale), centre_(centre) {}

  /// Centred between the first and the last time.
  [[nodiscard]] static unit_kernel over(time_kernel kind, double length_scale,
                                        const std::vector<double>& times) {
    const auto [first, last] = std::minmax_element(times.begin(), times.end());
    return {kind, length_scale, 0.5 * *first + 0.5 * *last};
  }

  [[nodiscard]] wide operator()(double t, double s) const noexcept { return at(t, s).value; }
  /// The derivative by log length_scale.
  [[nodiscard]] wide slope(double t, double s) const noexcept { return at(t, s).slope; }

 private:
  struct point {
    wide value, slope;
  };

  [[nodiscard]] point at(double t, double s) const noexcept {
    if (kind_ == cubic_spline) return spline(scaled(t, centre_), scaled(s, centre_));
    const wide r = std::fabs(scaled(t, s));
    if (r > 2000) return {0, 0};  // below the least double, and products with r stay defined
    const wide root3 = std::sqrt(static_cast<wide>(3));
    const wide root5 = std::sqrt(static_cast<wide>(5));
    switch (kind_) {
      case squared_exponential: {
        const wide value = std::exp(-r * r / 2);
        return {value, value * r * r};
      }
      case matern32: {
        const wide tail = std::exp(-root3 * r);
        return {(1 + root3 * r) * tail, 3 * r * r * tail};
      }
      default: {
        const wide tail = std::exp(-root5 * r);
        return {(1 + root5 * r + 5 * r * r / 3) * tail, 5 * r * r * (1 + root5 * r) / 3 * tail};
      }
    }
  }

  [[nodiscard]] static point spline(wide u, wide v) noexcept {
    const wide line = u * v;
    if (!(line > 0)) return {1 + line, -2 * line};
    const wide least = std::min(std::fabs(u), std::fabs(v));
    const wide most = std::max(std::fabs(u), std::fabs(v));
    const wide bend = least * least * (3 * most - least) / 6;
    return {1 + line + bend, -2 * line - 3 * bend};
  }

  [[nodiscard]] wide scaled(double t, double from) const noexcept {
    return (static_cast<wide>(t) - static_cast<wide>(from)) / static_cast<wide>(length_scale_);
  }

  time_kernel kind_;
  double length_scale_, centre_;
};

}  // namespace detail
}  // namespace bhclust

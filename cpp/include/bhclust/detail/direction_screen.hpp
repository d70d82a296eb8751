/// @file
/// Bounds on divergences of directions.
#pragma once

#include <bhclust/detail/simd.hpp>
#include <bhclust/types.hpp>

#include <algorithm>
#include <cmath>
#include <vector>

namespace bhclust::detail {

/// With L the lengths of two sums of unit vectors, e their directions and Y = L_0 L_1 |e_0 - e_1|²,
/// X = L_0 + L_1, the cost is κ Y / (X + √(X² - Y)) >= κ Y / (2 X - Y/(2 X)), which is close where
/// the directions are. Of the model it needs kappa() and columns().
///
/// Record: L, 0, e.
template <class Model>
class direction_screen {
 public:
  struct query {
    double length = 0.0;
    std::vector<double> direction;
  };

  static constexpr index_t point = 2;
  [[nodiscard]] static const double* point_of(const query& q) noexcept {
    return q.direction.data();
  }

  direction_screen(const Model& model, const table_view&) : model_(model) {}

  [[nodiscard]] static bool takes(const Model&, const table_view&) noexcept { return true; }
  [[nodiscard]] index_t fields() const noexcept { return point + model_.columns(); }
  [[nodiscard]] static index_t scratch() noexcept { return 0; }

  void encode(const double* t, double* record) const {
    double square = 0.0;
    for (index_t j = 1; j <= model_.columns(); ++j) square += t[j] * t[j];
    const double length = std::sqrt(square);
    const double unit = length > 0.0 ? 1.0 / length : 0.0;
    record[0] = length;
    record[1] = 0.0;
    for (index_t j = 0; j < model_.columns(); ++j) record[point + j] = t[1 + j] * unit;
  }

  void load(query& q, const double* record) const {
    q.length = record[0];
    q.direction.assign(record + point, record + fields());
  }

  [[nodiscard]] lanes bounds(const query& q, const double* block, double*) const noexcept {
    constexpr index_t width = lanes::count;
    const lanes length = lanes::load(block);
    const lanes both = at_least(length + q.length, 1e-300);
    lanes square = lanes::all(0.0);
    for (index_t j = 0; j < model_.columns(); ++j) {
      const lanes apart =
          lanes::load(block + (point + j) * width) - q.direction[static_cast<std::size_t>(j)];
      square = square + apart * apart;
    }
    const lanes gap = (square * nearly - lanes::all(rounding)) * (length * q.length);
    return gap * model_.kappa() / (both * 2.0 - gap / (both * 2.0));
  }

  [[nodiscard]] lanes far(const query& q, const lanes& square, const lanes& length,
                          const lanes&) const noexcept {
    const lanes both = at_least(length + q.length, 1e-300);
    return (square * nearly - lanes::all(rounding)) * (length * q.length) / both *
           (0.5 * model_.kappa());
  }

 private:
  static constexpr double nearly = 1.0 - 1e-6;
  static constexpr double rounding = 1e-23;  // as for root_screen; directions have length 1

  Model model_;
};

}  // namespace bhclust::detail

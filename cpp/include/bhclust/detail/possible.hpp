/// @file
/// What counts among statistics can be, for checks of those that come from outside.
#pragma once

#include <cmath>

namespace bhclust::detail {

/// Whether x can be how many of `most` things there are.
[[nodiscard]] inline bool is_count(double x, double most) noexcept {
  return x >= 0.0 && x <= most && x == std::floor(x);
}

}  // namespace bhclust::detail

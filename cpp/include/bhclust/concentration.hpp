/// @file
/// The concentration α of the Dirichlet process.
#pragma once

#include <bhclust/domain.hpp>
#include <bhclust/types.hpp>

#include <cmath>

namespace bhclust {

/// Refuses a concentration that is not a finite number above 0.
inline void check_alpha(double alpha) {
  require(alpha > 0.0 && std::isfinite(alpha), [&] {
    return "alpha is " + detail::number(alpha) +
           "; the concentration must be a finite number above 0 (1.0 is a usual choice)";
  });
}

}  // namespace bhclust

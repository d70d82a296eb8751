/// @file
/// The project's only version number: CMake and the Python package read it from this line.
#pragma once

#include <string_view>

namespace bhclust {

/// Of the library: major.minor.patch.
inline constexpr std::string_view version = "0.1.0";

}  // namespace bhclust

/// @file
/// Refuses work whose results could not be held, before it begins: an allocation of more than the
/// machine has may succeed and only be found out page by page.
#pragma once

#include <bhclust/types.hpp>

#include <array>
#include <cstddef>
#include <cstdio>
#include <string>

#if __has_include(<unistd.h>)
#include <unistd.h>
#endif

namespace bhclust::detail {

/// The machine's memory in bytes; where it cannot be asked for, what an address can reach today.
[[nodiscard]] inline double machine_memory() noexcept {
#if defined(_SC_PHYS_PAGES) && defined(_SC_PAGESIZE)
  const auto pages = static_cast<double>(::sysconf(_SC_PHYS_PAGES));
  const auto page = static_cast<double>(::sysconf(_SC_PAGESIZE));
  if (pages > 0.0 && page > 0.0) return pages * page;
#endif
  return 140737488355328.0;  // 2^47
}

/// "1.5 GB".
[[nodiscard]] inline std::string byte_size(double bytes) {
  constexpr std::array<const char*, 7> units = {"bytes", "kB", "MB", "GB", "TB", "PB", "EB"};
  std::size_t unit = 0;
  for (; bytes >= 999.5 && unit + 1 < units.size(); ++unit) bytes /= 1000.0;
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.3g ", bytes);
  return text.data() + std::string(units[unit]);
}

/// Refuses `count` things of `bytes` each, both >= 0, that the machine's memory does not hold;
/// `what()` names them.
template <class What>
void require_memory(index_t count, index_t bytes, What&& what) {
  const double wanted = static_cast<double>(count) * static_cast<double>(bytes);
  const double there = machine_memory();
  require(wanted <= there, [&] {
    return std::string(what()) + " take " + byte_size(wanted) + "; this machine has " +
           byte_size(there) + " of memory";
  });
}

}  // namespace bhclust::detail

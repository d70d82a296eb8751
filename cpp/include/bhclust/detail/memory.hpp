/// @file
/// Refuses work whose results could not be held, before it begins: an allocation of more than the
/// machine has may succeed and only be found out page by page.
#pragma once

#include <bhclust/types.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <new>
#include <string>
#include <vector>

#if __has_include(<unistd.h>)
#include <unistd.h>
#endif
#if __has_include(<sys/mman.h>)
#include <sys/mman.h>
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
  constexpr double always_there = 1e6;
  const double wanted = static_cast<double>(count) * static_cast<double>(bytes);
  if (wanted <= always_there) return;
  const double there = machine_memory();
  require(wanted <= there, [&] {
    return std::string(what()) + " take " + byte_size(wanted) + "; this machine has " +
           byte_size(there) + " of memory";
  });
}

/// Asks for large pages where there are many values that will be read in no order: without them
/// looking up addresses costs more than the values do.
inline void ask_for_large_pages(void* values, std::size_t bytes) noexcept {
#if defined(MADV_HUGEPAGE) && defined(_SC_PAGESIZE)
  constexpr std::size_t worth = std::size_t{1} << 22U;
  const long page = ::sysconf(_SC_PAGESIZE);
  if (bytes < worth || page <= 0) return;
  const auto step = static_cast<std::uintptr_t>(page);
  const auto begin = reinterpret_cast<std::uintptr_t>(values);
  const auto offset = (step - begin % step) % step;
  auto* first = static_cast<char*>(values) + offset;
  static_cast<void>(::madvise(first, (bytes - offset) / step * step, MADV_HUGEPAGE));
#else
  static_cast<void>(values);
  static_cast<void>(bytes);
#endif
}

/// Room for `count` values that will be read in no order.
template <class T>
void reserve_at_random(std::vector<T>& values, std::size_t count) {
  values.reserve(count);
  ask_for_large_pages(values.data(), count * sizeof(T));
}

/// `count` zeros for the same.
template <class T>
void resize_at_random(std::vector<T>& values, std::size_t count) {
  reserve_at_random(values, count);
  values.resize(count);
}

/// Frees what cells_at_random gave.
struct cells_deleter {
  static constexpr std::align_val_t line{64};
  void operator()(double* cells) const noexcept { ::operator delete[](cells, line); }
};

/// `count` numbers of no value yet for the same, from the beginning of a line of the cache on: no
/// thread has written to them, so that those that do share the first use of memory.
[[nodiscard]] inline std::unique_ptr<double[], cells_deleter> cells_at_random(std::size_t count) {
  const std::size_t bytes = count * sizeof(double);
  std::unique_ptr<double[], cells_deleter> cells(
      static_cast<double*>(::operator new[](bytes, cells_deleter::line)));
  ask_for_large_pages(cells.get(), bytes);
  return cells;
}

}  // namespace bhclust::detail

#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <string>
#include <vector>

namespace {

/// The levels of x86-64 that this machine's processor and system have, the best first.
std::vector<std::string> levels() {
  std::vector<std::string> found;
#if defined(__x86_64__) && (__GNUC__ >= 12 || __clang_major__ >= 18)
  __builtin_cpu_init();
  if (__builtin_cpu_supports("x86-64-v4") != 0) found.emplace_back("x86-64-v4");
  if (__builtin_cpu_supports("x86-64-v3") != 0) found.emplace_back("x86-64-v3");
  if (__builtin_cpu_supports("x86-64-v2") != 0) found.emplace_back("x86-64-v2");
#endif
  return found;
}

}  // namespace

PYBIND11_MODULE(_cpu, m) {
  m.doc() = "What this machine can run.";
  m.def("levels", &levels, "The levels of x86-64 that this machine has, the best first.");
}

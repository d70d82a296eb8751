#include "bindings.hpp"
#include <bhclust/detail/memory.hpp>
#include <bhclust/detail/parallel.hpp>
#include <bhclust/detail/simd.hpp>
#include <bhclust/version.hpp>

#include <string>

namespace {

std::string compiler() {
#if defined(__clang__)
  return std::string("clang ") + __clang_version__;
#elif defined(__GNUC__)
  return std::string("gcc ") + __VERSION__;
#elif defined(_MSC_VER)
  return "msvc " + std::to_string(_MSC_VER);
#else
  return "unknown";
#endif
}

}  // namespace

PYBIND11_MODULE(_core, m) {
  m.doc() = "The compiled core of bhclust.";
  m.attr("__version__") = std::string(bhclust::version);
  m.def("instruction_set", [] { return bhclust::detail::instruction_set; }, "Compiled for.");
  m.def("compiler", &compiler, "Compiled by.");
  m.def(
      "all_threads", [] { return bhclust::detail::thread_team(0).size(); },
      "What n_threads=None takes.");
  m.def("machine_memory", &bhclust::detail::machine_memory, "In bytes.");
  m.def("byte_size", &bhclust::detail::byte_size, pybind11::arg("bytes"), "\"1.5 GB\".");
  bhclust::python::register_table(m);
  bhclust::python::register_families(m);
  bhclust::python::register_tree(m);
  bhclust::python::register_inference(m);
  bhclust::python::register_algorithms(m);
  bhclust::python::register_analysis(m);
}

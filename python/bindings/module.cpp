#include "bindings.hpp"
#include <bhclust/version.hpp>

#include <string>

PYBIND11_MODULE(_core, m) {
  m.doc() = "The compiled core of bhclust.";
  m.attr("__version__") = std::string(bhclust::version);
  bhclust::python::register_table(m);
  bhclust::python::register_families(m);
  bhclust::python::register_tree(m);
  bhclust::python::register_inference(m);
  bhclust::python::register_algorithms(m);
  bhclust::python::register_analysis(m);
}

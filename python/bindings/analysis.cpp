#include "bindings.hpp"
#include <bhclust/analysis/purity.hpp>

namespace bhclust::python {

void register_analysis(py::module_& m) {
  m.def(
      "dendrogram_purity",
      [](const tree& t, const py::array_t<index_t, py::array::c_style>& classes, bool pairs) {
        const py::gil_scoped_release free;
        return dendrogram_purity(t, {classes.data(), static_cast<index_t>(classes.size())},
                                 pairs ? purity_weights::pairs : purity_weights::rows);
      },
      py::arg("tree"), py::arg("classes"), py::arg("pairs"));
}

}  // namespace bhclust::python

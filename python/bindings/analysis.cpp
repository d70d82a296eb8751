#include "bindings.hpp"
#include <bhclust/analysis/purity.hpp>

namespace bhclust::python {

void register_analysis(py::module_& m) {
  define(
      m, "dendrogram_purity",
      [](const tree& t, const py::array_t<index_t, py::array::c_style>& classes, bool pairs) {
        const span<const index_t> codes(classes.data(), static_cast<index_t>(classes.size()));
        const auto report = progress_of(py::none());
        const py::gil_scoped_release free;
        return dendrogram_purity(t, codes, pairs ? purity_weights::pairs : purity_weights::rows,
                                 report);
      },
      py::arg("tree"), py::arg("classes"), py::arg("pairs"));
}

}  // namespace bhclust::python

#include "bindings.hpp"

#include <bhclust/analysis/linkage.hpp>
#include <bhclust/inference/posterior.hpp>
#include <bhclust/inference/predictive.hpp>

#include <string>
#include <utility>

namespace bhclust::python {
namespace {

using label_array = py::array_t<index_t, py::array::c_style>;

tree_posterior posterior_of(const tree& t, const held_table& table, const held_family& family,
                            double alpha, py::object progress) {
  const posterior_options options{alpha, progress_of(std::move(progress))};
  const py::gil_scoped_release free;
  return posterior(t, table.view, family.get(), options);
}

std::vector<index_t> map_cut(const tree& t, const tree_posterior& p) { return map_nodes(t, p); }

py::array density_of(const tree& t, const tree_posterior& p, const held_table& table,
                     const held_family& family, const held_table& fresh, int n_threads,
                     py::object progress) {
  const predictive_options options{n_threads, progress_of(std::move(progress))};
  std::vector<double> density;
  {
    const py::gil_scoped_release free;
    density = log_predictive(t, p, table.view, family.get(), fresh.view, options);
  }
  return array_from(std::move(density));
}

py::array responsibilities_of(const label_array& labels, double alpha, const held_table& table,
                              const held_family& family, const held_table& fresh, int n_threads,
                              py::object progress) {
  const predictive_options options{n_threads, progress_of(std::move(progress))};
  const std::vector<index_t> held(labels.data(), labels.data() + labels.size());
  std::vector<double> result;
  {
    const py::gil_scoped_release free;
    result = log_responsibilities(held, alpha, table.view, family.get(), fresh.view, options);
  }
  const auto n = static_cast<py::ssize_t>(fresh.view.rows());
  const auto columns = static_cast<py::ssize_t>(result.size()) / n;
  return array_from(std::move(result)).reshape(std::vector<py::ssize_t>{n, columns});
}

/// A read-only array over one column of a posterior.
template <class Member>
auto column_of(Member member) {
  return [member](const py::object& self) {
    return view_of(self.cast<const tree_posterior&>().*member, self);
  };
}

}  // namespace

void register_inference(py::module_& m) {
  py::class_<tree_posterior>(m, "TreePosterior")
      .def_readonly("alpha", &tree_posterior::alpha)
      .def_readonly("log_evidence_bound", &tree_posterior::log_evidence_bound)
      .def_property_readonly("log_marginal", column_of(&tree_posterior::log_marginal))
      .def_property_readonly("log_tree", column_of(&tree_posterior::log_tree))
      .def_property_readonly("log_odds", column_of(&tree_posterior::log_odds))
      .def_property_readonly("omega", column_of(&tree_posterior::omega))
      .def_property_readonly("height", column_of(&tree_posterior::height));
  m.def("posterior", &posterior_of, py::arg("tree"), py::arg("table"), py::arg("family"),
        py::arg("alpha"), py::arg("progress"));
  m.def("map_nodes",
        [](const tree& t, const tree_posterior& p) { return array_from(map_cut(t, p)); },
        py::arg("tree"), py::arg("posterior"));
  m.def("nodes_by_probability",
        [](const tree& t, const tree_posterior& p, double threshold) {
          return array_from(nodes_by_probability(t, p, threshold));
        },
        py::arg("tree"), py::arg("posterior"), py::arg("threshold"));
  m.def("nodes_at_count",
        [](const tree& t, const tree_posterior& p, index_t count) {
          return array_from(nodes_at_count(t, p, count));
        },
        py::arg("tree"), py::arg("posterior"), py::arg("n_clusters"));
  m.def("labels_of",
        [](const tree& t, const label_array& nodes) {
          return array_from(labels_of(t, {nodes.data(), nodes.data() + nodes.size()}));
        },
        py::arg("tree"), py::arg("nodes"));
  m.def("cluster_of_nodes",
        [](const tree& t, const label_array& nodes) {
          return array_from(cluster_of_nodes(t, {nodes.data(), nodes.data() + nodes.size()}));
        },
        py::arg("tree"), py::arg("nodes"));
  m.def("linkage_heights",
        [](const tree& t, const tree_posterior& p) {
          return array_from(linkage_heights(t, p.log_odds));
        },
        py::arg("tree"), py::arg("posterior"));
  m.def("log_predictive", &density_of, py::arg("tree"), py::arg("posterior"), py::arg("table"),
        py::arg("family"), py::arg("fresh"), py::arg("n_threads"), py::arg("progress"));
  m.def("log_responsibilities", &responsibilities_of, py::arg("labels"), py::arg("alpha"),
        py::arg("table"), py::arg("family"), py::arg("fresh"), py::arg("n_threads"),
        py::arg("progress"));
}

}  // namespace bhclust::python

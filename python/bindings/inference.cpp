#include "bindings.hpp"
#include <bhclust/analysis/linkage.hpp>
#include <bhclust/inference/cluster_count.hpp>
#include <bhclust/inference/coclustering.hpp>
#include <bhclust/inference/curve.hpp>
#include <bhclust/inference/evidence.hpp>
#include <bhclust/inference/explanation.hpp>
#include <bhclust/inference/hyperparameters.hpp>
#include <bhclust/inference/imputation.hpp>
#include <bhclust/inference/posterior.hpp>
#include <bhclust/inference/predictive.hpp>
#include <bhclust/inference/row_samples.hpp>
#include <bhclust/inference/samples.hpp>

#include <pybind11/stl.h>

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace pybind11::detail {

template <>
struct type_caster<bhclust::tree_posterior> : filled_caster<bhclust::tree_posterior> {};
template <>
struct type_caster<bhclust::relocations> : filled_caster<bhclust::relocations> {};

}  // namespace pybind11::detail

namespace bhclust::python {
namespace {

using label_array = py::array_t<index_t, py::array::c_style>;

tree_posterior posterior_of(const tree& t, const held_table& table, const held_family& family,
                            double alpha, py::object progress, int n_threads) {
  const posterior_options options{alpha, progress_of(std::move(progress)), n_threads};
  const py::gil_scoped_release free;
  return posterior(t, table.view, family.over(table.view), options);
}

py::tuple curve_at(const held_family& family, const held_table& table,
                   const py::array_t<double, py::array::c_style | py::array::forcecast>& times) {
  const auto* process = family.get().get_if<GaussianProcess>();
  require(process != nullptr, [&] {
    return "family is " + family.get().name() + "; curves are those of GaussianProcess";
  });
  const std::vector<double> at(times.data(), times.data() + times.size());
  auto found = [&] {
    const py::gil_scoped_release free;
    return curve_of(*process, table.view, at);
  }();
  return py::make_tuple(array_from(std::move(found.mean)), array_from(std::move(found.variance)));
}

std::vector<index_t> map_cut(const tree& t, const tree_posterior& p) { return map_nodes(t, p); }

py::array table_from(std::vector<double> cells, index_t n_rows) {
  const auto n = static_cast<py::ssize_t>(n_rows);
  const auto columns = static_cast<py::ssize_t>(cells.size()) / n;
  return array_from(std::move(cells)).reshape(std::vector<py::ssize_t>{n, columns});
}

py::array density_of(const tree& t, const tree_posterior& p, const held_table& table,
                     const held_family& family, const held_table& fresh, int n_threads,
                     py::object progress) {
  const predictive_options options{n_threads, progress_of(std::move(progress))};
  std::vector<double> density;
  {
    const py::gil_scoped_release free;
    density = log_predictive(t, p, table.view, family.over(table.view), fresh.view, options);
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
    result =
        log_responsibilities(held, alpha, table.view, family.over(table.view), fresh.view, options);
  }
  return table_from(std::move(result), fresh.view.rows());
}

std::vector<index_t> vector_from(const label_array& values) {
  return {values.data(), values.data() + values.size()};
}

/// The columns' parts, the prior's and the children's.
py::tuple explain_node(const tree& t, const tree_posterior& p, const held_table& table,
                       const held_family& family, index_t node, const label_array& order) {
  explanation e;
  {
    const auto columns = vector_from(order);
    const py::gil_scoped_release free;
    e = explain(t, p, table.view, family.over(table.view), node, columns);
  }
  return py::make_tuple(array_from(std::move(e.columns)), e.prior, e.children, e.log_odds);
}

py::array separation_of(const held_table& table, const held_family& family,
                        const label_array& first, const label_array& second,
                        const label_array& order) {
  const auto a = vector_from(first);
  const auto b = vector_from(second);
  const auto columns = vector_from(order);
  std::vector<double> result;
  {
    const py::gil_scoped_release free;
    result = separation(table.view, family.over(table.view), a, b, columns);
  }
  return array_from(std::move(result));
}

/// Of the fitted rows, or of `fresh`.
py::array imputed(const tree& t, const tree_posterior& p, const held_table& table,
                  const held_family& family, const std::optional<held_table>& fresh, int n_threads,
                  py::object progress) {
  const predictive_options options{n_threads, progress_of(std::move(progress))};
  std::vector<double> cells;
  {
    const py::gil_scoped_release free;
    cells = fresh ? impute(t, p, table.view, family.over(table.view), fresh->view, options)
                  : impute(t, p, table.view, family.over(table.view), options);
  }
  return table_from(std::move(cells), (fresh ? *fresh : table).view.rows());
}

py::array imputed_levels(const tree& t, const tree_posterior& p, const held_table& table,
                         const held_family& family, const std::optional<held_table>& fresh,
                         index_t column, int n_threads, py::object progress) {
  const predictive_options options{n_threads, progress_of(std::move(progress))};
  std::vector<double> cells;
  {
    const py::gil_scoped_release free;
    cells = fresh ? impute_levels(t, p, table.view, family.over(table.view), fresh->view, column,
                                  options)
                  : impute_levels(t, p, table.view, family.over(table.view), column, options);
  }
  return table_from(std::move(cells), (fresh ? *fresh : table).view.rows());
}

py::tuple samples_of(const tree& t, const tree_posterior& p, const held_table& table,
                     const held_family& family, index_t count, std::uint64_t seed,
                     py::object progress) {
  const auto report = progress_of(std::move(progress));
  row_samples drawn;
  {
    const py::gil_scoped_release free;
    drawn = sample_rows(t, p, table.view, family.over(table.view), count, seed, report);
  }
  return py::make_tuple(table_from(std::move(drawn.cells), count),
                        array_from(std::move(drawn.nodes)));
}

double bound_of(const tree& t, const tree_posterior& p, const held_table& table,
                const held_family& family, const std::string& kind, py::object progress,
                int n_threads) {
  const auto report = progress_of(std::move(progress));
  const py::gil_scoped_release free;
  if (kind == "joint")
    return joint_evidence_bound(t, p, table.view, family.over(table.view), report, n_threads);
  return all_pairs_evidence_bound(t, p, table.view, family.over(table.view), report);
}

relocations relocations_of(const tree& t, const tree_posterior& p, const held_table& table,
                           const held_family& family, bool four, py::object progress,
                           int n_threads) {
  const auto report = progress_of(std::move(progress));
  const py::gil_scoped_release free;
  return relocate(t, p, table.view, family.over(table.view),
                  four ? relocation_set::four : relocation_set::two, report, n_threads);
}

double exact_of(const held_table& table, const held_family& family, double alpha,
                py::object progress) {
  const auto report = progress_of(std::move(progress));
  const py::gil_scoped_release free;
  return exact_log_evidence(table.view, family.over(table.view), alpha, report);
}

py::tuple gradient_of(const tree& t, const tree_posterior& p, const held_table& table,
                      const held_family& family, py::object progress, int n_threads) {
  const auto report = progress_of(std::move(progress));
  evidence_gradient g;
  {
    const py::gil_scoped_release free;
    g = gradient_of_evidence(t, p, table.view, family.over(table.view), report, n_threads);
  }
  return py::make_tuple(g.alpha, array_from(std::move(g.family)));
}

/// A merge a row, a relocation a column.
py::array matrix_of(const std::vector<std::array<double, 4>>& values, const py::object& base) {
  const auto merges = static_cast<py::ssize_t>(values.size());
  py::array array = py::array_t<double>(std::vector<py::ssize_t>{merges, 4},
                                        merges == 0 ? nullptr : values.front().data(), base);
  array.attr("flags").attr("writeable") = false;
  return array;
}

span<const index_t> span_of(const label_array& rows) {
  return {rows.data(), static_cast<index_t>(rows.size())};
}

py::array together_of(const tree& t, const tree_posterior& p, const label_array& first,
                      const label_array& second) {
  const auto report = progress_of(py::none());
  std::vector<double> values;
  {
    const py::gil_scoped_release free;
    values = coclustering(t, p, span_of(first), span_of(second), report);
  }
  return array_from(std::move(values))
      .reshape(std::vector<py::ssize_t>{first.size(), second.size()});
}

/// One value a pair of rows.
py::array together_pairs(const tree& t, const tree_posterior& p, const label_array& first,
                         const label_array& second) {
  const auto report = progress_of(py::none());
  std::vector<double> values;
  {
    const py::gil_scoped_release free;
    values = coclustering_of_pairs(t, p, span_of(first), span_of(second), report);
  }
  return array_from(std::move(values));
}

void register_evidence(py::module_& m) {
  py::class_<relocations>(m, "Relocations")
      .def_readonly("log_evidence_bound", &relocations::log_evidence_bound)
      .def_property_readonly("log_gain",
                             [](const py::object& self) {
                               return matrix_of(self.cast<const relocations&>().log_gain, self);
                             })
      .def_property_readonly("log_gain_of_merge", [](const py::object& self) {
        return view_of(self.cast<const relocations&>().log_gain_of_merge, self);
      });
  define(m, "relocate", &relocations_of, py::arg("tree"), py::arg("posterior"), py::arg("table"),
         py::arg("family"), py::arg("four"), py::arg("progress"), py::arg("n_threads") = 0);
  define(
      m, "relocated_tree",
      [](const tree& t, index_t node, index_t move) {
        if (move < 0 || move > 3) throw py::value_error("move must be from 0 to 3");
        return relocated_tree(t, node, static_cast<relocation>(move));
      },
      py::arg("tree"), py::arg("node"), py::arg("move"));
  define(m, "log_evidence_bound", &bound_of, py::arg("tree"), py::arg("posterior"),
         py::arg("table"), py::arg("family"), py::arg("kind"), py::arg("progress"),
         py::arg("n_threads") = 0);
  define(m, "exact_log_evidence", &exact_of, py::arg("table"), py::arg("family"), py::arg("alpha"),
         py::arg("progress"));
}

void register_rows(py::module_& m) {
  define(m, "explain", &explain_node, py::arg("tree"), py::arg("posterior"), py::arg("table"),
         py::arg("family"), py::arg("node"), py::arg("order"));
  define(m, "separation", &separation_of, py::arg("table"), py::arg("family"), py::arg("first"),
         py::arg("second"), py::arg("order"));
  define(m, "impute", &imputed, py::arg("tree"), py::arg("posterior"), py::arg("table"),
         py::arg("family"), py::arg("fresh"), py::arg("n_threads"), py::arg("progress"));
  define(m, "impute_levels", &imputed_levels, py::arg("tree"), py::arg("posterior"),
         py::arg("table"), py::arg("family"), py::arg("fresh"), py::arg("column"),
         py::arg("n_threads"), py::arg("progress"));
  define(m, "sample_rows", &samples_of, py::arg("tree"), py::arg("posterior"), py::arg("table"),
         py::arg("family"), py::arg("n_samples"), py::arg("seed"), py::arg("progress"));
}

void register_gradient(py::module_& m) {
  define(m, "gradient_of_evidence", &gradient_of, py::arg("tree"), py::arg("posterior"),
         py::arg("table"), py::arg("family"), py::arg("progress"), py::arg("n_threads") = 0);
}

void register_partitions(py::module_& m) {
  define(m, "coclustering", &together_of, py::arg("tree"), py::arg("posterior"), py::arg("first"),
         py::arg("second"));
  define(m, "coclustering_pairs", &together_pairs, py::arg("tree"), py::arg("posterior"),
         py::arg("first"), py::arg("second"));
  define(
      m, "path_entropy",
      [](const tree& t, const tree_posterior& p) { return array_from(path_entropy(t, p)); },
      py::arg("tree"), py::arg("posterior"));
  define(
      m, "binder_nodes",
      [](const tree& t, const tree_posterior& p, double together_cost) {
        return array_from(binder_nodes(t, p, together_cost));
      },
      py::arg("tree"), py::arg("posterior"), py::arg("together_cost"));
  define(
      m, "log_cluster_count",
      [](const tree& t, const tree_posterior& p, index_t max_clusters) {
        const auto report = progress_of(py::none());
        std::vector<double> values;
        {
          const py::gil_scoped_release free;
          values = log_cluster_count(t, p, max_clusters, report);
        }
        return array_from(std::move(values));
      },
      py::arg("tree"), py::arg("posterior"), py::arg("max_clusters"));
  define(
      m, "best_nodes_at_count",
      [](const tree& t, const tree_posterior& p, index_t count) {
        const auto report = progress_of(py::none());
        std::vector<index_t> nodes;
        {
          const py::gil_scoped_release free;
          nodes = best_nodes_at_count(t, p, count, report);
        }
        return array_from(std::move(nodes));
      },
      py::arg("tree"), py::arg("posterior"), py::arg("n_clusters"));
  define(
      m, "sample_partitions",
      [](const tree& t, const tree_posterior& p, index_t count, std::uint64_t seed) {
        const auto report = progress_of(py::none());
        std::vector<index_t> all;
        {
          const py::gil_scoped_release free;
          all = sample_partitions(t, p, count, seed, report);
        }
        return array_from(std::move(all)).reshape(std::vector<py::ssize_t>{count, t.leaves()});
      },
      py::arg("tree"), py::arg("posterior"), py::arg("n_samples"), py::arg("seed"));
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
  define(m, "posterior", &posterior_of, py::arg("tree"), py::arg("table"), py::arg("family"),
         py::arg("alpha"), py::arg("progress"), py::arg("n_threads") = 0);
  define(
      m, "map_nodes",
      [](const tree& t, const tree_posterior& p) { return array_from(map_cut(t, p)); },
      py::arg("tree"), py::arg("posterior"));
  define(
      m, "nodes_by_probability",
      [](const tree& t, const tree_posterior& p, double threshold) {
        return array_from(nodes_by_probability(t, p, threshold));
      },
      py::arg("tree"), py::arg("posterior"), py::arg("threshold"));
  define(
      m, "nodes_at_count",
      [](const tree& t, const tree_posterior& p, index_t count) {
        return array_from(nodes_at_count(t, p, count));
      },
      py::arg("tree"), py::arg("posterior"), py::arg("n_clusters"));
  define(
      m, "labels_of",
      [](const tree& t, const label_array& nodes) {
        return array_from(labels_of(t, {nodes.data(), nodes.data() + nodes.size()}));
      },
      py::arg("tree"), py::arg("nodes"));
  define(
      m, "labels_by_posterior",
      [](const tree& t, const label_array& nodes, const tree_posterior& p) {
        return array_from(labels_of(t, {nodes.data(), nodes.data() + nodes.size()}, p));
      },
      py::arg("tree"), py::arg("nodes"), py::arg("posterior"));
  define(
      m, "cluster_of_nodes",
      [](const tree& t, const label_array& nodes) {
        return array_from(cluster_of_nodes(t, {nodes.data(), nodes.data() + nodes.size()}));
      },
      py::arg("tree"), py::arg("nodes"));
  define(
      m, "linkage_heights",
      [](const tree& t, const tree_posterior& p) {
        return array_from(linkage_heights(t, p.log_odds));
      },
      py::arg("tree"), py::arg("posterior"));
  define(m, "log_predictive", &density_of, py::arg("tree"), py::arg("posterior"), py::arg("table"),
         py::arg("family"), py::arg("fresh"), py::arg("n_threads"), py::arg("progress"));
  define(m, "log_responsibilities", &responsibilities_of, py::arg("labels"), py::arg("alpha"),
         py::arg("table"), py::arg("family"), py::arg("fresh"), py::arg("n_threads"),
         py::arg("progress"));
  define(m, "curve", &curve_at, py::arg("family"), py::arg("table"), py::arg("times"));
  register_evidence(m);
  register_rows(m);
  register_gradient(m);
  register_partitions(m);
}

}  // namespace bhclust::python

#include "bindings.hpp"
#include <bhclust/analysis/cut.hpp>
#include <bhclust/analysis/linkage.hpp>
#include <bhclust/analysis/newick.hpp>
#include <bhclust/tree.hpp>

#include <cmath>
#include <optional>
#include <string>

namespace bhclust::python {
namespace {

using index_array = py::array_t<index_t, py::array::c_style>;
using double_array = py::array_t<double, py::array::c_style>;
using names_list = std::optional<std::vector<std::string>>;

template <class T>
span<const T> span_of(const py::array_t<T, py::array::c_style>& array) {
  return {array.data(), static_cast<index_t>(array.size())};
}

span<const std::string> span_of(const names_list& names) {
  return names ? span<const std::string>(*names) : span<const std::string>();
}

cost_kind kind_from(const std::string& name) {
  if (name == "none") return cost_kind::none;
  if (name == "log_d") return cost_kind::log_d;
  if (name == "divergence") return cost_kind::divergence;
  throw py::value_error("kind is '" + name + "'; it must be 'none', 'log_d' or 'divergence'");
}

const char* name_of(cost_kind kind) {
  return kind == cost_kind::none ? "none" : kind == cost_kind::log_d ? "log_d" : "divergence";
}

/// Integers only: a float id would be truncated without a word.
index_array ids_of(const char* name, const py::object& value) {
  const py::array plain = plain_array(name, value);
  const char kind = plain.dtype().kind();
  if (kind != 'i' && kind != 'u' && plain.size() > 0) {
    throw py::type_error(std::string(name) + " must hold integers, not " +
                         py::str(py::object(plain.dtype())).cast<std::string>());
  }
  return plain.size() > 0 ? index_array(plain.attr("astype")("int64")) : index_array(0);
}

double_array numbers_of(const char* name, const py::object& value) {
  const py::array plain = plain_array(name, value);
  const char kind = plain.dtype().kind();
  if (kind != 'f' && kind != 'i' && kind != 'u') {
    throw py::type_error(std::string(name) + " must hold numbers, not " +
                         py::str(py::object(plain.dtype())).cast<std::string>());
  }
  return {plain.attr("astype")("float64")};
}

tree from_children(index_t n_leaves, const py::object& children, const py::object& costs,
                   const std::string& kind) {
  const auto ids = ids_of("children", children);
  if (ids.size() > 0 && (ids.ndim() != 2 || ids.shape(1) != 2)) {
    throw py::value_error("children must have shape (n_merges, 2)");
  }
  if (!costs.is_none() && kind == "none") {
    throw py::value_error("costs are given; say what they are: kind='log_d' or 'divergence'");
  }
  const auto values = costs.is_none() ? double_array(0) : numbers_of("costs", costs);
  return tree_from_children(n_leaves, span_of(ids), span_of(values), kind_from(kind));
}

py::array children_of(const py::object& self) {
  const auto& t = self.cast<const tree&>();
  return view_of(t.children(), self).reshape(std::vector<py::ssize_t>{t.merges(), 2});
}

py::array costs_of(const py::object& self, cost_kind kind) {
  const auto& t = self.cast<const tree&>();
  if (t.costs() == kind) return view_of(t.cost(), self);
  return array_from(std::vector<double>{});
}

std::vector<double> heights_of(const tree& t, const py::object& heights) {
  const auto values = numbers_of("heights", heights);
  if (values.size() != t.nodes()) {
    throw py::value_error("heights has " + std::to_string(values.size()) + " entries for " +
                          std::to_string(t.nodes()) + " nodes");
  }
  return {values.data(), values.data() + values.size()};
}

py::array linkage(const tree& t, const py::object& heights) {
  const auto height = heights.is_none() ? linkage_heights(t) : heights_of(t, heights);
  auto rows = stoppable([&] { return linkage_of(t, height); });
  return array_from(std::move(rows)).reshape(std::vector<py::ssize_t>{t.merges(), 4});
}

tree from_linkage(const py::object& Z) {
  const auto linkage = numbers_of("Z", Z);
  if (linkage.ndim() != 2 || linkage.shape(1) != 4) {
    throw py::value_error("Z must have shape (n - 1, 4), not " +
                          py::str(py::tuple(linkage.attr("shape"))).cast<std::string>());
  }
  const auto rows = linkage.shape(0);
  return stoppable([&, cells = span_of(linkage)] { return tree_from_linkage(cells, rows); });
}

std::string newick(const tree& t, const names_list& names, const py::object& heights) {
  const auto height = heights.is_none() ? std::vector<double>() : heights_of(t, heights);
  return stoppable([&] { return to_newick(t, span_of(names), height); });
}

std::vector<index_t> nodes_of_cut(const tree& t, std::optional<double> lam,
                                  std::optional<index_t> n_clusters) {
  if (lam.has_value() == n_clusters.has_value()) {
    throw py::value_error("give exactly one of lam and n_clusters");
  }
  return lam ? nodes_below_cost(t, *lam) : nodes_at_count(t, *n_clusters);
}

}  // namespace

void register_tree(py::module_& m) {
  const auto json = [](const char* function) {
    return py::module_::import("bhclust.tree_json").attr(function);
  };
  py::class_<tree> cls(m, "Tree",
                       R"(A forest of binary trees in flat arrays, children before parents.

Nodes 0 ... n_leaves - 1 are the rows; merge t makes node n_leaves + t. Several roots are a
lambda-forest. Arrays are read-only views of the tree's own memory.)");
  define_static(cls, "from_children", &from_children,
                R"(A forest from its merges.

Parameters
----------
n_leaves : int
children : array of int, shape (n_merges, 2)
    Node ids; each node is merged at most once, after it was made.
costs : array of shape (n_merges,), optional
kind : {"none", "log_d", "divergence"}
    What ``costs`` holds.

Raises
------
ValueError
    Naming the first merge that does not fit.)",
                py::arg("n_leaves"), py::arg("children"), py::kw_only(),
                py::arg("costs") = py::none(), py::arg("kind") = "none");
  define_static(cls, "from_linkage", &from_linkage,
                "The tree of a SciPy linkage matrix, shape (n - 1, 4); heights are not kept.",
                py::arg("Z"));
  define_static(
      cls, "from_newick",
      [](const std::string& text, const names_list& names, bool resolve) {
        return stoppable([&] { return from_newick(text, span_of(names), resolve); });
      },
      R"(The forest of a Newick text (one tree or several).

Parameters
----------
text : str
names : sequence of str, optional
    Row i is the leaf ``names[i]``; without names leaves are labelled by row number.
resolve : bool
    Join the children of a node with more than two from left to right; else it is refused.)",
      py::arg("text"), py::kw_only(), py::arg("names") = py::none(), py::arg("resolve") = false);
  define_static(
      cls, "from_json",
      [json](const std::string& text) { return json("loads")(text).cast<tree>(); },
      "The tree that `to_json` wrote.", py::arg("text"));
  define(
      cls, "to_json",
      [json](const tree& t, const names_list& names) {
        return json("dumps")(py::cast(t, py::return_value_policy::reference), names)
            .cast<std::string>();
      },
      "Flat JSON: two arrays of child ids, the costs, the names if given.", py::kw_only(),
      py::arg("names") = py::none());
  define(cls, "to_linkage", &linkage,
         R"(SciPy's linkage matrix, shape (n - 1, 4), rows in order of height.

Without ``heights`` (one a node, none larger than its parent's) they are: d* and its running
maximum for a tree of RBHC; -log r and its running minimum from the root for one of BHC, so that
``fcluster(Z, log(2), "distance")`` is the cut at r < 0.5; else the number of merges on the longest
way down.

Raises
------
ValueError
    When the forest has several roots.)",
         py::kw_only(), py::arg("heights") = py::none());
  define(cls, "to_newick", &newick,
         R"(Newick text, one line a root, which `from_newick` reads back.

Parameters
----------
names : sequence of str, optional
    One a row, all different and none empty; without names leaves are labelled by row number.
heights : array of shape (n_nodes,), optional
    Finite, none larger than its parent's; branch lengths are their differences.)",
         py::kw_only(), py::arg("names") = py::none(), py::arg("heights") = py::none());
  define(
      cls, "cut",
      [](const tree& t, std::optional<double> lam, std::optional<index_t> n_clusters) {
        return array_from(labels_of(t, nodes_of_cut(t, lam, n_clusters)));
      },
      R"(Labels from the costs of RBHC, numbered from the largest cluster, then by first row.

Merges below ``lam`` stay, on the running maximum of d*; or the ``n_clusters - 1`` costliest merges
are undone. A tree of BHC has no d*: cut its posterior.)",
      py::kw_only(), py::arg("lam") = py::none(), py::arg("n_clusters") = py::none());
  define(
      cls, "forest",
      [](const tree& t, std::optional<double> lam, std::optional<index_t> n_clusters) {
        return forest_of(t, nodes_of_cut(t, lam, n_clusters));
      },
      "The forest that `cut` labels: the merges below the cut.", py::kw_only(),
      py::arg("lam") = py::none(), py::arg("n_clusters") = py::none());
  cls.def_property_readonly("n_leaves", &tree::leaves, "Number of rows.")
      .def_property_readonly("n_merges", &tree::merges,
                             "Number of merges: n_leaves less the roots.")
      .def_property_readonly("n_nodes", &tree::nodes, "Number of leaves and merges.")
      .def_property_readonly("children", &children_of, "Node ids, shape (n_merges, 2).")
      .def_property_readonly(
          "parent",
          [](const py::object& self) { return view_of(self.cast<const tree&>().parents(), self); },
          "Node ids, shape (n_nodes,); -1 at roots.")
      .def_property_readonly(
          "size",
          [](const py::object& self) { return view_of(self.cast<const tree&>().sizes(), self); },
          "Number of leaves below each node, shape (n_nodes,).")
      .def_property_readonly(
          "roots", [](const tree& t) { return array_from(t.roots()); },
          "The roots' ids, ascending.")
      .def_property_readonly(
          "kind", [](const tree& t) { return name_of(t.costs()); },
          "What the merges' costs are: 'none', 'log_d' or 'divergence'.")
      .def_property_readonly(
          "cost", [](const py::object& self) { return costs_of(self, cost_kind::divergence); },
          "d* of each merge, shape (n_merges,), of a tree of RBHC; else empty.")
      .def_property_readonly(
          "log_d", [](const py::object& self) { return costs_of(self, cost_kind::log_d); },
          "log d of each merge, shape (n_merges,), of a greedy tree of BHC; else empty.")
      .def("__repr__",
           [](const tree& t) {
             const auto roots = t.leaves() - t.merges();
             return "<bhclust.Tree of " + std::to_string(t.leaves()) + " leaves, " +
                    std::to_string(roots) + (roots == 1 ? " root>" : " roots>");
           })
      .def("__eq__",
           [](const tree& t, const py::object& other) {
             if (!py::isinstance<tree>(other)) return false;
             const auto& o = other.cast<const tree&>();
             return t.leaves() == o.leaves() && t.children() == o.children() &&
                    t.costs() == o.costs() && t.cost() == o.cost();
           })
      .def(py::pickle(
          [](const tree& t) {
            return py::make_tuple(t.leaves(), array_from(t.children()), array_from(t.cost()),
                                  name_of(t.costs()));
          },
          [](const py::tuple& state) {
            if (state.size() != 4) throw py::value_error("this is not the state of a Tree");
            const auto children = state[1].cast<index_array>();
            const auto costs = state[2].cast<double_array>();
            return tree_from_children(state[0].cast<index_t>(), span_of(children), span_of(costs),
                                      kind_from(state[3].cast<std::string>()));
          }))
      .attr("__hash__") = py::none();
}

}  // namespace bhclust::python

#include "bindings.hpp"
#include <bhclust/detail/memory.hpp>
#include <bhclust/detail/parallel.hpp>

#include <algorithm>

namespace bhclust::python {
namespace {

using dense_array = py::array_t<double, py::array::c_style>;
using index_array = py::array_t<index_t, py::array::c_style>;

held_table dense_table(const dense_array& cells) {
  if (cells.ndim() != 2) throw py::value_error("cells must have two dimensions");
  return {cells, rows(cells.data(), cells.shape(0), cells.shape(1))};
}

held_table csr_table(const dense_array& data, const index_array& indices, const index_array& indptr,
                     index_t columns) {
  const index_t n = indptr.size() - 1;
  if (n < 0 || data.ndim() != 1 || indices.size() != data.size() || indptr.at(0) != 0 ||
      indptr.at(n) != data.size()) {
    throw py::value_error("X: the CSR arrays do not fit together");
  }
  for (index_t i = 0; i < n; ++i) {
    if (indptr.at(i) > indptr.at(i + 1)) {
      throw py::value_error("X: CSR indptr falls at row " + std::to_string(i));
    }
  }
  return {py::make_tuple(data, indices, indptr),
          sparse_rows(data.data(), indices.data(), indptr.data(), n, columns)};
}

held_table group_table(const dense_array& values, const index_array& weights, index_t columns) {
  if (values.ndim() != 2 || weights.ndim() != 1 || weights.size() != values.shape(0)) {
    throw py::value_error(
        "values must have a row for each group and weights an entry: give values of shape "
        "(n_groups, width) and weights of shape (n_groups,)");
  }
  return {py::make_tuple(values, weights),
          groups(values.data(), weights.data(), values.shape(0), values.shape(1), columns)};
}

/// On all threads where it is worth that.
void copy_cells(const double* from, index_t count, double* to, int n_threads) {
  constexpr index_t few = 1 << 17;
  detail::thread_team team(count <= few ? 1 : n_threads);
  detail::in_parts(team, 0, count, [&](index_t begin, index_t end) {
    std::copy(from + begin, from + end, to + begin);
  });
}

/// The table with cells of its own, that nobody writes to.
held_table copied_table(const held_table& table, int n_threads) {
  if (table.view.sparse() || table.view.grouped()) throw py::type_error("a dense table is needed");
  const index_t n = table.view.rows();
  const index_t d = table.view.columns();
  auto cells = detail::cells_at_random(static_cast<std::size_t>(n * d));
  stoppable([&] { copy_cells(table.view.row(0).values(), n * d, cells.get(), n_threads); });
  double* data = cells.get();
  const py::capsule keeper(cells.release(),
                           [](void* p) { detail::cells_deleter{}(static_cast<double*>(p)); });
  dense_array array({n, d}, data, keeper);
  array.attr("flags").attr("writeable") = false;
  return {array, rows(data, n, d)};
}

}  // namespace

void register_table(py::module_& m) {
  py::class_<held_table> cls(
      m, "Table", "Rows of float64 cells that the core reads in place (see bhclust.table).");
  define_static(cls, "dense", &dense_table,
                "A C-contiguous float64 array of shape (rows, columns); others are copied.",
                py::arg("cells"));
  define_static(cls, "csr", &csr_table,
                "Canonical CSR arrays: float64 data, int64 indices and indptr.", py::arg("data"),
                py::arg("indices"), py::arg("indptr"), py::arg("columns"));
  define_static(cls, "groups", &group_table,
                "Groups of rows of so many columns: their statistics (see bhclust.statistics), and "
                "how many rows each has.",
                py::arg("values"), py::arg("weights"), py::arg("columns"));
  define(cls, "copied", &copied_table,
         "This dense table with cells of its own, which nobody writes to.",
         py::arg("n_threads") = 0);
  cls.def_property_readonly("n_rows", [](const held_table& t) { return t.view.rows(); })
      .def_property_readonly("n_columns", [](const held_table& t) { return t.view.columns(); })
      .def_property_readonly("is_sparse", [](const held_table& t) { return t.view.sparse(); })
      .def_property_readonly("is_grouped", [](const held_table& t) { return t.view.grouped(); })
      .def_property_readonly("total_weight",
                             [](const held_table& t) { return t.view.total_weight(); })
      .def_property_readonly("arrays", [](const held_table& t) { return t.arrays; });
}

}  // namespace bhclust::python

/// @file
/// What the binding files share: one registration function a concept, tables, families and views.
#pragma once

#include "arguments.hpp"
#include <bhclust/any_family.hpp>
#include <bhclust/groups.hpp>
#include <bhclust/progress.hpp>
#include <bhclust/tree.hpp>
#include <bhclust/types.hpp>

#include <memory>
#include <utility>
#include <vector>

namespace bhclust::python {

void register_table(py::module_& m);
void register_families(py::module_& m);
void register_tree(py::module_& m);
void register_algorithms(py::module_& m);
void register_inference(py::module_& m);
void register_analysis(py::module_& m);

/// A table with the arrays that hold it.
struct held_table {
  py::object arrays;
  table_view view;
};

/// The base of the Python families.
class held_family {
 public:
  explicit held_family(any_family family) : family_(std::move(family)) {}
  held_family(const held_family&) = default;
  held_family(held_family&&) = default;
  held_family& operator=(const held_family&) = default;
  held_family& operator=(held_family&&) = default;
  virtual ~held_family() = default;

  [[nodiscard]] const any_family& get() const noexcept { return family_; }
  /// As it takes a table: of groups, by their statistics.
  [[nodiscard]] any_family over(const table_view& X) const {
    return X.grouped() ? any_family(grouped<any_family>{family_}) : family_;
  }

 private:
  any_family family_;
};

}  // namespace bhclust::python

namespace pybind11::detail {

/// The caster of a bound class, for objects with something in them.
template <class T>
struct filled_caster : type_caster_base<T> {
  bool load(handle source, bool convert) {
    bhclust::python::require_filled(source, typeid(T));
    return type_caster_base<T>::load(source, convert);
  }
};

template <>
struct type_caster<bhclust::tree> : filled_caster<bhclust::tree> {};
template <>
struct type_caster<bhclust::python::held_table> : filled_caster<bhclust::python::held_table> {};
template <>
struct type_caster<bhclust::python::held_family> : filled_caster<bhclust::python::held_family> {};

}  // namespace pybind11::detail

namespace bhclust::python {

/// A read-only array over a vector that `base` owns.
template <class T>
[[nodiscard]] py::array_t<T> view_of(const std::vector<T>& values, py::handle base) {
  py::array_t<T> array(static_cast<py::ssize_t>(values.size()), values.data(), base);
  array.attr("flags").attr("writeable") = false;
  return array;
}

/// A new array that takes the vector over.
template <class T>
[[nodiscard]] py::array_t<T> array_from(std::vector<T> values) {
  auto owned = std::make_unique<std::vector<T>>(std::move(values));
  auto* data = owned->data();
  const auto size = static_cast<py::ssize_t>(owned->size());
  const py::capsule keeper(owned.release(),
                           [](void* p) { delete static_cast<std::vector<T>*>(p); });  // NOLINT
  return py::array_t<T>(size, data, keeper);
}

/// Passes progress on to a Python callable (or None) and looks for Ctrl-C, under the GIL.
[[nodiscard]] inline progress_function progress_of(py::object callback) {
  if (!callback.is_none() && PyCallable_Check(callback.ptr()) == 0) {
    refuse_type("progress", "callable or None", callback);
  }
  // The last copy may die without the GIL, so the reference goes with it held.
  auto held = std::shared_ptr<py::object>(new py::object(std::move(callback)), [](py::object* o) {
    const py::gil_scoped_acquire gil;
    delete o;  // NOLINT(cppcoreguidelines-owning-memory)
  });
  return [held](index_t done, index_t total) {
    const py::gil_scoped_acquire gil;
    if (PyErr_CheckSignals() != 0) throw py::error_already_set();
    if (!held->is_none()) (*held)(done, total);
  };
}

/// Long work that reports to nobody, but is stopped by Ctrl-C, and lets other threads run.
template <class Work>
auto stoppable(const Work& work) {
  const detail::progress_meter meter(progress_of(py::none()), 1);
  const py::gil_scoped_release free;
  return work();
}

}  // namespace bhclust::python

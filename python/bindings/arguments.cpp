#include "arguments.hpp"

#include <algorithm>
#include <limits>

namespace bhclust::python {
namespace {

/// A whole number as a Python int, or null.
py::object as_int(const py::object& value) {
  if (PyBool_Check(value.ptr()) || PyIndex_Check(value.ptr()) == 0) return {};
  auto whole = py::reinterpret_steal<py::object>(PyNumber_Index(value.ptr()));
  if (!whole) PyErr_Clear();
  return whole;
}

[[noreturn]] void refuse_range(const char* name, const py::object& value, const char* wanted) {
  throw py::value_error(std::string(name) + " is " + shown(value) + "; it must be " + wanted);
}

bool is_bool(const py::object& value) {
  return PyBool_Check(value.ptr()) ||
         py::isinstance(value, py::module_::import("numpy").attr("bool_"));
}

std::string listed(const std::vector<const char*>& names) {
  std::string text;
  for (std::size_t i = 0; i < names.size(); ++i) {
    text += i == 0 ? "" : i + 1 == names.size() ? " and " : ", ";
    text += names[i];
  }
  return text;
}

std::string guess(const call_shape& shape, const std::string& keyword) {
  py::list known;
  for (const char* name : shape.names) known.append(name);
  const py::list close =
      py::module_::import("difflib").attr("get_close_matches")(keyword, known, 1);
  return close.empty() ? "" : "; did you mean " + close[0].cast<std::string>() + "?";
}

}  // namespace

std::string shown(py::handle value) {
  constexpr std::size_t longest = 80;
  std::string text;
  try {
    const py::object words = py::repr(value).attr("split")();
    text = py::str(" ").attr("join")(words).cast<std::string>();
  } catch (const py::error_already_set&) {
    return "an object of type " + py::type::of(value).attr("__name__").cast<std::string>();
  }
  if (text.size() <= longest) return text;
  std::size_t end = longest - 3;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U) --end;  // in UTF-8
  return text.substr(0, end) + "...";
}

void refuse_type(const std::string& name, const std::string& wanted, py::handle value) {
  throw py::type_error(name + " must be " + wanted + ", not " + shown(value));
}

double read_number(const char* name, const py::object& value) {
  const bool real = PyFloat_Check(value.ptr()) || as_int(value) ||
                    py::isinstance(value, py::module_::import("numbers").attr("Real"));
  if (!real || is_bool(value)) refuse_type(name, "a number", value);
  const double x = PyFloat_AsDouble(value.ptr());
  if (x != -1.0 || PyErr_Occurred() == nullptr) return x;
  const bool overflow = PyErr_ExceptionMatches(PyExc_OverflowError) != 0;
  PyErr_Clear();
  if (!overflow) refuse_type(name, "a number", value);
  constexpr double infinity = std::numeric_limits<double>::infinity();
  return value > py::int_(0) ? infinity : -infinity;
}

long long read_whole(const char* name, const py::object& value, long long least, long long most) {
  const py::object whole = as_int(value);
  if (!whole) refuse_type(name, "a whole number", value);
  int overflow = 0;
  const long long x = PyLong_AsLongLongAndOverflow(whole.ptr(), &overflow);
  if (overflow > 0 || x > most) {
    refuse_range(name, value,
                 most == std::numeric_limits<long long>::max() ? "below 2^63" : "below 2^31");
  }
  if (overflow < 0 || x < least) refuse_range(name, value, "at least 0");
  return x;
}

unsigned long long read_unsigned(const char* name, const py::object& value) {
  const py::object whole = as_int(value);
  if (!whole) refuse_type(name, "a whole number", value);
  const unsigned long long x = PyLong_AsUnsignedLongLong(whole.ptr());
  if (PyErr_Occurred() != nullptr) {
    PyErr_Clear();
    refuse_range(name, value, "from 0 to 2^64 - 1");
  }
  return x;
}

bool read_bool(const char* name, const py::object& value) {
  if (!is_bool(value)) refuse_type(name, "True or False", value);
  return value.cast<bool>();
}

std::string read_text(const std::string& name, const py::object& value) {
  if (!py::isinstance<py::str>(value)) refuse_type(name, "a string", value);
  Py_ssize_t size = 0;
  const char* text = PyUnicode_AsUTF8AndSize(value.ptr(), &size);
  if (text == nullptr) {
    PyErr_Clear();
    throw py::value_error(name + " is " + shown(value) +
                          "; it has half of a surrogate pair, which UTF-8 cannot hold");
  }
  return {text, static_cast<std::size_t>(size)};
}

std::vector<std::string> read_names(const char* name, const py::object& value) {
  const auto items = items_of(value);
  if (!items) refuse_type(name, "a sequence of strings", value);
  std::vector<std::string> names;
  for (const py::handle item : *items) {
    const auto held = py::reinterpret_borrow<py::object>(item);
    const std::string place = std::string(name) + "[" + std::to_string(names.size()) + "]";
    names.push_back(as_int(held) ? py::str(held).cast<std::string>() : read_text(place, held));
  }
  return names;
}

std::optional<py::tuple> items_of(py::handle value) {
  if (PyUnicode_Check(value.ptr()) || PyBytes_Check(value.ptr()) || PyAnySet_Check(value.ptr())) {
    return {};
  }
  auto items = py::reinterpret_steal<py::object>(PySequence_Tuple(value.ptr()));
  if (items) return py::tuple(std::move(items));
  if (PyErr_ExceptionMatches(PyExc_TypeError) == 0) throw py::error_already_set();
  PyErr_Clear();
  return {};
}

py::array plain_array(const char* name, const py::object& value) {
  const auto numpy = py::module_::import("numpy");
  try {
    return numpy.attr("asarray")(value);
  } catch (py::error_already_set& e) {
    if (!e.matches(PyExc_ValueError)) throw;
    throw py::value_error(std::string(name) + " is ragged: its rows have different lengths");
  }
}

void refuse_call(const call_shape& shape, const py::args& args, const py::kwargs& kwargs) {
  const std::string call = shape.what + "()";
  const auto given_by_position = std::min(args.size(), shape.positional);
  for (const auto& [key, value] : kwargs) {
    const auto keyword = py::str(key).cast<std::string>();
    const auto known = std::find(shape.names.begin(), shape.names.end(), keyword);
    if (known == shape.names.end()) {
      std::string message = call;
      message += " has no argument " + keyword + "; it has ";
      message += shape.names.empty() ? "none" : listed(shape.names);
      throw py::type_error(message + guess(shape, keyword));
    }
    if (known - shape.names.begin() < static_cast<std::ptrdiff_t>(given_by_position)) {
      std::string message = call;
      message += " is given " + keyword;
      throw py::type_error(message + " twice");
    }
  }
  if (args.size() > shape.positional) {
    const std::vector<const char*> keywords(
        shape.names.begin() + static_cast<std::ptrdiff_t>(shape.positional), shape.names.end());
    throw py::type_error(call + " takes " + std::to_string(shape.positional) +
                         " positional argument(s), not " + std::to_string(args.size()) +
                         (keywords.empty() ? "" : "; by keyword it takes " + listed(keywords)));
  }
  for (std::size_t i = given_by_position; i < shape.required; ++i) {
    if (!kwargs.contains(shape.names[i])) {
      throw py::type_error(call + " needs " + shape.names[i]);
    }
  }
  throw py::type_error(call + " cannot be called with " + shown(args) + " and " + shown(kwargs));
}

void refuse_self(const call_shape& shape, const py::args& args) {
  const std::string owner = shape.what.substr(0, shape.what.find('.'));
  throw py::type_error(shape.what + "() is a method; call it on a " + owner +
                       (args.empty() ? "" : ", not on " + shown(args[0])));
}

void require_filled(py::handle source, const std::type_info& type) {
  const auto* known = py::detail::get_type_info(type, false);
  if (known == nullptr || PyObject_TypeCheck(source.ptr(), known->type) == 0) return;
  auto* object = reinterpret_cast<py::detail::instance*>(source.ptr());  // NOLINT: a bound class
  for (auto& part : py::detail::values_and_holders(object)) {
    if (part.value_ptr() != nullptr) continue;
    const auto name = py::type::of(source).attr("__name__").cast<std::string>();
    throw py::type_error("this " + name + " holds nothing, as __new__ alone made it; make a " +
                         name + " by its constructor or by a function that returns one");
  }
}

void out_of_memory(const std::string& what) {
  PyErr_SetString(PyExc_MemoryError, (what + "() ran out of memory").c_str());
  throw py::error_already_set();
}

std::string name_in(py::handle scope, const char* name) {
  return scope.attr("__name__").cast<std::string>() + "." + name;
}

std::string documented(const py::object& function, const char* doc) {
  auto text = function.attr("__doc__").cast<std::string>();
  if (*doc != '\0') text += std::string("\n") + doc + "\n";
  return text;
}

}  // namespace bhclust::python

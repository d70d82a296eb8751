/// @file
/// How functions take their arguments: whatever a caller gives is taken, and refused in one line
/// that names the argument and the value. pybind11 by itself lists the C++ signature instead.
#pragma once

#include <bhclust/types.hpp>

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <new>
#include <optional>
#include <stdexcept>
#include <string>
#include <tuple>
#include <type_traits>
#include <typeinfo>
#include <utility>
#include <vector>

namespace bhclust::python {

namespace py = pybind11;

/// An argument as it was given, where a T is wanted.
template <class T>
struct given {
  py::object value;
};

}  // namespace bhclust::python

namespace pybind11::detail {

/// Loads anything; signatures show what is wanted.
template <class T>
struct type_caster<bhclust::python::given<T>> {
  PYBIND11_TYPE_CASTER(bhclust::python::given<T>, make_caster<T>::name);

  bool load(handle source, bool) {
    value.value = reinterpret_borrow<object>(source);
    return true;
  }
  static handle cast(const bhclust::python::given<T>& source, return_value_policy, handle) {
    return source.value.inc_ref();
  }
};

}  // namespace pybind11::detail

namespace bhclust::python {

/// A value in a message: its repr in one line, cut when it is long.
[[nodiscard]] std::string shown(py::handle value);

/// TypeError: "tree must be a Tree, not 3".
[[noreturn]] void refuse_type(const std::string& name, const std::string& wanted, py::handle value);

[[nodiscard]] double read_number(const char* name, const py::object& value);
/// A whole number from `least` to `most`, which are those of the C++ type.
[[nodiscard]] long long read_whole(const char* name, const py::object& value, long long least,
                                   long long most);
[[nodiscard]] unsigned long long read_unsigned(const char* name, const py::object& value);
[[nodiscard]] bool read_bool(const char* name, const py::object& value);
[[nodiscard]] std::string read_text(const std::string& name, const py::object& value);
/// Strings, or whole numbers, which stand for their digits.
[[nodiscard]] std::vector<std::string> read_names(const char* name, const py::object& value);

/// The items of a sequence or another iterable with an order, but text; else nothing.
[[nodiscard]] std::optional<py::tuple> items_of(py::handle value);

/// NumPy's array of the value; lists of different lengths are refused.
[[nodiscard]] py::array plain_array(const char* name, const py::object& value);

template <class T>
struct is_optional : std::false_type {};
template <class T>
struct is_optional<std::optional<T>> : std::true_type {};
template <class T>
struct is_array : std::false_type {};
template <class T, int Flags>
struct is_array<py::array_t<T, Flags>> : std::true_type {};

/// The argument `name` as a T, or a TypeError or ValueError that says what is wrong with it. An
/// object of a bound class is referred to, not copied.
template <class T>
[[nodiscard]] auto read(const char* name, const py::object& value) {
  if constexpr (std::is_same_v<T, py::object>) {
    return value;
  } else if constexpr (std::is_same_v<T, bool>) {
    return read_bool(name, value);
  } else if constexpr (std::is_same_v<T, std::uint64_t>) {
    return static_cast<T>(read_unsigned(name, value));
  } else if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(
        read_whole(name, value, std::numeric_limits<T>::min(), std::numeric_limits<T>::max()));
  } else if constexpr (std::is_floating_point_v<T>) {
    return read_number(name, value);
  } else if constexpr (std::is_same_v<T, std::string>) {
    return read_text(name, value);
  } else if constexpr (std::is_same_v<T, std::vector<std::string>>) {
    return read_names(name, value);
  } else if constexpr (is_optional<T>::value) {
    return value.is_none() ? T() : T(read<typename T::value_type>(name, value));
  } else if constexpr (is_array<T>::value) {
    T array = T::ensure(value);
    if (!array) {
      PyErr_Clear();
      refuse_type(name, "an array of numbers", value);
    }
    return array;
  } else {
    if (!py::isinstance<T>(value)) {
      refuse_type(name, "a " + py::type::of<T>().attr("__name__").template cast<std::string>(),
                  value);
    }
    return std::cref(value.cast<const T&>());
  }
}

/// What a function can be called with.
struct call_shape {
  std::string what;                ///< its name in messages
  std::vector<const char*> names;  ///< of the arguments
  std::size_t required = 0;        ///< so many of them have no default
  std::size_t positional = 0;      ///< the rest are keywords

  void note(const py::arg_v& a) { names.push_back(a.name); }
  void note(const py::arg& a) {
    names.push_back(a.name);
    required = names.size();
  }
  void note(const py::kw_only&) { positional = names.size(); }
};

template <class... Args>
[[nodiscard]] call_shape shape_of(std::string what, const Args&... args) {
  call_shape shape{std::move(what), {}, 0, 0};
  (shape.note(args), ...);
  if (!(std::is_same_v<Args, py::kw_only> || ...)) shape.positional = shape.names.size();
  return shape;
}

/// TypeError for a call that does not fit the shape: a keyword that is not there, an argument too
/// many, too few or given twice.
[[noreturn]] void refuse_call(const call_shape& shape, const py::args& args,
                              const py::kwargs& kwargs);

/// TypeError for a method that is called on something else than its class.
[[noreturn]] void refuse_self(const call_shape& shape, const py::args& args);

/// TypeError for an object of a bound class that __new__ made and no constructor filled, which
/// pybind11 would take for memory of the class.
void require_filled(py::handle source, const std::type_info& type);

/// MemoryError.
[[noreturn]] void out_of_memory(const std::string& what);

/// "Tree.cut", of a module's function the bare name.
[[nodiscard]] std::string name_in(py::handle scope, const char* name);

/// The arguments of a function.
template <class F>
struct call_of : call_of<decltype(&F::operator())> {};
template <class C, class R, class... A>
struct call_of<R (C::*)(A...) const> : call_of<R (*)(A...)> {};
template <class R, class... A>
struct call_of<R (*)(A...)> {
  using arguments = std::tuple<A...>;
  using result = R;
  static constexpr std::size_t count = sizeof...(A);
};

/// f behind arguments that are read by name; the first `Selves` of them (0 or 1) are not.
template <std::size_t Selves, class F, std::size_t... I>
[[nodiscard]] auto reading(F f, call_shape shape, std::index_sequence<I...>) {
  using call = call_of<F>;
  using all = typename call::arguments;
  const auto run = [f = std::move(f), shape = std::move(shape)](auto&&... self) {
    return [&](const given<std::decay_t<std::tuple_element_t<I + Selves, all>>>&... values) ->
           typename call::result {
             // In braces, so that the first bad argument is the one that is refused.
             const std::tuple<decltype(read<std::decay_t<std::tuple_element_t<I + Selves, all>>>(
                 nullptr, values.value))...>
                 found{read<std::decay_t<std::tuple_element_t<I + Selves, all>>>(shape.names[I],
                                                                                 values.value)...};
             try {
               return f(self..., std::get<I>(found)...);
             } catch (const std::bad_alloc&) {
               out_of_memory(shape.what);
             } catch (const std::length_error&) {
               out_of_memory(shape.what);
             }
           };
  };
  if constexpr (Selves == 0) {
    return [run](const given<std::decay_t<std::tuple_element_t<I, all>>>&... values) {
      return run()(values...);
    };
  } else {
    return [run](std::tuple_element_t<0, all> self,
                 const given<std::decay_t<std::tuple_element_t<I + 1, all>>>&... values) {
      return run(self)(values...);
    };
  }
}

template <class... Args>
inline constexpr std::size_t names_in =
    (std::size_t{0} + ... + (std::is_base_of_v<py::arg, Args> ? 1 : 0));

/// pybind11's text of the signature, with the documentation below.
[[nodiscard]] std::string documented(const py::object& function, const char* doc);

/// Defines a method. The overload that takes any other call refuses it, and carries the
/// documentation, as pybind11 would else document it as well.
template <class Class, class F, class... Args>
Class& define(Class& cls, const char* name, F f, const char* doc, const Args&... args) {
  const auto shape = shape_of(name_in(cls, name), args...);
  constexpr auto named = names_in<Args...>;
  static_assert(call_of<F>::count == named + 1, "name every argument but self");
  cls.def(name, reading<1>(std::move(f), shape, std::make_index_sequence<named>()), args...);
  const std::string text = documented(cls.attr(name), doc);
  py::options options;
  options.disable_function_signatures();
  cls.def(
      name,
      [shape, type = py::handle(cls)](const py::args& all, const py::kwargs& keywords) {
        if (all.empty() || !py::isinstance(all[0], type)) refuse_self(shape, all);
        refuse_call(shape, all[py::slice(1, {}, {})], keywords);
      },
      text.c_str());
  return cls;
}

/// Defines a static method, as above.
template <class Class, class F, class... Args>
Class& define_static(Class& cls, const char* name, F f, const char* doc, const Args&... args) {
  const auto shape = shape_of(name_in(cls, name), args...);
  constexpr auto named = names_in<Args...>;
  static_assert(call_of<F>::count == named, "name every argument");
  cls.def_static(name, reading<0>(std::move(f), shape, std::make_index_sequence<named>()), args...);
  const std::string text = documented(cls.attr(name), doc);
  py::options options;
  options.disable_function_signatures();
  cls.def_static(
      name,
      [shape](const py::args& positional, const py::kwargs& keywords) {
        refuse_call(shape, positional, keywords);
      },
      text.c_str());
  return cls;
}

/// Defines a function of the module, as above.
template <class F, class... Args>
void define(py::module_& m, const char* name, F f, const Args&... args) {
  const auto shape = shape_of(name, args...);
  constexpr auto named = names_in<Args...>;
  static_assert(call_of<F>::count == named, "name every argument");
  m.def(name, reading<0>(std::move(f), shape, std::make_index_sequence<named>()), args...);
  const std::string text = documented(m.attr(name), "");
  py::options options;
  options.disable_function_signatures();
  m.def(
      name,
      [shape](const py::args& positional, const py::kwargs& keywords) {
        refuse_call(shape, positional, keywords);
      },
      text.c_str());
}

/// Defines the constructor. `make` takes given<…> arguments, since it knows their names itself.
template <class Class, class Make, class... Args>
void define_init(Class& cls, Make make, const Args&... args) {
  const auto shape = shape_of(cls.attr("__name__").template cast<std::string>(), args...);
  cls.def(py::init(std::move(make)), args...);
  const std::string text = documented(cls.attr("__init__"), "");
  py::options options;
  options.disable_function_signatures();
  cls.def(py::init([shape](const py::args& positional, const py::kwargs& keywords) ->
                   typename Class::type { refuse_call(shape, positional, keywords); }),
          text.c_str());
}

}  // namespace bhclust::python

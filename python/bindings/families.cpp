#include "bindings.hpp"
#include <bhclust/families.hpp>

#include <array>
#include <cstddef>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace bhclust::python {

/// A bhclust.statistics.Statistics.
struct statistics_object {
  py::object value;
};

}  // namespace bhclust::python

namespace pybind11::detail {

/// For signatures alone: the class in Python.
template <>
struct type_caster<bhclust::python::statistics_object> {
  static constexpr auto name = const_name("bhclust.statistics.Statistics");
  static handle cast(const bhclust::python::statistics_object& source, return_value_policy,
                     handle) {
    return source.value.inc_ref();
  }
};

/// For signatures alone: what hyperparameters are given as.
template <>
struct type_caster<bhclust::parameter> {
  static constexpr auto name = const_name("float | numpy.typing.ArrayLike");
};

}  // namespace pybind11::detail

namespace bhclust::python {
namespace {

template <class Family>
class typed_family final : public held_family {
 public:
  explicit typed_family(Family family) : held_family(std::move(family)) {}
  [[nodiscard]] const Family& value() const { return *get().template get_if<Family>(); }
};

py::list blocks_of(const Product& product, const py::handle& families) {
  py::list blocks;
  for (std::size_t b = 0; b < product.blocks.size(); ++b) {
    blocks.append(py::make_tuple(families[py::int_(b)], product.blocks[b].columns));
  }
  return blocks;
}

/// Product keeps the Python families too, since a block's type is known to Python alone.
class product_family final : public held_family {
 public:
  product_family(Product product, py::tuple families)
      : held_family(std::move(product)), families_(std::move(families)) {}
  [[nodiscard]] py::list blocks() const { return blocks_of(*get().get_if<Product>(), families_); }

 private:
  py::tuple families_;
};

}  // namespace
}  // namespace bhclust::python

namespace pybind11::detail {

template <class Family>
struct type_caster<bhclust::python::typed_family<Family>>
    : filled_caster<bhclust::python::typed_family<Family>> {};
template <>
struct type_caster<bhclust::python::product_family>
    : filled_caster<bhclust::python::product_family> {};

}  // namespace pybind11::detail

namespace bhclust::python {
namespace {

using float_array = py::array_t<double, py::array::c_style | py::array::forcecast>;
using index_array = py::array_t<index_t, py::array::c_style>;

parameter parameter_from(const char* name, const py::object& value) {
  const py::array plain = plain_array(name, value);
  const char kind = plain.dtype().kind();
  if ((kind != 'f' && kind != 'i' && kind != 'u') || plain.ndim() > 2) {
    refuse_type(name, "a number or an array of at most two dimensions", value);
  }
  if (plain.ndim() == 2 && plain.shape(0) != plain.shape(1)) {
    throw py::value_error(std::string(name) + " has shape (" + std::to_string(plain.shape(0)) +
                          ", " + std::to_string(plain.shape(1)) +
                          "); a matrix must be square, one row and one column a column of X");
  }
  const auto cells = float_array::ensure(plain);
  std::vector<double> values(cells.data(), cells.data() + cells.size());
  if (plain.ndim() == 0) return values.front();
  if (plain.ndim() == 1) return values;
  return parameter::matrix(std::move(values));
}

template <class Family>
parameter parameter_from(const parameter_field<Family>& field, const py::object& value) {
  if (field.values != range::choice) return parameter_from(field.name, value);
  if (!py::isinstance<py::str>(value)) {
    refuse_type(field.name, "one of " + detail::listed(field.choices), value);
  }
  const std::string wanted = read_text(field.name, value);
  for (std::size_t c = 0; c < field.choices.size(); ++c) {
    if (wanted == field.choices[c]) return static_cast<double>(c);
  }
  throw py::value_error(std::string(field.name) + " is " + shown(value) + "; it must be one of " +
                        detail::listed(field.choices));
}

py::object object_from(const parameter& p) {
  if (p.rank() == 0) return py::float_(p[0]);
  py::array array = array_from(p.values());
  if (p.rank() == 2) {
    const auto side =
        static_cast<py::ssize_t>(std::llround(std::sqrt(static_cast<double>(p.size()))));
    array = array.reshape(std::vector<py::ssize_t>{side, side});
  }
  array.attr("flags").attr("writeable") = false;
  return array;
}

template <class Family>
py::object object_from(const parameter_field<Family>& field, const Family& family) {
  const parameter& p = family.*field.member;
  if (field.values == range::choice) {
    return py::str(field.choices[static_cast<std::size_t>(p[0])]);
  }
  return object_from(p);
}

template <class Family>
py::dict parameters_of(const Family& family) {
  py::dict all;
  for (const auto& field : Family::parameters()) all[field.name] = object_from(field, family);
  return all;
}

std::string repr_of(const std::string& name, const py::dict& parameters) {
  std::string text = name + "(";
  bool first = true;
  for (const auto& [keyword, value] : parameters) {
    if (!first) text += ", ";
    first = false;
    text += keyword.template cast<std::string>() + "=" +
            py::repr(py::hasattr(value, "tolist") ? value.attr("tolist")() : value)
                .template cast<std::string>();
  }
  return text + ")";
}

template <std::size_t>
using given_for = given<parameter>;
template <std::size_t>
using object_for = py::object;

template <class Family, std::size_t... I>
Family family_from(const std::tuple<given_for<I>...>& values, std::index_sequence<I...>) {
  const auto fields = Family::parameters();
  Family family;
  ((family.*fields[I].member = parameter_from(fields[I], std::get<I>(values).value)), ...);
  check_parameters(family);
  return family;
}

template <class Family, std::size_t... I>
void def_init(py::class_<typed_family<Family>, held_family>& cls, std::index_sequence<I...> all) {
  const auto fields = Family::parameters();
  const Family defaults;
  define_init(
      cls,
      [all](given_for<I>... values) {
        return typed_family<Family>(
            family_from<Family>(std::tuple<given_for<I>...>(values...), all));
      },
      py::kw_only(), py::arg_v(fields[I].name, given_for<I>{object_from(fields[I], defaults)})...);
  (cls.def_property_readonly(
       fields[I].name,
       [field = fields[I]](const typed_family<Family>& self) -> given_for<I> {
         return {object_from(field, self.value())};
       },
       fields[I].meaning),
   ...);
}

template <class Family>
std::string docstring() {
  std::string text = std::string(Family::doc) + "\n\nParameters\n----------\n";
  for (const auto& field : Family::parameters()) {
    const char* shape = field.values == range::choice      ? "str"
                        : field.shape == shape::scalar     ? "float"
                        : field.shape == shape::per_column ? "float or array of shape (n_columns,)"
                        : field.shape == shape::vector_only
                            ? "array of shape (n_columns,)"
                            : "float or array of shape (n_columns,) "
                              "or (n_columns, n_columns)";
    text += std::string(field.name) + " : " + shape + "\n    " + field.meaning + "; " +
            (field.choices.empty() ? detail::wanted(field.values)
                                   : "one of " + detail::listed(field.choices)) +
            ".\n";
  }
  return text;
}

template <class F>
using from_data_t = decltype(F::from_data(std::declval<const table_view&>()));

template <class F>
using from_design_t =
    decltype(F::from_data(std::declval<const table_view&>(), std::declval<const F&>()));

template <class Family>
Family defaults_for(const py::object& X, const Family& design) {
  const auto table = py::module_::import("bhclust.table").attr("as_table")(X);
  const table_view& view = table.cast<const held_table&>().view;
  return stoppable([&] {
    if constexpr (detail::has<from_design_t, Family>) {
      return Family::from_data(view, design);
    } else {
      return Family::from_data(view);
    }
  });
}

/// from_data for a family whose first fields describe the experiment; of these the first is told
/// by a table whose columns have numbers for names.
template <class Family, std::size_t... I>
void def_from_design(py::class_<typed_family<Family>, held_family>& cls,
                     std::index_sequence<I...>) {
  const auto fields = Family::parameters();
  const std::string meaning =
      std::string(
          "Weak hyperparameters on the scale of the data; valid for any table the family takes. ") +
      fields[0].name +
      ": when left out, the names of a DataFrame's columns where these are numbers.";
  define_static(
      cls, "from_data",
      [](const py::object& X, const object_for<I>&... values) {
        const std::array<py::object, sizeof...(I)> all{values...};
        const auto known = Family::parameters();
        Family design;
        for (std::size_t f = 0; f < all.size(); ++f) {
          py::object value = all[f];
          if (f == 0 && value.is_none()) {
            value = py::module_::import("bhclust.table").attr("column_numbers")(X);
          }
          if (!value.is_none()) design.*known[f].member = parameter_from(known[f], value);
        }
        return typed_family<Family>(defaults_for(X, design));
      },
      meaning.c_str(), py::arg("X"), py::kw_only(), py::arg_v(fields[I].name, py::none())...);
}

template <class Family>
void register_family(py::module_& m) {
  py::class_<typed_family<Family>, held_family> cls(m, Family::name(), docstring<Family>().c_str());
  constexpr auto count = std::tuple_size_v<decltype(Family::parameters())>;
  def_init<Family>(cls, std::make_index_sequence<count>{});
  define(
      cls, "parameters",
      [](const typed_family<Family>& self) { return parameters_of(self.value()); },
      "The hyperparameters by keyword.");
  cls.def("__repr__", [](const typed_family<Family>& self) {
    return repr_of(Family::name(), parameters_of(self.value()));
  });
  cls.def("__eq__", [](const typed_family<Family>& self, const py::object& other) {
    if (!py::isinstance<typed_family<Family>>(other)) return false;
    const auto& value = other.cast<const typed_family<Family>&>().value();
    for (const auto& field : Family::parameters()) {
      if (self.value().*field.member != value.*field.member) return false;
    }
    return true;
  });
  cls.attr("__hash__") = py::none();
  define_static(
      cls, "_gradient_sizes",
      [](index_t columns) {
        py::dict sizes;
        for (const auto& field : Family::parameters()) {
          sizes[field.name] = gradient_size(field.shape, columns);
        }
        return sizes;
      },
      "", py::arg("columns"));
  cls.def("__reduce__", [](const py::object& self) -> py::tuple {
    const py::object rebuild = py::module_::import("bhclust.families").attr("from_parameters");
    return py::make_tuple(rebuild, py::make_tuple(Family::name(), self.attr("parameters")()));
  });
  cls.attr("_takes_missing") = Family::takes().missing;
  cls.attr("_takes_sparse") = Family::takes().sparse;
  if constexpr (detail::has<from_design_t, Family>) {
    def_from_design<Family>(cls, std::make_index_sequence<Family::given>{});
  } else if constexpr (detail::has<from_data_t, Family>) {
    define_static(
        cls, "from_data",
        [](const py::object& X) { return typed_family<Family>(defaults_for(X, Family{})); },
        "Weak hyperparameters on the scale of the data; valid for any table the family takes.",
        py::arg("X"));
  }
}

using block_list = std::vector<std::pair<py::object, std::vector<index_t>>>;

std::vector<index_t> columns_of(const std::string& place, const py::object& value) {
  const auto items = items_of(value);
  if (!items) refuse_type("the columns of " + place, "a sequence of whole numbers", value);
  std::vector<index_t> columns;
  for (const py::handle item : *items) {
    columns.push_back(
        read<index_t>(("a column of " + place).c_str(), py::reinterpret_borrow<py::object>(item)));
  }
  return columns;
}

product_family product_from(const given<block_list>& given_blocks) {
  const auto blocks = items_of(given_blocks.value);
  if (!blocks) {
    refuse_type("blocks", "a sequence of (Family, columns) pairs", given_blocks.value);
  }
  Product product;
  py::list families;
  for (const py::handle block : *blocks) {
    const std::string place = "blocks[" + std::to_string(families.size()) + "]";
    const auto pair = items_of(block);
    if (!pair || pair->size() != 2 || !py::isinstance<held_family>((*pair)[0])) {
      refuse_type(place, "a (Family, columns) pair", block);
    }
    const py::object family = (*pair)[0];
    product.blocks.push_back(
        {family.cast<const held_family&>().get(), columns_of(place, (*pair)[1])});
    families.append(family);
  }
  return product_family(std::move(product), py::tuple(families));
}

void register_product(py::module_& m) {
  py::class_<product_family, held_family> cls(
      m, "Product",
      (std::string(Product::doc) +
       "\n\nParameters\n----------\nblocks : sequence of (Family, sequence of int)\n"
       "    The families and the columns each is for; a column is in one block at most, columns in "
       "none are not looked at.\n")
          .c_str());
  define_init(cls, &product_from, py::arg("blocks"));
  cls.def_property_readonly("blocks", &product_family::blocks, "The (family, columns) pairs.")
      .def("__repr__",
           [](const product_family& self) {
             return "Product(" + py::repr(self.blocks()).cast<std::string>() + ")";
           })
      .def("__eq__",
           [](const product_family& self, const py::object& other) {
             return py::isinstance<product_family>(other) &&
                    self.blocks().equal(other.attr("blocks"));
           })
      .def("__reduce__",
           [](const py::object& self) -> py::tuple {
             return py::make_tuple(py::type::of(self), py::make_tuple(self.attr("blocks")));
           })
      .attr("__hash__") = py::none();
}

double log_marginal(const any_family& family, const table_view& X) {
  const auto model = bind(family, X);
  std::vector<double> all(static_cast<std::size_t>(model.width()), 0.0), one(all.size());
  detail::pacer pace;
  for (index_t i = 0; i < X.rows(); ++i) {
    pace(model.width());
    std::fill(one.begin(), one.end(), 0.0);
    model.observe(X.row(i), one.data());
    model.merge(all.data(), one.data());
  }
  return model.log_marginal(all.data());
}

py::tuple aggregated(const held_family& family, const held_table& table, const index_array& labels,
                     index_t n_groups, const index_array& repeats) {
  const auto span_of = [](const index_array& a) {
    return span<const index_t>(a.data(), static_cast<index_t>(a.size()));
  };
  auto made = stoppable([&] {
    return aggregate(table.view, family.over(table.view), span_of(labels), n_groups,
                     span_of(repeats));
  });
  py::array values = array_from(std::move(made.values));
  return py::make_tuple(values.reshape(std::vector<py::ssize_t>{n_groups, made.width}),
                        array_from(std::move(made.weights)));
}

/// Rows need not lie in the domain: centres of counts are fractions.
double mean_divergence(const any_family& family, const table_view& X) {
  const auto model = bind(family, X.columns());
  detail::statistics_block rows(model.width());
  for (index_t i = 0; i < X.rows(); ++i) model.observe(X.row(i), rows.append());
  std::vector<double> scratch(static_cast<std::size_t>(model.width()));
  detail::pacer pace;
  double sum = 0.0;
  for (index_t i = 0; i < X.rows(); ++i) {
    for (index_t j = 0; j < i; ++j) {
      sum += model.divergence(rows[i], rows[j], scratch.data());
      pace(model.width() * model.width());
    }
  }
  const auto n = static_cast<double>(X.rows());
  return sum / (n * (n - 1.0) / 2.0);
}

}  // namespace

void register_families(py::module_& m) {
  py::class_<held_family> cls(
      m, "Family", "A likelihood with its conjugate prior; the value is the hyperparameters.");
  cls.def_property_readonly(
         "name", [](const held_family& self) { return self.get().name(); },
         "The name of the class.")
      .def_property_readonly("_relaxable",
                             [](const held_family& self) { return self.get().relaxable(); });
  define(
      cls, "_log_marginal",
      [](const held_family& self, const held_table& table) {
        return stoppable([&] { return log_marginal(self.over(table.view), table.view); });
      },
      "", py::arg("table"));
  define(
      cls, "_mean_divergence",
      [](const held_family& self, const held_table& table) {
        return stoppable([&] { return mean_divergence(self.get(), table.view); });
      },
      "", py::arg("table"));
  define(
      cls, "_check",
      [](const held_family& self, const held_table& table) {
        stoppable([&] { static_cast<void>(bind(self.over(table.view), table.view)); });
      },
      "", py::arg("table"));
  define(cls, "_aggregate", &aggregated, "", py::arg("table"), py::arg("labels"),
         py::arg("n_groups"), py::arg("repeats"));
  define(
      cls, "_width",
      [](const held_family& self, index_t columns) { return bind(self.get(), columns).width(); },
      "", py::arg("columns"));
  define(
      cls, "statistics",
      [](const py::object& self, const py::object& X, const py::object& rows_in,
         const py::object& weights) -> statistics_object {
        const auto make = py::module_::import("bhclust.families").attr("statistics_of");
        return {make(self, X, rows_in, weights)};
      },
      "Sufficient statistics of groups of rows, which every algorithm takes in place of the rows.\n"
      "\n"
      "Parameters\n----------\n"
      "X : array-like, DataFrame or CSR matrix of shape (n_rows, n_columns)\n"
      "groups : array of int, shape (n_rows,), optional\n"
      "    The group of each row, from 0 without gaps; None: each row is one of its own.\n"
      "weights : array of int, shape (n_rows,), optional\n"
      "    How often each row was seen, at least once; None: once.\n"
      "\nReturns\n-------\nStatistics",
      py::arg("X"), py::arg_v("groups", py::none()), py::kw_only(),
      py::arg_v("weights", py::none()));
  for_each_family([&m](auto tag) { register_family<typename decltype(tag)::type>(m); });
  register_product(m);
}

}  // namespace bhclust::python

/// @file
/// The Family concept: what a type must have so that every algorithm of the library takes it.
///
/// A *family* is a likelihood with its conjugate prior; its value is the hyperparameters. What the
/// algorithms know of a cluster is its *sufficient statistics*: `width` doubles, all zero for the
/// empty cluster. The least a family of your own needs is one struct:
///
///     struct my_family {
///       double a = 1.0, b = 1.0;                                        // hyperparameters
///       index_t width(index_t columns) const;                           // doubles a cluster
///       void observe(const row_view& row, double* t) const;             // t += row
///       double log_marginal(const double* t) const;                     // log p(X_c | H_c), nats
///     };
///
/// log_marginal must have all its constants, so that exp of it sums or integrates to one over the
/// data; then evidences compare across hyperparameters and families. It must be finite for every
/// cluster of rows that the family's domain admits.
///
/// When the family has work to do once the number of columns is known (spreading scalars over
/// columns, constants, checks), it gives a model in place of the three functions above:
///
///     auto bind(index_t columns) const;      // a model: width(), observe(row, t), log_marginal(t)
///
/// Optional members of the model (or of the one struct), with what stands in when they are absent:
///
///     void merge(double* t, const double* s) const;          // t ∪= s    [t[i] += s[i]]
///     void remove(double* t, const double* s) const;         // t ∖= s    [t[i] -= s[i]]
///     double potential(const double* t) const;               // |c| φ(t̄), convex φ   [no RBHC]
///     double divergence(const double* t, const double* s) const;  // d* >= 0; may be given
///                                     // width() doubles of scratch as a third argument
///                                             [potential(t) + potential(s) - potential(t ∪ s)]
///     bool possible(const double* t, index_t rows) const;    // whether t can be the statistics of
///                                     // so many rows: asked of those that come from outside, so
///                                     // that nothing else needs to look  [true]
///     void log_marginals(const double* t, index_t count, double* out) const;
///                                     // of `count` <= 8 clusters, one after another; each value
///                                     // depends on its own cluster alone       [one by one]
///     void prepare(index_t rows);     // before log_marginal is asked of many clusters of so many
///                                     // rows: tables and the like, whose use may change the last
///                                     // bits of its values                     [nothing]
///     void prepare_in_place(index_t rows);    // where prepare changes the layout of statistics:
///                                     // the same without that                  [prepare]
///     auto of_many(index_t rows) const;       // in place of prepare: another model of the same
///                                     // family, whose statistics may be laid out otherwise; used
///                                     // for marginal likelihoods and gradients        [nothing]
///     index_t gradient_size() const;          // learning                 [none]
///     void add_gradient(const double* t, double weight, double* g) const;
///                                     // g += weight · ∂ log_marginal(t) / ∂ hyperparameters
///     void predictive_mean(const double* t, double* out) const;   // imputation  [none]
///                                     // of one more row: mean_size(j) doubles for each column j
///     index_t mean_size(index_t column) const;    // 1, or the number of levels of a column of
///                                     // codes, whose mean is the levels' probabilities      [1]
///     void sample(const double* t, random_source& random, double* row) const;     // [no sampling]
///                                     // row ← one more row; it comes in as some row of the table,
///                                     // of which only what the family takes as given is kept
///     void column_terms(const double* t, const index_t* order, double* out) const;
///                                     // what each column adds to log_marginal(t), which is their
///                                     // sum; `order` (nullptr: as they are) is for families whose
///                                     // terms are given those of the columns before  [no explain]
///     std::vector<double> ward_units() const; // where d* without missing cells is that of Ward,
///                                     // n_a n_b / (n_a + n_b) ‖ȳ_a - ȳ_b‖²: the units y of the
///                                     // columns                                 [none]
///     double ward_mean(const double* t, double* mean) const;  // with it: the columns' means and
///                                     // the number of rows, 0 where cells are missing
///     index_t smoothed_means_size() const;    // where d* is that of root_screen.hpp      [none]
///     double smoothed_means(const double* t, double* u) const;
///     template <class Score> class store;     // fast rows of scores      [cluster_store]
///
/// The mean of an infinite one is +inf. Imputation takes the cells of a row as independent given
/// the cluster's parameters; a family in which they are not must not take missing cells.
///
/// and of the family:
///
///     domain takes() const;                   // cells, missing, sparse   [dense finite reals]
///     std::string name() const;               // for messages (may be static) ["the family"]
///     static auto parameters();               // array of parameter_field [none]
///     void check(const table_view& X) const;  // beyond the domain        [nothing]
///     void check_data(const table_view& X) const;     // in place of domain and check
///     static Family from_data(const table_view& X);   // defaults on the scale of the data
///     static constexpr std::size_t given;     // fields, the first ones, that describe the
///                                             // experiment
///     static Family from_data(const table_view& X, const Family& design);
///                                             // those are as in design
///
/// `bind(family, X)` below checks all of that and returns the model with every optional part filled
/// in; algorithms see nothing else of a family.
#pragma once

#include <bhclust/detail/random.hpp>
#include <bhclust/domain.hpp>
#include <bhclust/parameter.hpp>
#include <bhclust/types.hpp>

#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace bhclust {
namespace detail {

template <class F>
using bind_t = decltype(std::declval<const F&>().bind(index_t{}));
template <class F>
using takes_t = decltype(std::declval<const F&>().takes());
template <class F>
using name_t = decltype(std::declval<const F&>().name());
template <class F>
using parameters_t = decltype(F::parameters());
template <class F>
using check_t = decltype(std::declval<const F&>().check(std::declval<const table_view&>()));
template <class F>
using check_data_t =
    decltype(std::declval<const F&>().check_data(std::declval<const table_view&>()));
template <class M>
using merge_t = decltype(std::declval<const M&>().merge(std::declval<double*>(),
                                                        std::declval<const double*>()));
template <class M>
using possible_t =
    decltype(std::declval<const M&>().possible(std::declval<const double*>(), index_t{}));
template <class M>
using log_marginals_t = decltype(std::declval<const M&>().log_marginals(
    std::declval<const double*>(), index_t{}, std::declval<double*>()));
template <class M>
using prepare_t = decltype(std::declval<M&>().prepare(index_t{}));
template <class M>
using prepare_in_place_t = decltype(std::declval<M&>().prepare_in_place(index_t{}));
template <class M>
using of_many_t = decltype(std::declval<const M&>().of_many(index_t{}));
template <class M>
using remove_t = decltype(std::declval<const M&>().remove(std::declval<double*>(),
                                                          std::declval<const double*>()));
template <class M>
using potential_t = decltype(std::declval<const M&>().potential(std::declval<const double*>()));
template <class M>
using gradient_t = decltype(std::declval<const M&>().add_gradient(std::declval<const double*>(),
                                                                  0.0, std::declval<double*>()));
template <class M>
using divergence_t = decltype(std::declval<const M&>().divergence(std::declval<const double*>(),
                                                                  std::declval<const double*>()));
template <class M>
using scratch_divergence_t = decltype(std::declval<const M&>().divergence(
    std::declval<const double*>(), std::declval<const double*>(), std::declval<double*>()));

template <class M>
using predictive_mean_t = decltype(std::declval<const M&>().predictive_mean(
    std::declval<const double*>(), std::declval<double*>()));
template <class M>
using mean_size_t = decltype(std::declval<const M&>().mean_size(index_t{}));
template <class M>
using sample_t = decltype(std::declval<const M&>().sample(
    std::declval<const double*>(), std::declval<random_source&>(), std::declval<double*>()));
template <class M>
using column_terms_t = decltype(std::declval<const M&>().column_terms(
    std::declval<const double*>(), std::declval<const index_t*>(), std::declval<double*>()));
template <class M>
using ward_units_t = decltype(std::declval<const M&>().ward_units());
template <class M>
using ward_mean_t = decltype(std::declval<const M&>().ward_mean(std::declval<const double*>(),
                                                                std::declval<double*>()));
template <class F>
using takes_groups_t = std::enable_if_t<F::takes_groups>;
template <class M>
using smoothed_means_of_t = decltype(std::declval<const M&>().smoothed_means(
    std::declval<const double*>(), std::declval<double*>()));

template <class Void, template <class> class Op, class T>
struct detector : std::false_type {};
template <template <class> class Op, class T>
struct detector<std::void_t<Op<T>>, Op, T> : std::true_type {};
template <template <class> class Op, class T>
inline constexpr bool has = detector<void, Op, T>::value;

/// t ∪= s, by the model's own way or by addition.
template <class Model>
void merge_statistics(const Model& m, double* t, const double* s) {
  if constexpr (has<merge_t, Model>) {
    m.merge(t, s);
  } else {
    for (index_t i = 0, w = m.width(); i < w; ++i) t[i] += s[i];
  }
}

/// t ∖= s for s ⊆ t, by the model's own way or by subtraction.
template <class Model>
void remove_statistics(const Model& m, double* t, const double* s) {
  if constexpr (has<remove_t, Model>) {
    m.remove(t, s);
  } else {
    for (index_t i = 0, w = m.width(); i < w; ++i) t[i] -= s[i];
  }
}

/// Whether t can be the statistics of so many rows, as far as the model says.
template <class Model>
[[nodiscard]] bool are_possible(const Model& m, const double* t, index_t rows) {
  if constexpr (has<possible_t, Model>) {
    return m.possible(t, rows);
  } else {
    static_cast<void>(m);
    static_cast<void>(t);
    static_cast<void>(rows);
    return true;
  }
}

/// Whether RBHC can use the model.
template <class Model>
inline constexpr bool relaxable =
    has<potential_t, Model> || has<divergence_t, Model> || has<scratch_divergence_t, Model>;

/// d*(t, s) >= 0, by the model's own way or from its potential; `scratch` holds width() doubles.
template <class Model>
[[nodiscard]] double divergence_of(const Model& m, const double* t, const double* s,
                                   double* scratch) {
  static_cast<void>(scratch);
  if constexpr (has<divergence_t, Model>) {
    return m.divergence(t, s);
  } else if constexpr (has<scratch_divergence_t, Model>) {
    return m.divergence(t, s, scratch);
  } else if constexpr (has<potential_t, Model>) {
    for (index_t i = 0, w = m.width(); i < w; ++i) scratch[i] = t[i];
    merge_statistics(m, scratch, s);
    const double d = m.potential(t) + m.potential(s) - m.potential(scratch);
    return d > 0.0 ? d : 0.0;
  } else {
    fail("this family has no Bregman potential, which RBHC needs; add potential(t) to it");
  }
}

/// Lets a family that is its own model pass for one: remembers the number of columns.
template <class Family>
class self_model {
 public:
  self_model(Family family, index_t columns) : family_(std::move(family)), columns_(columns) {}

  [[nodiscard]] index_t width() const { return family_.width(columns_); }
  void observe(const row_view& row, double* t) const { family_.observe(row, t); }
  [[nodiscard]] double log_marginal(const double* t) const { return family_.log_marginal(t); }
  template <class F = Family, class = possible_t<F>>
  [[nodiscard]] bool possible(const double* t, index_t rows) const {
    return family_.possible(t, rows);
  }
  template <class F = Family, class = merge_t<F>>
  void merge(double* t, const double* s) const {
    family_.merge(t, s);
  }
  template <class F = Family, class = remove_t<F>>
  void remove(double* t, const double* s) const {
    family_.remove(t, s);
  }
  template <class F = Family, class = potential_t<F>>
  [[nodiscard]] double potential(const double* t) const {
    return family_.potential(t);
  }
  template <class F = Family, class = divergence_t<F>>
  [[nodiscard]] double divergence(const double* t, const double* s) const {
    return family_.divergence(t, s);
  }
  template <class F = Family, class = predictive_mean_t<F>>
  void predictive_mean(const double* t, double* out) const {
    family_.predictive_mean(t, out);
  }
  template <class F = Family, class = mean_size_t<F>>
  [[nodiscard]] index_t mean_size(index_t column) const {
    return family_.mean_size(column);
  }
  template <class F = Family, class = sample_t<F>>
  void sample(const double* t, random_source& random, double* row) const {
    family_.sample(t, random, row);
  }
  template <class F = Family, class = column_terms_t<F>>
  void column_terms(const double* t, const index_t* order, double* out) const {
    family_.column_terms(t, order, out);
  }

 private:
  Family family_;
  index_t columns_;
};

template <class Family>
[[nodiscard]] auto bare_model(const Family& family, index_t columns) {
  if constexpr (has<bind_t, Family>) {
    return family.bind(columns);
  } else {
    return self_model<Family>(family, columns);
  }
}

/// A model with every optional member filled in.
template <class Bare>
class completed {
 public:
  using bare = Bare;
  static constexpr bool relaxable = detail::relaxable<Bare>;
  static constexpr bool learnable = has<gradient_t, Bare>;
  static constexpr bool preparable = has<prepare_t, Bare> || has<of_many_t, Bare>;

  completed(Bare model, index_t columns) : model_(std::move(model)), columns_(columns) {}

  [[nodiscard]] const Bare& base() const noexcept { return model_; }
  [[nodiscard]] index_t columns() const noexcept { return columns_; }
  [[nodiscard]] index_t width() const { return model_.width(); }
  void observe(const row_view& row, double* t) const { model_.observe(row, t); }
  [[nodiscard]] double log_marginal(const double* t) const { return model_.log_marginal(t); }
  [[nodiscard]] bool possible(const double* t, index_t rows) const {
    return are_possible(model_, t, rows);
  }
  /// log_marginal of `count` statistics, one after another.
  void log_marginals(const double* t, index_t count, double* out) const {
    if constexpr (has<log_marginals_t, Bare>) {
      model_.log_marginals(t, count, out);
    } else {
      for (index_t i = 0, w = width(); i < count; ++i) out[i] = log_marginal(t + i * w);
    }
  }
  void prepare(index_t rows) {
    if constexpr (has<prepare_t, Bare>) {
      model_.prepare(rows);
    } else {
      static_cast<void>(rows);
    }
  }
  /// The same for statistics that exist already: their layout stays as it is.
  void prepare_in_place(index_t rows) {
    if constexpr (has<prepare_in_place_t, Bare>) {
      model_.prepare_in_place(rows);
    } else {
      prepare(rows);
    }
  }
  void merge(double* t, const double* s) const { merge_statistics(model_, t, s); }
  void remove(double* t, const double* s) const { remove_statistics(model_, t, s); }
  [[nodiscard]] double divergence(const double* t, const double* s, double* scratch) const {
    return divergence_of(model_, t, s, scratch);
  }
  [[nodiscard]] index_t gradient_size() const {
    if constexpr (learnable) {
      return model_.gradient_size();
    } else {
      fail("this family has no gradient, which learning needs; add add_gradient to it");
    }
  }
  void add_gradient(const double* t, double weight, double* g) const {
    if constexpr (learnable) {
      model_.add_gradient(t, weight, g);
    } else {
      fail("this family has no gradient, which learning needs; add add_gradient to it");
    }
  }
  [[nodiscard]] index_t mean_size(index_t column) const {
    if constexpr (has<mean_size_t, Bare>) {
      return model_.mean_size(column);
    } else {
      static_cast<void>(column);
      return 1;
    }
  }
  void predictive_mean(const double* t, double* out) const {
    if constexpr (has<predictive_mean_t, Bare>) {
      model_.predictive_mean(t, out);
    } else {
      fail("this family has no predictive mean, which imputation needs; add predictive_mean to it");
    }
  }
  void sample(const double* t, random_source& random, double* row) const {
    if constexpr (has<sample_t, Bare>) {
      model_.sample(t, random, row);
    } else {
      fail("this family draws no rows, which sampling needs; add sample to it");
    }
  }
  void column_terms(const double* t, const index_t* order, double* out) const {
    if constexpr (has<column_terms_t, Bare>) {
      model_.column_terms(t, order, out);
    } else {
      fail("this family has no terms by column, which explaining needs; add column_terms to it");
    }
  }
  /// Empty where d* is not known to be Ward's cost.
  [[nodiscard]] std::vector<double> ward_units() const {
    if constexpr (has<ward_units_t, Bare>) {
      return model_.ward_units();
    } else {
      return {};
    }
  }
  [[nodiscard]] double ward_mean(const double* t, double* mean) const {
    if constexpr (has<ward_mean_t, Bare>) {
      return model_.ward_mean(t, mean);
    } else {
      static_cast<void>(t);
      static_cast<void>(mean);
      return 0.0;
    }
  }
  /// 0 where d* is not known to be that of root_screen.hpp.
  [[nodiscard]] index_t smoothed_means_size() const {
    if constexpr (has<smoothed_means_of_t, Bare>) {
      return model_.smoothed_means_size();
    } else {
      return 0;
    }
  }
  double smoothed_means(const double* t, double* u) const {
    if constexpr (has<smoothed_means_of_t, Bare>) {
      return model_.smoothed_means(t, u);
    } else {
      static_cast<void>(t);
      static_cast<void>(u);
      return 0.0;
    }
  }

 private:
  Bare model_;
  index_t columns_;
};

/// A model made ready for many clusters of so many rows. Its statistics are its own.
template <class Bare>
[[nodiscard]] auto prepared(const completed<Bare>& model, index_t rows) {
  if constexpr (has<of_many_t, Bare>) {
    return completed<of_many_t<Bare>>(model.base().of_many(rows), model.columns());
  } else {
    completed<Bare> ready = model;
    ready.prepare(rows);
    return ready;
  }
}

}  // namespace detail

/// The model type that `bind` gives for a family.
template <class Family>
using model_of =
    detail::completed<decltype(detail::bare_model(std::declval<const Family&>(), index_t{}))>;

/// The family's name in messages.
template <class Family>
[[nodiscard]] std::string family_name(const Family& family) {
  if constexpr (detail::has<detail::name_t, Family>) {
    return family.name();
  } else {
    return "the family";
  }
}

/// Binds without looking at data: checks the hyperparameters against the number of columns.
template <class Family>
[[nodiscard]] model_of<Family> bind(const Family& family, index_t columns) {
  require(columns >= 1, "X has no columns; at least one is needed");
  if constexpr (detail::has<detail::parameters_t, Family>) check_parameters(family, columns);
  return {detail::bare_model(family, columns), columns};
}

/// Refuses a table that the family does not take, naming the first bad cell.
template <class Family>
void check_data(const Family& family, const table_view& X) {
  if constexpr (!detail::has<detail::takes_groups_t, Family>) {
    require(!X.grouped(), "X holds statistics of groups of rows; give grouped<Family> with it");
  }
  if constexpr (detail::has<detail::check_data_t, Family>) {
    family.check_data(X);
  } else {
    domain d;
    if constexpr (detail::has<detail::takes_t, Family>) d = family.takes();
    check_table(X, d, family_name(family));
    if constexpr (detail::has<detail::check_t, Family>) family.check(X);
  }
}

/// The edge of every algorithm: checks the hyperparameters and the table, returns the model.
template <class Family>
[[nodiscard]] model_of<Family> bind(const Family& family, const table_view& X) {
  check_data(family, X);
  return bind(family, X.columns());
}

/// The same for algorithms that ask for the marginal likelihoods of many clusters.
template <class Family>
[[nodiscard]] auto bind_prepared(const Family& family, const table_view& X) {
  return detail::prepared(bind(family, X), X.total_weight());
}

}  // namespace bhclust

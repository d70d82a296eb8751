/// @file
/// Groups of rows as leaves: a table whose rows are the sufficient statistics of the rows they
/// stand for. Every algorithm then takes a group for one leaf, which no partition splits; sizes
/// count rows.
#pragma once

#include <bhclust/detail/cluster_store.hpp>
#include <bhclust/detail/marginal_batch.hpp>
#include <bhclust/detail/score.hpp>
#include <bhclust/detail/store_or.hpp>
#include <bhclust/domain.hpp>
#include <bhclust/family.hpp>
#include <bhclust/progress.hpp>
#include <bhclust/types.hpp>

#include <algorithm>
#include <cmath>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace bhclust {
namespace detail {

/// The plain store, with scores eight clusters at a time.
template <class Model>
class batched_store : public cluster_store<Model, evidence_score> {
  using base = cluster_store<Model, evidence_score>;

 public:
  using query = typename base::query;

  batched_store(const Model& model, const table_view& X) : base(prepared(model, X), X) {}

  void row(const query& q, index_t begin, index_t end, double* out) const {
    const index_t width = this->width();
    std::vector<double> joined(static_cast<std::size_t>(width));
    marginal_batch<Model> batch(this->model());
    const auto give = [&](index_t s, double value) {
      out[s - begin] = value - q.self - this->self(s);
    };
    pacer pace;
    for (index_t s = begin; s < end; ++s) {
      pace(this->work_a_score());
      std::copy_n(q.statistics.data(), width, joined.data());
      this->model().merge(joined.data(), this->statistics(s));
      batch.add(s, joined.data(), give);
    }
    batch.flush(give);
  }

 private:
  [[nodiscard]] static Model prepared(Model model, const table_view& X) {
    if constexpr (has<prepare_t, Model>) model.prepare(X.total_weight());
    return model;
  }
};

template <class Model>
using own_group_store_t = typename Model::bare::group_store;

/// The inner model's store of groups, `Inner` being that of a grouped model.
template <class Grouped, class Inner>
class inner_group_store : public own_group_store_t<Inner> {
  using base = own_group_store_t<Inner>;

 public:
  inner_group_store(const Grouped& model, const table_view& X) : base(model.inner().base(), X) {}
  inner_group_store(const inner_group_store& whole, const Grouped& model, const table_view& some)
      : base(whole, model.inner().base(), some) {}

  [[nodiscard]] static bool takes(const Grouped& model, const table_view& X) {
    return X.grouped() && base::takes(model.inner().base(), X);
  }
};

/// A model's own store of groups where it has one that takes the table.
template <class Grouped, class Inner, class = void>
struct store_of_groups {
  using type = batched_store<Grouped>;
};
template <class Grouped, class Inner>
struct store_of_groups<Grouped, Inner, std::void_t<own_group_store_t<Inner>>> {
  using type = store_or<inner_group_store<Grouped, Inner>, batched_store<Grouped>>;
};

/// A model that observes groups as well as rows; the rest is the inner model's, but for its store:
/// stores keep rows in forms of their own.
template <class Inner>
class grouped_model {
 public:
  template <class Score>
  using store = std::conditional_t<Score::kind == score_kind::evidence,
                                   typename store_of_groups<grouped_model, Inner>::type,
                                   cluster_store<grouped_model, Score>>;

  explicit grouped_model(Inner inner) : inner_(std::move(inner)) {}

  [[nodiscard]] const Inner& inner() const noexcept { return inner_; }
  [[nodiscard]] index_t width() const { return inner_.width(); }
  void observe(const row_view& row, double* t) const {
    if (row.is_group()) {
      inner_.merge(t, row.values());
    } else {
      inner_.observe(row, t);
    }
  }
  [[nodiscard]] double log_marginal(const double* t) const { return inner_.log_marginal(t); }
  void log_marginals(const double* t, index_t count, double* out) const {
    inner_.log_marginals(t, count, out);
  }
  template <class I = Inner, class = std::enable_if_t<I::preparable>>
  void prepare(index_t rows) {
    inner_.prepare_in_place(rows);
  }
  [[nodiscard]] bool possible(const double* t, index_t rows) const {
    return inner_.possible(t, rows);
  }
  void merge(double* t, const double* s) const { inner_.merge(t, s); }
  void remove(double* t, const double* s) const { inner_.remove(t, s); }
  template <class I = Inner, class = std::enable_if_t<I::relaxable>>
  [[nodiscard]] double divergence(const double* t, const double* s, double* scratch) const {
    return inner_.divergence(t, s, scratch);
  }
  template <class I = Inner, class = std::enable_if_t<I::learnable>>
  [[nodiscard]] index_t gradient_size() const {
    return inner_.gradient_size();
  }
  template <class I = Inner, class = std::enable_if_t<I::learnable>>
  void add_gradient(const double* t, double weight, double* g) const {
    inner_.add_gradient(t, weight, g);
  }
  [[nodiscard]] index_t mean_size(index_t column) const { return inner_.mean_size(column); }
  void predictive_mean(const double* t, double* out) const { inner_.predictive_mean(t, out); }
  void sample(const double* t, random_source& random, double* row) const {
    inner_.sample(t, random, row);
  }
  void column_terms(const double* t, const index_t* order, double* out) const {
    inner_.column_terms(t, order, out);
  }
  [[nodiscard]] std::vector<double> ward_units() const { return inner_.ward_units(); }
  [[nodiscard]] double ward_mean(const double* t, double* mean) const {
    return inner_.ward_mean(t, mean);
  }

 private:
  Inner inner_;
};

template <class Model>
void check_group(const table_view& X, const Model& model, index_t i) {
  require(X.weight(i) >= 1, [&] {
    return "weights[" + std::to_string(i) + "] is " + std::to_string(X.weight(i)) +
           "; a group has at least one row";
  });
  const row_view row = X.row(i);
  for (index_t k = 0; k < row.stored(); ++k) {
    require(std::isfinite(row.value(k)), [&] {
      return "values[" + std::to_string(i) + ", " + std::to_string(k) + "] is " +
             number(row.value(k)) + "; statistics are finite";
    });
  }
  require(model.possible(row.values(), X.weight(i)), [&] {
    return "values[" + std::to_string(i) + "] cannot be the statistics of " +
           std::to_string(X.weight(i)) + " row(s); let the family make them of the rows";
  });
}

}  // namespace detail

/// A family that takes tables of groups, and tables of rows as before. With a table of groups the
/// posterior is over the partitions of the rows that keep every group whole.
template <class Family>
struct grouped {
  static constexpr bool takes_groups = true;

  Family family;

  [[nodiscard]] std::string name() const { return family_name(family); }
  void check_data(const table_view& X) const {
    if (!X.grouped()) return bhclust::check_data(family, X);
    require(X.rows() >= 1, "X has no groups; at least one is needed");
    const auto model = bhclust::bind(family, X.columns());
    const index_t width = model.width();
    require(X.width() == width, [&] {
      return "X has " + std::to_string(X.width()) + " statistics a group; " + name() + " of " +
             std::to_string(X.columns()) + " columns has " + std::to_string(width);
    });
    detail::pacer pace;
    for (index_t i = 0; i < X.rows(); ++i) {
      pace(X.width());
      detail::check_group(X, model, i);
    }
  }
  [[nodiscard]] auto bind(index_t columns) const {
    return detail::grouped_model<model_of<Family>>(bhclust::bind(family, columns));
  }
};

/// Statistics of groups that own their values.
struct group_statistics {
  index_t width = 0;
  std::vector<double> values;    ///< width values a group, group after group
  std::vector<index_t> weights;  ///< rows of each group

  [[nodiscard]] table_view view(index_t columns) const {
    return groups(values.data(), weights.data(), static_cast<index_t>(weights.size()), width,
                  columns);
  }
};

namespace detail {

/// t becomes the union of `count` copies of itself, by doubling.
template <class Model>
void repeat_statistics(const Model& model, double* t, index_t count, std::vector<double>& doubled,
                       std::vector<double>& copy) {
  if (count == 1) return;
  doubled.assign(t, t + model.width());
  std::fill_n(t, model.width(), 0.0);
  for (; count > 0; count /= 2) {
    if (count % 2 == 1) model.merge(t, doubled.data());
    copy = doubled;
    model.merge(doubled.data(), copy.data());
  }
}

inline void check_labels(span<const index_t> labels, index_t rows, index_t n_groups) {
  require(labels.size() == rows, [&] {
    return "groups has " + std::to_string(labels.size()) + " entries; X has " +
           std::to_string(rows) + " rows: give one a row";
  });
  for (index_t i = 0; i < rows; ++i) {
    require(labels[i] >= 0 && labels[i] < n_groups, [&] {
      return "groups[" + std::to_string(i) + "] is " + std::to_string(labels[i]) +
             "; number the groups from 0, below " + std::to_string(n_groups);
    });
  }
}

}  // namespace detail

/// The statistics of the rows with each label 0 … n_groups - 1, all of which must occur. X may be a
/// table of groups with grouped<Family>; `repeats` (nothing: once each) says how often each row was
/// seen, at least once. O(rows · width).
template <class Family>
[[nodiscard]] group_statistics aggregate(const table_view& X, const Family& family,
                                         span<const index_t> labels, index_t n_groups,
                                         span<const index_t> repeats = {}) {
  const auto model = bind(family, X);
  detail::check_labels(labels, X.rows(), n_groups);
  const index_t width = model.width();
  group_statistics made{width, {}, {}};
  made.values.assign(static_cast<std::size_t>(n_groups * width), 0.0);
  made.weights.assign(static_cast<std::size_t>(n_groups), 0);
  std::vector<double> one(static_cast<std::size_t>(width)), doubled, copy;
  detail::pacer pace;
  for (index_t i = 0; i < X.rows(); ++i) {
    pace(2 * width);
    const index_t count = repeats.empty() ? 1 : repeats[i];
    std::fill(one.begin(), one.end(), 0.0);
    model.observe(X.row(i), one.data());
    detail::repeat_statistics(model, one.data(), count, doubled, copy);
    model.merge(made.values.data() + labels[i] * width, one.data());
    made.weights[static_cast<std::size_t>(labels[i])] += X.weight(i) * count;
  }
  for (index_t g = 0; g < n_groups; ++g) {
    require(made.weights[static_cast<std::size_t>(g)] > 0, [&] {
      return "groups names no row " + std::to_string(g) + "; number the groups from 0 without gaps";
    });
  }
  return made;
}

}  // namespace bhclust

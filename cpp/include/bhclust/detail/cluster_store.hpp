/// @file
/// The clusters an algorithm works on, laid out so that one cluster is scored against many in one
/// call. Slots are numbered from 0: first the rows, then merged clusters in order of age.
///
/// A store has
///     store(const Model&, const table_view&)          // rows in slots 0 … n-1
///     index_t slots() const
///     store(const store& whole, const Model&, const table_view&)  // optional: rows of the table
///                                                     // of another, which lends what it can
///     store(const store& whole, const std::vector<index_t>& slots)    // optional, with the next:
///                                                     // of the rows in some slots of another
///     bool lends_rows() const                         // whether it can be the other
///     struct query                                    // one cluster made ready; reusable
///     void load(query&, index_t slot) const
///     void row(const query&, index_t begin, index_t end, double* out) const
///                                                     // out[s - begin] = gain(query, s)
///     index_t merge(index_t a, index_t b)             // appends a ∪ b
///     index_t merge_all(index_t a, const std::vector<index_t>& others)    // optional: appends the
///                                                     // union of all, merged in this order
///     void keep(const std::vector<index_t>& slots)    // forgets the rest, order preserved
/// and, where searches need not score everything,
///     void prepare_searches()                         // optional: before the first search, maybe
///                                                     // after merges and keeps; again: nothing
///     bool searches() const                           // whether this store does
///     void search(const query&, index_t begin, index_t end, const cost_offsets&, cheapest& best)
///         const                                       // best takes the slots [begin, end)
///     void retire(index_t slot)                       // its offset is +inf from now on
///     bool bounds_costs() const                       // optional, with the next: for sums of
///     void bounds(const query&, index_t begin, index_t end, double* out) const    // costs
///                                                     // out[s - begin] <= -gain(query, s)
///     index_t query_width() const                     // [0] so many numbers are in a query, or
///                                                     // less, where merge() and keep() leave
///                                                     // them good for row(); before searches
///                                                     // are prepared
///     bool has_peaks() const                          // optional, with the next two: whether
///     double peak(const query&) const                 // gain(query, s) <= peak + own(s) for all
///     double own(index_t s) const                     // rows s, but for rounding of own(s)
/// where gain is the score's (score.hpp). A gain depends on the two clusters alone, never on slots,
/// on the bounds of a call or on other clusters. load and row are safe from several threads; row
/// may share a query. Families replace this plain store with faster ones (`Model::store`).
#pragma once

#include <bhclust/detail/score.hpp>
#include <bhclust/family.hpp>
#include <bhclust/progress.hpp>
#include <bhclust/types.hpp>

#include <algorithm>
#include <limits>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

namespace bhclust::detail {

/// The cheapest slot that a search has seen, the earliest of equals; -1 for none below +inf.
struct cheapest {
  double cost = std::numeric_limits<double>::infinity();
  index_t slot = -1;

  /// Whether a slot that costs so much, or no less, is, or may be, a better answer.
  [[nodiscard]] bool gives_way_to(double other_cost, index_t other_slot) const noexcept {
    return other_cost < cost || (other_cost == cost && other_slot < slot);
  }

  void take(double other_cost, index_t other_slot) noexcept {
    if (!gives_way_to(other_cost, other_slot)) return;
    cost = other_cost;
    slot = other_slot;
  }
};

/// What turns gains into costs: cost(slot) = offset(slot) - gain. Rows that live all have the
/// offset row(), and so have all clusters where offsets are the `same`, but for the slot whose
/// neighbour is sought, which may have +inf; whatever was retired has. Refers to the function it
/// was made from.
class cost_offsets {
 public:
  template <class F>
  cost_offsets(const F& offset, double row, bool same = false)
      : of_(&offset),
        call_([](const void* of, index_t slot) { return (*static_cast<const F*>(of))(slot); }),
        row_(row),
        same_(same) {}

  [[nodiscard]] double operator()(index_t slot) const { return call_(of_, slot); }
  [[nodiscard]] double row() const noexcept { return row_; }
  [[nodiscard]] bool same() const noexcept { return same_; }

 private:
  const void* of_;
  double (*call_)(const void*, index_t);
  double row_;
  bool same_;
};

template <class Store>
using searches_t = decltype(std::declval<const Store&>().searches());

/// Whether a store's type and the store itself can search.
template <class Store>
[[nodiscard]] bool can_search(const Store& store) {
  if constexpr (has<searches_t, Store>) {
    return store.searches();
  } else {
    return false;
  }
}

/// Whether a store of some rows of a table can take what it needs from that of the whole.
template <class Store, class Model>
inline constexpr bool lends =
    std::is_constructible_v<Store, const Store&, const Model&, const table_view&>;

/// A store for some rows of the table that `whole` was made for.
template <class Store, class Model>
[[nodiscard]] std::unique_ptr<Store> store_alike(const Store& whole, const Model& model,
                                                 const table_view& some) {
  if constexpr (lends<Store, Model>) {
    return std::make_unique<Store>(whole, model, some);
  } else {
    return std::make_unique<Store>(model, some);
  }
}

/// Whether a store's type, and the store itself, can lend rows.
template <class Store>
inline constexpr bool may_lend_rows =
    std::is_constructible_v<Store, const Store&, const std::vector<index_t>&>;

template <class Store>
[[nodiscard]] bool lends_rows(const Store& store) {
  if constexpr (may_lend_rows<Store>) {
    return store.lends_rows();
  } else {
    return false;
  }
}

template <class Store>
using prepare_searches_t = decltype(std::declval<Store&>().prepare_searches());

template <class Store>
void prepare_searches(Store& store) {
  if constexpr (has<prepare_searches_t, Store>) store.prepare_searches();
}

template <class Store>
using query_width_t = decltype(std::declval<const Store&>().query_width());

/// 0 where merges may spoil queries.
template <class Store>
[[nodiscard]] index_t query_width(const Store& store) {
  if constexpr (has<query_width_t, Store>) {
    return store.query_width();
  } else {
    return 0;
  }
}

template <class Store>
using has_peaks_t = decltype(std::declval<const Store&>().has_peaks());

/// Whether a store's type and the store itself know peaks.
template <class Store>
[[nodiscard]] bool has_peaks(const Store& store) {
  if constexpr (has<has_peaks_t, Store>) {
    return store.has_peaks();
  } else {
    return false;
  }
}

template <class Store>
using peak_t =
    decltype(std::declval<const Store&>().peak(std::declval<const typename Store::query&>()));

template <class Store>
using merge_all_t = decltype(std::declval<Store&>().merge_all(
    index_t{}, std::declval<const std::vector<index_t>&>()));

/// The slot of the union of a and the others; those of intermediate unions may lie before it.
template <class Store>
index_t merge_all(Store& store, index_t a, const std::vector<index_t>& others) {
  if constexpr (has<merge_all_t, Store>) {
    return store.merge_all(a, others);
  } else {
    for (const index_t b : others) a = store.merge(a, b);
    return a;
  }
}

template <class Store>
using bounds_costs_t = decltype(std::declval<const Store&>().bounds_costs());

template <class Store>
using bounds_t = decltype(std::declval<const Store&>().bounds(
    std::declval<const typename Store::query&>(), index_t{}, index_t{}, std::declval<double*>()));

/// The same of bounds.
template <class Store>
[[nodiscard]] bool can_bound(const Store& store) {
  if constexpr (has<bounds_costs_t, Store>) {
    return store.bounds_costs();
  } else {
    return false;
  }
}

/// The least of some values, +inf of none; eight at a time, since the least of doubles may not be
/// taken in another order by the compiler.
[[nodiscard]] inline double minimum(const double* values, index_t count) noexcept {
  constexpr index_t width = 8;
  double least[width];
  std::fill_n(least, width, std::numeric_limits<double>::infinity());
  index_t i = 0;
  for (; i + width <= count; i += width) {
    for (index_t l = 0; l < width; ++l) {
      least[l] = values[i + l] < least[l] ? values[i + l] : least[l];
    }
  }
  for (; i < count; ++i) least[0] = values[i] < least[0] ? values[i] : least[0];
  return *std::min_element(least, least + width);
}

/// The place of the earliest of the least values; -1 where none is below +inf.
[[nodiscard]] inline index_t earliest_minimum(const double* values, index_t count) noexcept {
  constexpr index_t step = 128;
  double least = std::numeric_limits<double>::infinity();
  index_t from = -1;
  for (index_t i = 0; i < count; i += step) {
    const double here = minimum(values + i, std::min(step, count - i));
    if (!(here < least)) continue;
    least = here;
    from = i;
  }
  return from < 0 ? -1 : std::find(values + from, values + count, least) - values;
}

/// The statistics of many clusters, one after another.
class statistics_block {
 public:
  explicit statistics_block(index_t width) : width_(width) {}

  [[nodiscard]] index_t width() const noexcept { return width_; }
  [[nodiscard]] index_t size() const noexcept { return size_; }
  [[nodiscard]] const double* operator[](index_t i) const noexcept {
    return values_.data() + i * width_;
  }
  [[nodiscard]] double* operator[](index_t i) noexcept { return values_.data() + i * width_; }
  void reserve(index_t n) { values_.reserve(static_cast<std::size_t>(n * width_)); }

  /// Appends an empty cluster; its statistics. Invalidates earlier pointers.
  double* append() {
    values_.resize(values_.size() + static_cast<std::size_t>(width_), 0.0);
    return (*this)[size_++];
  }

  void append_copy(index_t i) {
    append();
    std::copy_n((*this)[i], width_, (*this)[size_ - 1]);
  }

  /// Keeps the named clusters (ascending), in their order.
  void keep(const std::vector<index_t>& kept) {
    index_t to = 0;
    for (const index_t from : kept) {
      if (to != from) std::copy_n((*this)[from], width_, (*this)[to]);
      ++to;
    }
    size_ = to;
    values_.resize(static_cast<std::size_t>(size_ * width_));
  }

 private:
  index_t width_;
  index_t size_ = 0;
  std::vector<double> values_;
};

/// Keeps the named entries (ascending) of any flat column.
template <class T>
void keep_entries(std::vector<T>& column, const std::vector<index_t>& kept) {
  std::size_t to = 0;
  for (const index_t from : kept) column[to++] = column[static_cast<std::size_t>(from)];
  column.resize(to);
}

/// The same for records of `width` entries.
template <class T>
void keep_records(std::vector<T>& column, index_t width, const std::vector<index_t>& kept) {
  auto to = column.begin();
  for (const index_t from : kept) to = std::copy_n(column.begin() + from * width, width, to);
  column.erase(to, column.end());
}

/// The plain store: right for every family, O(width) a score.
template <class Model, class Score>
class cluster_store {
 public:
  struct query {
    std::vector<double> statistics;
    double self = 0.0;
  };

  cluster_store(const Model& model, const table_view& X) : model_(model), clusters_(model.width()) {
    // merged clusters come before dead ones go: see live_clusters
    clusters_.reserve(X.rows() + X.rows() / 8);
    pacer pace;
    for (index_t i = 0; i < X.rows(); ++i) {
      pace(work_a_score());
      double* t = clusters_.append();
      model_.observe(X.row(i), t);
      self_.push_back(Score::self(model_, t));
    }
  }

  [[nodiscard]] index_t slots() const noexcept { return clusters_.size(); }
  [[nodiscard]] index_t query_width() const noexcept { return model_.width() + 1; }

  void load(query& q, index_t slot) const {
    const auto width = model_.width();
    q.statistics.assign(clusters_[slot], clusters_[slot] + width);
    q.self = self_[static_cast<std::size_t>(slot)];
  }

  void row(const query& q, index_t begin, index_t end, double* out) const {
    std::vector<double> scratch(q.statistics.size());
    pacer pace;
    for (index_t s = begin; s < end; ++s) {
      pace(work_a_score());
      out[s - begin] = gain(q, s, scratch.data());
    }
  }

  /// One gain; `scratch` holds width() doubles.
  [[nodiscard]] double gain(const query& q, index_t slot, double* scratch) const {
    return Score::gain(model_, q.statistics.data(), clusters_[slot], q.self,
                       self_[static_cast<std::size_t>(slot)], scratch);
  }

  [[nodiscard]] index_t width() const { return model_.width(); }
  [[nodiscard]] const double* statistics(index_t slot) const noexcept { return clusters_[slot]; }

  index_t merge(index_t a, index_t b) {
    clusters_.append_copy(a);
    double* t = clusters_[clusters_.size() - 1];
    merge_statistics(model_, t, clusters_[b]);
    self_.push_back(Score::self(model_, t));
    return slots() - 1;
  }

  void keep(const std::vector<index_t>& kept) {
    clusters_.keep(kept);
    keep_entries(self_, kept);
  }

 protected:
  /// No family's score costs more than the square of its width.
  [[nodiscard]] index_t work_a_score() const { return model_.width() * model_.width(); }
  [[nodiscard]] const Model& model() const noexcept { return model_; }
  [[nodiscard]] double self(index_t slot) const noexcept {
    return self_[static_cast<std::size_t>(slot)];
  }

 private:
  Model model_;
  statistics_block clusters_;
  std::vector<double> self_;
};

/// The plain store of the bare model, whose optional members the scores look for.
template <class Model, class Score, class = void>
struct store_for {
  using type = cluster_store<typename Model::bare, Score>;
  [[nodiscard]] static type make(const Model& model, const table_view& X) {
    return {model.base(), X};
  }
};

/// A model brings its own store by a nested template `store<Score>`, made from the bare model.
template <class Model, class Score>
struct store_for<Model, Score, std::void_t<typename Model::bare::template store<Score>>> {
  using type = typename Model::bare::template store<Score>;
  [[nodiscard]] static type make(const Model& model, const table_view& X) {
    return {model.base(), X};
  }
};

/// The fastest store the model has for a score.
template <class Score, class Model>
[[nodiscard]] auto make_store(const Model& model, const table_view& X) {
  return store_for<Model, Score>::make(model, X);
}

/// The same for some rows of the table that `whole` was made for.
template <class Score, class Model>
[[nodiscard]] auto make_store_alike(const typename store_for<Model, Score>::type& whole,
                                    const Model& model, const table_view& some) {
  return std::move(*store_alike(whole, model.base(), some));
}

}  // namespace bhclust::detail

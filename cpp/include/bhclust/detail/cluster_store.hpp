/// @file
/// The clusters an algorithm works on, laid out so that one cluster is scored against many in one
/// call. Slots are numbered from 0: first the rows, then merged clusters in order of age.
///
/// A store has
///     store(const Model&, const table_view&)          // rows in slots 0 … n-1
///     index_t slots() const
///     struct query                                    // one cluster made ready; reusable
///     void load(query&, index_t slot) const
///     void row(const query&, index_t begin, index_t end, double* out) const
///                                                     // out[s - begin] = gain(query, s)
///     index_t merge(index_t a, index_t b)             // appends a ∪ b
///     void keep(const std::vector<index_t>& slots)    // forgets the rest, order preserved
/// where gain is the score's (score.hpp). A gain depends on the two clusters alone, never on slots,
/// on the bounds of a call or on other clusters. load and row are safe from several threads; row
/// may share a query. Families replace this plain store with faster ones (`Model::store`).
#pragma once

#include <bhclust/detail/score.hpp>
#include <bhclust/progress.hpp>
#include <bhclust/types.hpp>

#include <algorithm>
#include <utility>
#include <vector>

namespace bhclust::detail {

/// The statistics of many clusters, one after another.
class statistics_block {
 public:
  explicit statistics_block(index_t width) : width_(width) {}

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

/// The plain store: right for every family, O(width) a score.
template <class Model, class Score>
class cluster_store {
 public:
  struct query {
    std::vector<double> statistics;
    double self = 0.0;
  };

  cluster_store(const Model& model, const table_view& X) : model_(model), clusters_(model.width()) {
    clusters_.reserve(X.rows());
    pacer pace;
    for (index_t i = 0; i < X.rows(); ++i) {
      pace(work_a_score());
      double* t = clusters_.append();
      model_.observe(X.row(i), t);
      self_.push_back(Score::self(model_, t));
    }
  }

  [[nodiscard]] index_t slots() const noexcept { return clusters_.size(); }

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

 private:
  /// No family's score costs more than the square of its width.
  [[nodiscard]] index_t work_a_score() const { return model_.width() * model_.width(); }

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

}  // namespace bhclust::detail

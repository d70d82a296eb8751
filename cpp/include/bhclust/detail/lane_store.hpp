/// @file
/// A cluster store whose scores are computed eight clusters at a time.
#pragma once

#include <bhclust/detail/cluster_store.hpp>
#include <bhclust/detail/score.hpp>
#include <bhclust/detail/simd.hpp>
#include <bhclust/progress.hpp>
#include <bhclust/types.hpp>

#include <algorithm>
#include <array>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace bhclust::detail {

/// Records of `fields` doubles in blocks of eight: field by field, eight neighbours side by side.
/// The last block is filled up with zeros.
class lane_table {
 public:
  explicit lane_table(index_t fields) : fields_(fields) {}

  [[nodiscard]] index_t size() const noexcept { return size_; }
  [[nodiscard]] index_t fields() const noexcept { return fields_; }
  /// Field f of the block's lanes begins at [8 f].
  [[nodiscard]] const double* block(index_t b) const noexcept {
    return values_.data() + b * lanes::count * fields_;
  }

  void reserve(index_t n) { values_.reserve(static_cast<std::size_t>((n + 7) / 8 * 8 * fields_)); }

  void append(const double* record) {
    if (size_ % lanes::count == 0) {
      values_.resize(values_.size() + static_cast<std::size_t>(lanes::count * fields_), 0.0);
    }
    double* to = place(size_++);
    for (index_t f = 0; f < fields_; ++f) to[f * lanes::count] = record[f];
  }

  void copy(index_t i, double* record) const noexcept {
    const double* from = block(i / lanes::count) + i % lanes::count;
    for (index_t f = 0; f < fields_; ++f) record[f] = from[f * lanes::count];
  }

  void replace(index_t i, const double* record) noexcept {
    double* to = place(i);
    for (index_t f = 0; f < fields_; ++f) to[f * lanes::count] = record[f];
  }

  /// The record as a lane of a block that begins at `lane`.
  void copy_lane(index_t i, double* lane) const noexcept {
    const double* from = block(i / lanes::count) + i % lanes::count;
    for (index_t f = 0; f < fields_; ++f) lane[f * lanes::count] = from[f * lanes::count];
  }

  /// Keeps the named records (ascending), in their order.
  void keep(const index_t* kept, index_t n) {
    for (index_t to = 0; to < n; ++to) {
      if (kept[to] == to) continue;
      const double* source = block(kept[to] / lanes::count) + kept[to] % lanes::count;
      double* target = place(to);
      for (index_t f = 0; f < fields_; ++f) target[f * lanes::count] = source[f * lanes::count];
    }
    size_ = n;
    const index_t blocks = (n + lanes::count - 1) / lanes::count;
    values_.resize(static_cast<std::size_t>(blocks * lanes::count * fields_));
  }

 private:
  [[nodiscard]] double* place(index_t i) noexcept {
    return values_.data() + i / lanes::count * lanes::count * fields_ + i % lanes::count;
  }

  index_t fields_;
  index_t size_ = 0;
  std::vector<double> values_;
};

/// Rows and clusters in two lane tables. What is in their records is the kernel's affair:
///     Kernel(const Model&, const table_view&)
///     index_t row_fields() const, cluster_fields() const, scratch() const  // in doubles
///     void encode(const row_view&, double* row) const
///     void lift(const double* row, double* cluster) const            // a row as a cluster of one
///     void merge(const double* a, const double* b, double* made) const     // cluster records
///     struct query
///     void load(query&, const double* cluster) const
///     lanes rows(const query&, const double* block, double* scratch) const      // gains
///     lanes clusters(const query&, const double* block, double* scratch) const
template <class Model, class Kernel>
class lane_store {
 public:
  using query = typename Kernel::query;

  lane_store(const Model& model, const table_view& X)
      : kernel_(model, X), rows_(kernel_.row_fields()), clusters_(kernel_.cluster_fields()) {
    std::vector<double> record(static_cast<std::size_t>(rows_.fields()));
    rows_.reserve(X.rows());
    pacer pace;
    for (index_t i = 0; i < X.rows(); ++i) {
      pace(rows_.fields() * rows_.fields());
      kernel_.encode(X.row(i), record.data());
      rows_.append(record.data());
    }
  }

  [[nodiscard]] index_t slots() const noexcept { return rows_.size() + clusters_.size(); }

  void load(query& q, index_t slot) const { kernel_.load(q, cluster(slot).data()); }

  void row(const query& q, index_t begin, index_t end, double* out) const {
    std::vector<double> scratch(static_cast<std::size_t>(kernel_.scratch()));
    const index_t n = rows_.size();
    const index_t split = std::clamp(n, begin, end);
    // A row costs at most the square of its fields, a cluster its fields times a row's.
    const index_t work = lanes::count * rows_.fields();
    sweep(begin, split, out, work * rows_.fields(),
          [&](index_t b) { return kernel_.rows(q, rows_.block(b), scratch.data()); });
    sweep(split - n, end - n, out + (split - begin), work * clusters_.fields(),
          [&](index_t b) { return kernel_.clusters(q, clusters_.block(b), scratch.data()); });
  }

  index_t merge(index_t a, index_t b) {
    std::vector<double> made(static_cast<std::size_t>(clusters_.fields()));
    kernel_.merge(cluster(a).data(), cluster(b).data(), made.data());
    clusters_.append(made.data());
    return slots() - 1;
  }

  void keep(const std::vector<index_t>& kept) {
    const index_t n = rows_.size();
    const auto split = std::lower_bound(kept.begin(), kept.end(), n);
    std::vector<index_t> of_clusters(split, kept.end());
    for (auto& c : of_clusters) c -= n;
    clusters_.keep(of_clusters.data(), static_cast<index_t>(of_clusters.size()));
    rows_.keep(kept.data(), split - kept.begin());
  }

 private:
  [[nodiscard]] std::vector<double> cluster(index_t slot) const {
    std::vector<double> record(static_cast<std::size_t>(clusters_.fields()));
    if (slot >= rows_.size()) {
      clusters_.copy(slot - rows_.size(), record.data());
      return record;
    }
    std::vector<double> row(static_cast<std::size_t>(rows_.fields()));
    rows_.copy(slot, row.data());
    kernel_.lift(row.data(), record.data());
    return record;
  }

  /// Whole blocks, of which only the lanes in [begin, end) are written; `work` is a block's.
  template <class Gains>
  static void sweep(index_t begin, index_t end, double* out, index_t work, const Gains& gains) {
    pacer pace;
    for (index_t s = begin; s < end;) {
      pace(work);
      const index_t b = s / lanes::count;
      const index_t stop = std::min(end, (b + 1) * lanes::count);
      const lanes found = gains(b);
      if (stop - s == lanes::count) {
        found.store(out + (s - begin));
      } else {
        std::array<double, lanes::count> all{};
        found.store(all.data());
        std::copy(all.data() + (s - b * lanes::count), all.data() + (stop - b * lanes::count),
                  out + (s - begin));
      }
      s = stop;
    }
  }

  Kernel kernel_;
  lane_table rows_, clusters_;
};

/// A fast store for the tables it takes (`Fast::takes(model, X)`), a plain one for the rest.
template <class Model, class Kernel, class Plain>
class lane_store_or {
 public:
  using lane = lane_store<Model, Kernel>;
  struct query {
    typename lane::query fast;
    typename Plain::query plain;
  };

  lane_store_or(const Model& model, const table_view& X) : store_(choose(model, X)) {}

  [[nodiscard]] index_t slots() const noexcept {
    return std::visit([](const auto& s) { return s.slots(); }, store_);
  }
  void load(query& q, index_t slot) const {
    visit(q, [&](const auto& store, auto& own) { store.load(own, slot); });
  }
  void row(const query& q, index_t begin, index_t end, double* out) const {
    visit(q, [&](const auto& store, const auto& own) { store.row(own, begin, end, out); });
  }
  index_t merge(index_t a, index_t b) {
    return std::visit([&](auto& s) { return s.merge(a, b); }, store_);
  }
  void keep(const std::vector<index_t>& kept) {
    std::visit([&](auto& s) { s.keep(kept); }, store_);
  }

 private:
  using either = std::variant<lane, Plain>;

  [[nodiscard]] static either choose(const Model& model, const table_view& X) {
    if (Kernel::takes(model, X)) return either(std::in_place_index<0>, model, X);
    return either(std::in_place_index<1>, model, X);
  }

  template <class Query, class F>
  void visit(Query& q, const F& f) const {
    if (const auto* store = std::get_if<0>(&store_)) {
      f(*store, q.fast);
    } else {
      f(*std::get_if<1>(&store_), q.plain);
    }
  }

  either store_;
};

/// Lanes for the evidence, the plain store for other scores.
template <class Model, class Kernel, class Score, class Plain>
using store_of_lanes = std::conditional_t<Score::kind == score_kind::evidence,
                                          lane_store_or<Model, Kernel, Plain>, Plain>;

}  // namespace bhclust::detail

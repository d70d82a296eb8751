/// @file
/// A cluster store whose scores are computed eight clusters at a time.
#pragma once

#include <bhclust/detail/cluster_store.hpp>
#include <bhclust/detail/lane_table.hpp>
#include <bhclust/detail/row_boxes.hpp>
#include <bhclust/detail/rows_of_blocks.hpp>
#include <bhclust/detail/score.hpp>
#include <bhclust/detail/simd.hpp>
#include <bhclust/detail/small_buffer.hpp>
#include <bhclust/detail/store_or.hpp>
#include <bhclust/family.hpp>
#include <bhclust/progress.hpp>
#include <bhclust/types.hpp>

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

namespace bhclust::detail {

/// Rows and clusters in two lane tables. What is in their records is the kernel's affair:
///     Kernel(const Model&, const table_view&)
///     index_t row_fields() const, cluster_fields() const, scratch() const  // in doubles
///     void encode(const row_view&, double* row) const     // or the next
///     void encode_eight(double* block) const      // a block that has the cells of dense rows
///     void lift(const double* row, double* cluster) const            // a row as a cluster of one
///     void merge(const double* a, const double* b, double* made) const     // cluster records
///     void absorb(double* cluster, const double* b) const     // optional, with the next: merge in
///     void finish(double* cluster) const                      // place, but for what finish makes
///     void absorb_row(double* cluster, const double* row) const   // optional: the lifted row's
///     Kernel(const Model&, const table_view&, index_t most)   // optional, with the next two, for
///     static double group_mean(const Model&, const double* t, double* mean)   // groups; its rows,
///                                                             // 0: the group is not taken
///     void encode_group(const Model&, const double* t, double* cluster) const
///     struct query
///     void load(query&, const double* cluster) const
///     void load_row(query&, const double* row) const      // optional: the lifted row's
///     lanes rows(const query&, const double* block, double* scratch) const      // gains, or
///     void rows_of_blocks(const query&, const double* blocks, index_t count, double* scratch,
///                         double* out) const      // those of blocks in a row
///     lanes clusters(const query&, const double* block, double* scratch) const
///     double peak(const query&) const     // optional, with the next: gains of rows exceed their
///     double own(const double* row) const         // own terms by no more
/// A kernel whose row records are coordinates and one term more may search in boxes
/// (row_boxes.hpp).
template <class Kernel>
using aim_t = decltype(&Kernel::aim);
template <class Kernel>
using absorb_t = decltype(&Kernel::absorb);
template <class Kernel>
using absorb_row_t = decltype(&Kernel::absorb_row);
template <class Kernel>
using encode_eight_t = decltype(&Kernel::encode_eight);
template <class Kernel>
using load_row_t = decltype(&Kernel::load_row);
template <class Kernel>
using encode_group_t = decltype(&Kernel::encode_group);

template <class Model, class Kernel>
class lane_store {
 public:
  using query = typename Kernel::query;

  lane_store(const Model& model, const table_view& X)
      : lane_store(kernel_for(model, X), model, X) {}

  /// Of rows of the table that `whole` was made for.
  lane_store(const lane_store& whole, const Model& model, const table_view& some)
      : lane_store(whole.kernel_, model, some) {}

  lane_store(std::shared_ptr<const Kernel> kernel, const Model& model, const table_view& X)
      : lane_store(std::move(kernel)) {
    if (X.grouped()) {
      add_groups(model, X);
      return;
    }
    if constexpr (has<encode_eight_t, Kernel>) {
      add_rows_by_eights(X);
    } else {
      add_rows(X);
    }
  }

  lane_store(const lane_store& whole, const std::vector<index_t>& slots)
      : lane_store(whole.kernel_) {
    rows_.reserve(static_cast<index_t>(slots.size()));
    for (const index_t slot : slots) rows_.append_from(whole.rows_, slot);
  }
  /// Groups have records of clusters.
  [[nodiscard]] bool lends_rows() const noexcept { return rows_.size() > 0; }

  [[nodiscard]] static bool takes(const Model& model, const table_view& X) {
    if (!X.grouped()) return Kernel::takes(model, X);
    if constexpr (has<encode_group_t, Kernel>) {
      return takes_groups(model, X);
    } else {
      return false;
    }
  }
  [[nodiscard]] index_t slots() const noexcept { return rows_.size() + clusters_.size(); }

  void load(query& q, index_t slot) const {
    small_buffer record(clusters_.fields());
    load_record(q, slot, record.data());
    if constexpr (has<aim_t, Kernel>) {
      if (boxes_) kernel_->aim(q, boxes_->reach());
    }
  }

  /// No kernel's queries are more than a few of its records, but for what aiming them adds.
  [[nodiscard]] index_t query_width() const noexcept { return 4 * clusters_.fields() + 32; }

  [[nodiscard]] bool has_peaks() const noexcept { return has<peak_t, Kernel> && rows_.size() > 0; }
  template <class K = Kernel, class = peak_t<K>>
  [[nodiscard]] double peak(const query& q) const {
    return kernel_->peak(q);
  }
  template <class K = Kernel, class = peak_t<K>>
  [[nodiscard]] double own(index_t slot) const {
    small_buffer record(rows_.fields());
    rows_.copy(slot, record.data());
    return kernel_->own(record.data());
  }

  void prepare_searches() {
    if (std::exchange(searching_, true)) return;
    if constexpr (has<aim_t, Kernel>) {
      const index_t coordinates = rows_.fields() - 1;
      if (rows_.size() < fewest_in_boxes || coordinates > Kernel::most_coordinates) return;
      if (!worth_boxes(boxes_.emplace(*kernel_, rows_))) boxes_.reset();
    }
  }

  /// Whether most searches pass over most rows.
  [[nodiscard]] bool searches() const noexcept { return boxes_.has_value(); }

  void search(const query& q, index_t begin, index_t end, const cost_offsets& offset,
              cheapest& best) const {
    small_buffer scratch(kernel_->scratch());
    const index_t n = rows_.size();
    const index_t split = std::clamp(n, begin, end);
    search_clusters(q, split, end, offset, best, scratch.data());
    if constexpr (has<aim_t, Kernel>) {
      if (boxes_) boxes_->search(*kernel_, q, begin, split, offset.row(), best, scratch.data());
    }
  }

  void retire(index_t slot) {
    if constexpr (has<aim_t, Kernel>) {
      if (boxes_ && slot < rows_.size()) boxes_->retire(*kernel_, slot);
    }
  }

  void row(const query& q, index_t begin, index_t end, double* out) const {
    small_buffer scratch(kernel_->scratch());
    const index_t n = rows_.size();
    const index_t split = std::clamp(n, begin, end);
    // A row costs at most the square of its fields, a cluster its fields times a row's.
    const index_t work = lanes::count * rows_.fields();
    sweep(begin, split, out, work * rows_.fields(), [&](index_t b, index_t count, double* gains) {
      rows_of_blocks(*kernel_, q, rows_.block(b), count, scratch.data(), gains);
    });
    sweep(split - n, end - n, out + (split - begin), work * clusters_.fields(),
          [&](index_t b, index_t count, double* gains) {
            for (index_t i = 0; i < count; ++i) {
              kernel_->clusters(q, clusters_.block(b + i), scratch.data())
                  .store(gains + i * lanes::count);
            }
          });
  }

  index_t merge(index_t a, index_t b) {
    small_buffer first(clusters_.fields()), second(clusters_.fields()), made(clusters_.fields());
    copy_cluster(a, first.data());
    copy_cluster(b, second.data());
    kernel_->merge(first.data(), second.data(), made.data());
    clusters_.append(made.data());
    return slots() - 1;
  }

  index_t merge_all(index_t a, const std::vector<index_t>& others) {
    if constexpr (has<absorb_t, Kernel>) {
      if (others.empty()) return a;
      small_buffer made(clusters_.fields()), other(clusters_.fields());
      copy_cluster(a, made.data());
      for (const index_t b : others) absorb(made.data(), b, other.data());
      kernel_->finish(made.data());
      clusters_.append(made.data());
      return slots() - 1;
    } else {
      for (const index_t b : others) a = merge(a, b);
      return a;
    }
  }

  void keep(const std::vector<index_t>& kept) {
    const index_t n = rows_.size();
    const auto split = std::lower_bound(kept.begin(), kept.end(), n);
    std::vector<index_t> of_clusters(split, kept.end());
    for (auto& c : of_clusters) c -= n;
    clusters_.keep(of_clusters.data(), static_cast<index_t>(of_clusters.size()));
    rows_.keep(kept.data(), split - kept.begin());
    if constexpr (has<aim_t, Kernel>) {
      if (!boxes_) return;
      if (rows_.size() == 0) {
        boxes_.reset();
        return;
      }
      boxes_->keep(*kernel_, kept.data(), rows_.size(), rows_);
      if (!worth_boxes(*boxes_)) boxes_.reset();
    }
  }

 private:
  /// Of nothing.
  explicit lane_store(std::shared_ptr<const Kernel> kernel)
      : kernel_(std::move(kernel)),
        rows_(kernel_->row_fields()),
        clusters_(kernel_->cluster_fields()) {}

  /// Kernels tabulate terms of every size, which is to cost no more than the scores do.
  [[nodiscard]] static bool takes_groups(const Model& model, const table_view& X) {
    constexpr index_t most_rows = 4194304;
    const index_t rows = X.total_weight();
    if (rows > most_rows || rows / X.rows() > X.rows()) return false;
    const auto means = means_of(model, X);
    return !means.empty() &&
           Kernel::takes(model, bhclust::rows(means.data(), X.rows(), X.columns()));
  }

  /// Of groups, row after row; nothing where the kernel does not take them all.
  [[nodiscard]] static std::vector<double> means_of(const Model& model, const table_view& X) {
    std::vector<double> means(static_cast<std::size_t>(X.rows() * X.columns()));
    pacer pace;
    for (index_t i = 0; i < X.rows(); ++i) {
      pace(X.width() * X.columns());
      const double n = Kernel::group_mean(model, X.row(i).values(), means.data() + i * X.columns());
      if (n == 0.0) return {};
    }
    return means;
  }

  [[nodiscard]] static std::shared_ptr<const Kernel> kernel_for(const Model& model,
                                                                const table_view& X) {
    if constexpr (has<encode_group_t, Kernel>) {
      if (X.grouped()) {
        const auto means = means_of(model, X);
        const auto places = bhclust::rows(means.data(), X.rows(), X.columns());
        return std::make_shared<const Kernel>(model, places, X.total_weight());
      }
    }
    return std::make_shared<const Kernel>(model, X);
  }

  /// `record` is work space.
  void absorb(double* made, index_t slot, double* record) const {
    if constexpr (has<absorb_row_t, Kernel>) {
      if (slot < rows_.size()) {
        rows_.copy(slot, record);
        kernel_->absorb_row(made, record);
        return;
      }
    }
    copy_cluster(slot, record);
    kernel_->absorb(made, record);
  }

  void add_rows(const table_view& X) {
    std::vector<double> record(static_cast<std::size_t>(rows_.fields()));
    rows_.reserve(X.rows());
    pacer pace;
    for (index_t i = 0; i < X.rows(); ++i) {
      pace(rows_.fields() * rows_.fields());
      kernel_->encode(X.row(i), record.data());
      rows_.append(record.data());
    }
  }

  void add_rows_by_eights(const table_view& X) {
    constexpr index_t w = lanes::count;
    rows_.assign_blocks(X.rows());
    pacer pace;
    for (index_t first = 0; first < X.rows(); first += w) {
      pace(w * rows_.fields() * rows_.fields());
      double* block = rows_.block(first / w);
      const index_t count = std::min(w, X.rows() - first);
      for (index_t i = 0; i < count; ++i) {
        const row_view row = X.row(first + i);
        for (index_t j = 0; j < X.columns(); ++j) block[j * w + i] = row.value(j);
      }
      kernel_->encode_eight(block);
      for (index_t i = count; i < w; ++i) {
        for (index_t f = 0; f < rows_.fields(); ++f) block[f * w + i] = 0.0;
      }
    }
  }

  void load_record(query& q, index_t slot, double* record) const {
    if constexpr (has<load_row_t, Kernel>) {
      if (slot < rows_.size()) {
        rows_.copy(slot, record);
        kernel_->load_row(q, record);
        return;
      }
    }
    copy_cluster(slot, record);
    kernel_->load(q, record);
  }

  void add_groups(const Model& model, const table_view& X) {
    if constexpr (has<encode_group_t, Kernel>) {
      std::vector<double> record(static_cast<std::size_t>(clusters_.fields()));
      clusters_.reserve(X.rows());
      pacer pace;
      for (index_t i = 0; i < X.rows(); ++i) {
        pace(X.width() * X.columns());
        kernel_->encode_group(model, X.row(i).values(), record.data());
        clusters_.append(record.data());
      }
    }
  }

  /// Fewer rows are swept as fast.
  static constexpr index_t fewest_in_boxes = 128;

  /// Tries the searches of a few slots: the youngest clusters, as those to come are like them, or
  /// rows while there are none.
  template <class Boxes>
  [[nodiscard]] bool worth_boxes(const Boxes& boxes) const {
    constexpr index_t few = 4;
    constexpr index_t worth = 3;  ///< a box costs more than its rows would
    const bool young = clusters_.size() > 0;
    const index_t trials = young ? std::min(few, clusters_.size()) : 4 * few;
    query q;
    small_buffer scratch(kernel_->scratch());
    index_t scored = rows_.size() < fewest_in_boxes ? trials * rows_.size() : 0;
    for (index_t t = 0; t < trials; ++t) {
      const index_t slot = young ? slots() - 1 - t : (2 * t + 1) * slots() / (2 * trials);
      cheapest best;
      load(q, slot);
      scored += boxes.search(*kernel_, q, 0, rows_.size(), 0.0, best, scratch.data());
    }
    return scored * worth <= trials * rows_.size();
  }

  void search_clusters(const query& q, index_t begin, index_t end, const cost_offsets& offset,
                       cheapest& best, double* scratch) const {
    const index_t n = rows_.size();
    pacer pace;
    for (index_t s = begin; s < end;) {
      pace(lanes::count * rows_.fields() * clusters_.fields());
      const index_t first = (s - n) / lanes::count * lanes::count + n;
      const index_t stop = std::min(end, first + lanes::count);
      std::array<double, lanes::count> gain{};
      kernel_->clusters(q, clusters_.block((first - n) / lanes::count), scratch).store(gain.data());
      for (; s < stop; ++s) {
        best.take(offset(s) - gain[static_cast<std::size_t>(s - first)], s);
      }
    }
  }

  void copy_cluster(index_t slot, double* record) const {
    if (slot >= rows_.size()) {
      clusters_.copy(slot - rows_.size(), record);
      return;
    }
    small_buffer row(rows_.fields());
    rows_.copy(slot, row.data());
    kernel_->lift(row.data(), record);
  }

  /// Calls gains(block, count, out) for whole blocks, of which only the lanes in [begin, end) are
  /// written; `work` is a block's.
  template <class Gains>
  static void sweep(index_t begin, index_t end, double* out, index_t work, const Gains& gains) {
    constexpr index_t w = lanes::count;
    constexpr index_t at_once = 64;
    pacer pace;
    for (index_t s = begin; s < end;) {
      const index_t b = s / w;
      if (s % w == 0 && s + w <= end) {
        const index_t count = std::min(at_once, (end - s) / w);
        pace(count * work);
        gains(b, count, out + (s - begin));
        s += count * w;
        continue;
      }
      const index_t stop = std::min(end, (b + 1) * w);
      double eight[w];
      pace(work);
      gains(b, 1, eight);
      std::copy(eight + (s - b * w), eight + (stop - b * w), out + (s - begin));
      s = stop;
    }
  }

  std::shared_ptr<const Kernel> kernel_;
  lane_table rows_, clusters_;
  std::optional<row_boxes> boxes_;
  bool searching_ = false;
};

/// A store of lanes for the tables its kernel takes, a plain one for the rest.
template <class Model, class Kernel, class Plain>
using lane_store_or = store_or<lane_store<Model, Kernel>, Plain>;

/// Lanes for the evidence, the plain store for other scores.
template <class Model, class Kernel, class Score, class Plain>
using store_of_lanes = std::conditional_t<Score::kind == score_kind::evidence,
                                          lane_store_or<Model, Kernel, Plain>, Plain>;

}  // namespace bhclust::detail

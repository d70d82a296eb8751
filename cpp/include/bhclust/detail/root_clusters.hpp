/// @file
/// Clusters whose divergence exceeds Ward's cost between the roots of their means.
#pragma once

#include <bhclust/detail/equal_rows.hpp>
#include <bhclust/detail/nearest_lists.hpp>
#include <bhclust/detail/root_screen.hpp>
#include <bhclust/detail/simd.hpp>
#include <bhclust/detail/ward_clusters.hpp>
#include <bhclust/detail/ward_points.hpp>
#include <bhclust/progress.hpp>
#include <bhclust/types.hpp>

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

namespace bhclust::detail {

/// Clusters in slots as ward_clusters has them: points √u, sizes w (root_screen.hpp), and beside
/// them the statistics that d* is computed from. Nothing says that d* is reducible.
template <class Model>
class root_clusters {
  using screen = root_screen<Model>;

 public:
  static constexpr bool is_ward = false;
  using screened = typename screen::query;

  root_clusters(const Model& model, const table_view& X)
      : model_(model),
        screen_(model, X),
        width_(model.width()),
        fields_(screen_.fields()),
        d_(fields_ - screen::point) {}

  [[nodiscard]] index_t columns() const noexcept { return d_; }
  [[nodiscard]] index_t slots() const noexcept { return static_cast<index_t>(node_.size()); }
  [[nodiscard]] index_t live() const noexcept { return live_; }
  [[nodiscard]] const double* mean(index_t slot) const noexcept {
    return record(slot) + screen::point;
  }
  [[nodiscard]] double size(index_t slot) const noexcept { return *record(slot); }
  [[nodiscard]] ward_id node(index_t slot) const noexcept { return node_[at(slot)]; }
  [[nodiscard]] bool occupied(index_t slot) const noexcept { return node(slot) >= 0; }
  [[nodiscard]] double rounding() const noexcept { return rounding_; }
  [[nodiscard]] index_t scratch() const noexcept { return lanes::count * fields_; }

  /// The model's d*, asked with the older node first.
  [[nodiscard]] double cost(index_t a, index_t b) const {
    if (node(b) < node(a)) std::swap(a, b);
    std::vector<double> scratch(needs_scratch ? at(width_) : 0);
    return model_.divergence(statistics(a), statistics(b), scratch.data());
  }

  /// For each column what its (√u_0 - √u_1)² n m / (n + m) counts for at least in a d* of `most` or
  /// less, given the range of the others' 1/n. A column's part of d* is a mean of 1/z over a
  /// triangle between u_0 and u_1 whose peak is their pooled mean; by Jensen's inequality that
  /// exceeds
  ///     2 / (1 + x² + 2/3 (1 - 2a) x),  x = |√u_0 - √u_1| / (√u_0 + √u_1),
  /// with a the smaller's share of both sizes, and x can't be large where the part is below `most`.
  void weights(index_t slot, double most, double largest_inverse, double smallest_inverse,
               float* out) const noexcept {
    const double own = 1.0 / size(slot);
    const auto share_with = [own](double other) { return std::min(own, other) / (own + other); };
    const double share = std::min(share_with(largest_inverse), share_with(smallest_inverse));
    const double least = 1.0 + share * (share * (share * 0.25 + 1.0 / 3.0) + 0.5);
    const double apart =
        std::sqrt(most * (own + largest_inverse) / least) * slightly_more + std::sqrt(rounding_);
    const double slope = 2.0 / 3.0 * (1.0 - 2.0 * share);
    const double* root = mean(slot);
    for (index_t j = 0; j < d_; ++j) {
      const double x = apart < root[j] ? apart / (2.0 * root[j] - apart) : 1.0;
      const double close = 2.0 / (1.0 + x * (x + slope));
      out[j] = static_cast<float>(std::max(close, least) * slightly_less);
    }
  }

  void load(screened& q, index_t slot) const { screen_.load(q, record(slot)); }

  /// Raises what is known of the costs of at most 8 slots, which are named by `of`.
  /// `block` holds scratch() doubles.
  void bounds(const screened& q, ward_neighbour* of, index_t n, double* block) const {
    constexpr index_t width = lanes::count;
    for (index_t l = 0; l < width; ++l) {
      const double* from = record(of[std::min(l, n - 1)].node);
      for (index_t f = 0; f < fields_; ++f) block[f * width + l] = from[f];
    }
    double least[width];
    screen_.tighter(q, block, nullptr).store(least);
    for (index_t l = 0; l < n; ++l) of[l].cost = std::max(least[l], 0.0);
  }

  void append(const row_view& row, ward_id node) {
    statistics_.resize(statistics_.size() + at(width_), 0.0);
    record_.resize(record_.size() + at(fields_));
    node_.push_back(node);
    model_.observe(row, statistics(slots() - 1));
    encode(slots() - 1);
    ++live_;
  }

  /// The same row once more.
  void repeat(index_t slot, const row_view& row) {
    std::vector<double> t(at(width_), 0.0);
    model_.observe(row, t.data());
    model_.merge(statistics(slot), t.data());
  }
  void rename(index_t slot, ward_id node) noexcept {
    node_[at(slot)] = node;
    encode(slot);
  }

  /// As for ward_clusters.
  void join(index_t a, index_t b, ward_id made) {
    model_.merge(statistics(a), statistics(b));
    encode(a);
    node_[at(a)] = made;
    node_[at(b)] = -1;
  }
  void lower_live(index_t by) noexcept { live_ -= by; }
  void vacate(index_t slot) noexcept {
    node_[at(slot)] = -1;
    --live_;
  }
  void keep(const std::vector<index_t>& kept) {
    keep_records(record_, fields_, kept);
    keep_records(statistics_, width_, kept);
    keep_entries(node_, kept);
  }
  void reorder(const std::vector<ward_id>& order) {
    ward_clusters::reorder_entries(record_, order, fields_);
    ward_clusters::reorder_entries(statistics_, order, width_);
    ward_clusters::reorder_entries(node_, order, 1);
  }

  /// Once all rows are there: roots are off by 1e-16 of themselves (root_screen.hpp).
  void measure() {
    double most = 0.0;
    for (index_t s = 0; s < slots(); ++s) most = std::max(most, record(s)[1]);
    rounding_ = 2.0 * most;
  }

 private:
  static constexpr double slightly_more = 1.0 + 1e-5;
  static constexpr double slightly_less = 1.0 - 1e-5;
  static constexpr bool needs_scratch = !has<divergence_t, typename Model::bare>;

  [[nodiscard]] static std::size_t at(index_t i) noexcept { return static_cast<std::size_t>(i); }
  [[nodiscard]] const double* record(index_t slot) const noexcept {
    return record_.data() + slot * fields_;
  }
  [[nodiscard]] const double* statistics(index_t slot) const noexcept {
    return statistics_.data() + slot * width_;
  }
  [[nodiscard]] double* statistics(index_t slot) noexcept {
    return statistics_.data() + slot * width_;
  }
  void encode(index_t slot) { screen_.encode(statistics(slot), record_.data() + slot * fields_); }

  Model model_;
  screen screen_;
  index_t width_, fields_, d_;
  index_t live_ = 0;
  double rounding_ = 0.0;
  std::vector<double> record_, statistics_;
  std::vector<ward_id> node_;
};

/// A table as clusters of equal rows, joined as those of ward_points are.
template <class Model>
class root_points {
 public:
  /// Whether d* is to be had by root_screen, no cluster without weight, squares in range.
  [[nodiscard]] static bool takes(const Model& model, const table_view& X) {
    constexpr double largest = 1e12;
    if (model.smoothed_means_size() == 0) return false;
    if (!screenable(X, model.width(), [](double x) { return x < largest; })) return false;
    std::vector<double> t(static_cast<std::size_t>(model.width()));
    std::vector<double> u(static_cast<std::size_t>(model.smoothed_means_size()));
    pacer pace;
    for (index_t i = 0; i < X.rows(); ++i) {
      pace(8 * model.width());
      std::fill(t.begin(), t.end(), 0.0);
      model.observe(X.row(i), t.data());
      if (!(model.smoothed_means(t.data(), u.data()) > 0.0)) return false;
    }
    return true;
  }

  root_points(const Model& model, const table_view& X) : clusters_(model, X) {
    const equal_rows equal(X);
    pacer pace;
    for (index_t i = 0; i < X.rows(); ++i) {
      pace(8 * model.width());
      const index_t group = equal.group_of_row()[static_cast<std::size_t>(i)];
      if (group == clusters_.slots()) {
        clusters_.append(X.row(i), static_cast<ward_id>(i));
      } else {
        clusters_.repeat(group, X.row(i));
      }
    }
    if (equal.groups() < X.rows()) join(equal);
    clusters_.measure();
  }

  [[nodiscard]] static double cost_unit() noexcept { return 1.0; }
  [[nodiscard]] std::vector<ward_merge> take_merges() noexcept { return std::move(merges_); }
  [[nodiscard]] root_clusters<Model> take_clusters() noexcept { return std::move(clusters_); }

 private:
  void join(const equal_rows& equal) {
    join_equal_rows(
        equal.group_of_row(), equal.groups(),
        [&](index_t a, index_t b) {
          merges_.push_back({static_cast<ward_id>(a), static_cast<ward_id>(b), 0.0});
        },
        [&](index_t slot, index_t node, index_t) {
          clusters_.rename(slot, static_cast<ward_id>(node));
        });
  }

  root_clusters<Model> clusters_;
  std::vector<ward_merge> merges_;
};

}  // namespace bhclust::detail

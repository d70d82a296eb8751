/// @file
/// A tree of boxes over leaves of eight panels.
#pragma once

#include <bhclust/detail/kd_order.hpp>
#include <bhclust/types.hpp>

#include <algorithm>
#include <vector>

namespace bhclust::detail {

/// In preorder: a box, all of its left half, all of its right half. It follows kd_order.
class box_tree {
 public:
  explicit box_tree(index_t columns) : d_(columns) {}

  /// The tree over so many panels; its boxes are to be filled.
  void lay_out(index_t panels) {
    const index_t leaves = (panels + panels_together - 1) / panels_together;
    panels_ = panels;
    right_.resize(at(std::max<index_t>(2 * leaves - 1, 0)));
    inverse_most_.resize(right_.size());
    box_.resize(right_.size() * at(2 * d_));
    region_begins_.clear();
    std::vector<run> open;
    if (panels > 0) open.push_back({0, 0, panels, false});
    while (!open.empty()) {
      const run next = open.back();
      open.pop_back();
      divide(next, open);
    }
    leaf_.resize(at(leaves));
    for (index_t b = 0; b < boxes(); ++b) {
      if (right_[at(b)] < 0) leaf_[at(leaf(b))] = b;
    }
  }

  [[nodiscard]] index_t boxes() const noexcept { return static_cast<index_t>(right_.size()); }
  /// d lower ends, then d upper ones.
  [[nodiscard]] const double* low(index_t box) const noexcept { return box_.data() + 2 * box * d_; }
  /// The largest 1/n in a box.
  [[nodiscard]] double inverse_most(index_t box) const noexcept { return inverse_most_[at(box)]; }
  /// The halves of a box; the right one is negative for a leaf.
  [[nodiscard]] static index_t left(index_t box) noexcept { return box + 1; }
  [[nodiscard]] index_t right(index_t box) const noexcept { return right_[at(box)]; }
  /// Which leaf a box is.
  [[nodiscard]] index_t leaf(index_t box) const noexcept { return -1 - right_[at(box)]; }
  /// The first panels of its subtrees of up to 16.
  [[nodiscard]] const std::vector<index_t>& region_begins() const noexcept {
    return region_begins_;
  }

  /// fill(leaf, low) writes a leaf's box and returns its largest 1/n.
  template <class Fill>
  void fill(index_t leaf, const Fill& fill) {
    const index_t box = leaf_[at(leaf)];
    inverse_most_[at(box)] = fill(leaf, box_.data() + 2 * box * d_);
  }

  /// All boxes from those of the leaves.
  void enclose_all() {
    for (index_t b = boxes() - 1; b >= 0; --b) enclose(b);
  }

  /// The boxes above a panel.
  void enclose_over(index_t panel) {
    path_.clear();
    index_t first = 0;
    index_t count = panels_;
    for (index_t b = 0; count > panels_together;) {
      path_.push_back(b);
      const index_t half = left_panels(count);
      const bool is_right = panel >= first + half;
      b = is_right ? right(b) : left(b);
      first += is_right ? half : 0;
      count = is_right ? count - half : half;
    }
    for (; !path_.empty(); path_.pop_back()) enclose(path_.back());
  }

 private:
  struct run {
    index_t box, first, count;
    bool in_region;
  };
  static constexpr index_t panels_a_region = 16;

  [[nodiscard]] static std::size_t at(index_t i) noexcept { return static_cast<std::size_t>(i); }

  void divide(run r, std::vector<run>& open) {
    if (!r.in_region && r.count <= panels_a_region) {
      region_begins_.push_back(r.first);
      r.in_region = true;
    }
    if (r.count <= panels_together) {
      right_[at(r.box)] = -1 - r.first / panels_together;
      return;
    }
    const index_t half = left_panels(r.count);
    right_[at(r.box)] = r.box + half / panels_together * 2;
    open.push_back({right(r.box), r.first + half, r.count - half, r.in_region});
    open.push_back({left(r.box), r.first, half, r.in_region});
  }

  /// A box around its two halves.
  void enclose(index_t box) {
    if (right(box) < 0) return;
    double* to = box_.data() + 2 * box * d_;
    const double* a = low(left(box));
    const double* b = low(right(box));
    for (index_t j = 0; j < d_; ++j) {
      to[j] = std::min(a[j], b[j]);
      to[d_ + j] = std::max(a[d_ + j], b[d_ + j]);
    }
    inverse_most_[at(box)] = std::max(inverse_most(left(box)), inverse_most(right(box)));
  }

  index_t d_;
  index_t panels_ = 0;
  std::vector<double> box_;           ///< d lower, d upper ends
  std::vector<double> inverse_most_;  ///< of a box
  std::vector<index_t> right_;        ///< the right half of a box; -1 - leaf of a leaf
  std::vector<index_t> leaf_;         ///< the box of a leaf
  std::vector<index_t> region_begins_;
  std::vector<index_t> path_;
};

}  // namespace bhclust::detail

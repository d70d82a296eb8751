/// @file
/// What exact nearest-neighbour search in Ward's cost goes by: panels of neighbouring clusters in
/// float32 and in bytes, under a tree of boxes.
#pragma once

#include <bhclust/detail/box_tree.hpp>
#include <bhclust/detail/byte_panels.hpp>
#include <bhclust/detail/leaf_boxes.hpp>
#include <bhclust/detail/panel_floats.hpp>
#include <bhclust/detail/parallel.hpp>
#include <bhclust/progress.hpp>
#include <bhclust/types.hpp>

#include <algorithm>
#include <vector>

namespace bhclust::detail {

/// Slots in panels of 48. A panel holds float32 coordinates counted from its own centre and 1/n,
/// which find what may be near; every such cluster is scored again in float64 from differences, so
/// that results depend on neither the panels nor the instruction set.
///
/// Where d* is not Ward's cost of the points that `Clusters` gives, the columns' squares count at
/// least as much as `Clusters::weights` says, given what a search has found (root_clusters.hpp),
/// and whatever may be near goes through the clusters' own bounds before it is scored.
template <class Clusters>
class kd_panels {
 public:
  static constexpr index_t width = panel_width;

  explicit kd_panels(const Clusters& clusters)
      : clusters_(clusters),
        tree_(clusters.columns()),
        leaves_(clusters),
        floats_(clusters),
        bytes_(clusters) {}

  [[nodiscard]] index_t panels() const noexcept { return leaves_.panels(); }

  /// Panels and boxes of all slots.
  void rebuild(thread_team& team, progress_meter& progress) {
    const index_t count = (clusters_.slots() + width - 1) / width;
    if (count != panels()) {
      tree_.lay_out(count);
      leaves_.resize(count);
      floats_.resize(count);
    }
    constexpr index_t share = 8;
    const index_t leaves = leaves_.leaves();
    team.run((leaves + share - 1) / share,
             [&](int, index_t c) {
               for (index_t k = c * share; k < std::min(leaves, (c + 1) * share); ++k) {
                 for (index_t p = k * panels_together; p < leaves_.end(k); ++p) fill(p);
                 put_together(k);
               }
             },
             [&] { progress.tick(); });
    tree_.enclose_all();
    smallest_inverse_ = leaves_.inverse_least();
    if (with_bytes_) fill_bytes(team, progress);
  }

  /// From now on panels are kept in bytes as well, or no longer. `flat`: for searches that look
  /// into all of them.
  void use_bytes(bool use, bool flat, thread_team& team, progress_meter& progress) {
    with_bytes_ = Clusters::is_ward && use && byte_panels<Clusters>::takes(clusters_.columns());
    one_region_ = flat;
    bytes_.clear();
    if (with_bytes_) fill_bytes(team, progress);
  }
  [[nodiscard]] bool with_bytes() const noexcept { return with_bytes_; }

  /// After a change of one slot.
  void refresh(index_t slot) {
    const index_t panel = slot / width;
    fill(panel);
    put_together(panel / panels_together);
    smallest_inverse_ = std::min(smallest_inverse_, leaves_.inverse_least(panel));
    if (with_bytes_) bytes_.refresh(panel);
    tree_.enclose_over(panel);
  }

  [[nodiscard]] const Clusters& clusters() const noexcept { return clusters_; }
  [[nodiscard]] const box_tree& tree() const noexcept { return tree_; }
  [[nodiscard]] const leaf_boxes<Clusters>& leaves() const noexcept { return leaves_; }
  [[nodiscard]] const panel_floats<Clusters>& floats() const noexcept { return floats_; }
  [[nodiscard]] const byte_panels<Clusters>& bytes() const noexcept { return bytes_; }
  /// No cluster has a smaller 1/n.
  [[nodiscard]] double smallest_inverse() const noexcept { return smallest_inverse_; }

 private:
  void fill(index_t panel) {
    leaves_.bound(panel);
    floats_.fill(panel, leaves_.box(panel));
  }

  void put_together(index_t leaf) {
    tree_.fill(leaf, [&](index_t of, double* low) { return leaves_.put_together(of, low); });
  }

  void fill_bytes(thread_team& team, progress_meter& progress) {
    bytes_.rebuild(one_region_ ? std::vector<index_t>{0} : tree_.region_begins(), team, progress);
  }

  const Clusters& clusters_;
  box_tree tree_;
  leaf_boxes<Clusters> leaves_;
  panel_floats<Clusters> floats_;
  byte_panels<Clusters> bytes_;
  double smallest_inverse_ = 0.0;
  bool with_bytes_ = false, one_region_ = false;
};

}  // namespace bhclust::detail

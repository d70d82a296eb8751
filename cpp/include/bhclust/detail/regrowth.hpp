/// @file
/// The part of a tree above its most probable clusters, grown anew by greedy BHC.
#pragma once

#include <bhclust/detail/likeliest_clusters.hpp>
#include <bhclust/detail/mutable_tree.hpp>
#include <bhclust/progress.hpp>
#include <bhclust/types.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>
#include <utility>
#include <vector>

namespace bhclust::detail {

/// Splits between well separated clusters weigh next to nothing in the evidence, so moves that ask
/// the evidence alone leave them as they came; yet they decide every cut into fewer clusters. Below
/// each root the nodes of the most probable partition are merged as greedy BHC merges clusters: the
/// pair with the smallest log d first, of equal pairs the one with the older newer cluster, then
/// the older older one. O(k²) marginal likelihoods and memory O(k) for k clusters.
template <class Model>
class regrowth {
 public:
  explicit regrowth(mutable_tree<Model>& t) : tree_(t), clusters_of_(t) {}

  /// Roots with more clusters than `most` are left alone, and so are those whose log p̃_T would
  /// fall by more than rounding.
  void run(index_t most, progress_meter& progress) {
    clusters_of_.mark_all();
    for (index_t k = 0; k < tree_.nodes(); ++k) {
      if (tree_.parent(k) < 0) improve(k, most, progress);
    }
  }

 private:
  struct cluster {
    index_t node;
    bool alive;
    double log_d;     ///< with the best of the older clusters
    index_t partner;  ///< its place in the list; -1 for none
  };

  [[nodiscard]] static std::size_t at(index_t k) noexcept { return static_cast<std::size_t>(k); }

  void improve(index_t root, index_t most, progress_meter& progress) {
    collect(root);
    if (static_cast<index_t>(clusters_.size()) > most || clusters_.size() < 3) return;
    const double before = tree_.log_t(root);
    std::vector<std::tuple<index_t, index_t, index_t>> links;
    for (const index_t k : freed_) links.emplace_back(k, tree_.left(k), tree_.right(k));
    grow(progress);
    if (tree_.log_t(root) >= before - 1e-12 * std::max(1.0, std::fabs(before))) return;
    std::reverse(links.begin(), links.end());
    for (const auto& [k, l, r] : links) {
      tree_.set_children(k, l, r);
      tree_.update(k);
    }
  }

  /// The clusters below a root in order of their nodes, and the nodes above them, parents first.
  void collect(index_t root) {
    clusters_.clear();
    freed_.clear();
    std::vector<index_t> pending{root}, found;
    while (!pending.empty()) {
      const index_t k = pending.back();
      pending.pop_back();
      if (clusters_of_.whole(k)) {
        found.push_back(k);
        continue;
      }
      freed_.push_back(k);
      pending.push_back(tree_.left(k));
      pending.push_back(tree_.right(k));
    }
    std::sort(found.begin(), found.end());
    for (const index_t k : found) clusters_.push_back({k, true, 0.0, -1});
  }

  /// The root keeps its node: the freed nodes are used from the last to the first.
  void grow(progress_meter& progress) {
    for (std::size_t i = 1; i < clusters_.size(); ++i) {
      propose(static_cast<index_t>(i));
      progress.tick();
    }
    for (auto free = freed_.rbegin(); free != freed_.rend(); ++free) {
      const index_t newer = cheapest();
      cluster& a = clusters_[at(newer)];
      cluster& b = clusters_[at(a.partner)];
      a.alive = b.alive = false;
      tree_.set_children(*free, b.node, a.node);
      tree_.update(*free);
      clusters_.push_back({*free, true, 0.0, -1});
      propose(static_cast<index_t>(clusters_.size()) - 1);
      progress.tick();
    }
  }

  void propose(index_t newer) {
    cluster& a = clusters_[at(newer)];
    a.partner = -1;
    a.log_d = std::numeric_limits<double>::infinity();
    for (index_t i = 0; i < newer; ++i) {
      const cluster& b = clusters_[at(i)];
      if (!b.alive) continue;
      const double log_d =
          tree_.log_t(a.node) + tree_.log_t(b.node) - tree_.log_h_of_union(b.node, a.node);
      if (a.partner < 0 || log_d < a.log_d) {
        a.partner = i;
        a.log_d = log_d;
      }
    }
  }

  /// The cluster whose pair has the smallest log d; a stale one is searched again when it leads.
  [[nodiscard]] index_t cheapest() {
    while (true) {
      index_t best = -1;
      for (index_t i = 0; i < static_cast<index_t>(clusters_.size()); ++i) {
        const cluster& c = clusters_[at(i)];
        if (!c.alive || c.partner < 0) continue;
        if (best < 0 || c.log_d < clusters_[at(best)].log_d) best = i;
      }
      if (clusters_[at(clusters_[at(best)].partner)].alive) return best;
      propose(best);
    }
  }

  mutable_tree<Model>& tree_;
  likeliest_clusters<Model> clusters_of_;
  std::vector<cluster> clusters_;
  std::vector<index_t> freed_;
};

}  // namespace bhclust::detail

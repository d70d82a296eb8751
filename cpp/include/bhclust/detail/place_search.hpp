/// @file
/// The best place in a tree for a node that hangs nowhere.
#pragma once

#include <bhclust/detail/likeliest_clusters.hpp>
#include <bhclust/detail/log_space.hpp>
#include <bhclust/detail/marginal_batch.hpp>
#include <bhclust/detail/mutable_tree.hpp>
#include <bhclust/detail/parallel.hpp>
#include <bhclust/inference/posterior.hpp>
#include <bhclust/progress.hpp>
#include <bhclust/types.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace bhclust::detail {

/// Where a node x that hangs nowhere, a new leaf or a subtree that was taken out, raises log p̃_T of
/// a root most.
///
/// Let g(c) be the factor by which p̃_T(c) rises when x comes at or below c as well as can be. With
/// r_c = p̃_H(c) / p̃_T(c) and j_c = p̃_H(c ∪ x) / p̃_H(c), which is |c| p(x | c) where x is one row,
///
///     g(c) = r_c j_c + max(p̃_T(x), (1 - r_c) g(left), (1 - r_c) g(right)),
///
/// the three being x as the sibling of c, below its left child and below its right one. So one
/// marginal likelihood a node finds the best of all places.
///
/// Looked at are all nodes at or above the clusters of the most probable partition, so every place
/// there is compared exactly; inside the clusters that have x with the largest j_c, at most
/// `most_clusters` of them, the way down by the larger j of two children, for at most
/// `most_levels`, and all of the subtree of at most `small` rows at which it ends. The bounds hold
/// for chains, too. 2 k + O(1) marginal likelihoods for k clusters; `everywhere`: of all nodes.
///
/// In a cluster that is one for sure 1 - r_c is next to nothing, and so is what the place of x in
/// it gains: differences below `negligible` nats are left to j, so that the cluster keeps a
/// structure inside rather than its rows in order of arrival.
template <class Model>
class place_search {
 public:
  place_search(const mutable_tree<Model>& t, const likeliest_clusters<Model>& clusters,
               bool everywhere, thread_team& team, progress_meter& progress)
      : tree_(t),
        clusters_(clusters),
        log_alpha_(std::log(t.alpha())),
        everywhere_(everywhere),
        log_gamma_of_(t.leaves()),
        team_(team),
        progress_(progress) {
    for (int i = 0; i < team.size(); ++i) scorers_.emplace_back(t.model());
  }

  /// The node whose sibling x should become, at or below one of the roots.
  [[nodiscard]] index_t run(index_t x, const std::vector<index_t>& roots) {
    hung_ = x;
    ++search_;
    looked_at_.resize(at(tree_.nodes()), 0);
    log_joins_.resize(at(tree_.nodes()));
    log_rise_.resize(at(tree_.nodes()));
    look_above(roots);
    if (!everywhere_) {
      for (const index_t c : chosen_clusters()) look_inside(c);
    }
    for (auto k = nodes_.rbegin(); k != nodes_.rend(); ++k) log_rise_[at(*k)] = rise(*k);
    index_t place = roots.front();
    for (const index_t root : roots) {
      const double gain = log_rise_[at(root)] - log_rise_[at(place)];
      if (gain > 0.0 || (gain == 0.0 && root < place)) place = root;
    }
    for (index_t next = place; next >= 0; next = step(place)) place = next;
    return place;
  }

  /// log p̃_T of a root of the last run, were x at or below it as well as can be.
  [[nodiscard]] double log_t_with(index_t root) const {
    return tree_.log_t(root) + log_rise_[at(root)];
  }

 private:
  static constexpr std::size_t most_clusters = 4;
  static constexpr double least_weight = 7.0;  ///< nats below the best cluster's
  static constexpr index_t most_levels = 64;
  static constexpr index_t small = 16;
  static constexpr double negligible = 1e-9;
  static constexpr index_t chunk = 256;

  /// Room of one thread.
  struct scorer {
    explicit scorer(const Model& model)
        : batch(model), joined(static_cast<std::size_t>(model.width())) {}

    marginal_batch<Model> batch;
    std::vector<double> joined;
    pacer pace;
  };

  [[nodiscard]] static std::size_t at(index_t k) noexcept { return static_cast<std::size_t>(k); }
  [[nodiscard]] bool looked_at(index_t k) const { return looked_at_[at(k)] == search_; }
  [[nodiscard]] bool better(index_t a, index_t b) const {
    const double wa = log_joins_[at(a)];
    const double wb = log_joins_[at(b)];
    return wa > wb || (wa == wb && a < b);
  }

  /// All nodes down to the clusters, or to the leaves; parents come before their children.
  void look_above(const std::vector<index_t>& roots) {
    nodes_.clear();
    whole_.clear();
    pending_.assign(roots.rbegin(), roots.rend());
    while (!pending_.empty()) {
      const index_t k = pending_.back();
      pending_.pop_back();
      nodes_.push_back(k);
      if (tree_.is_leaf(k) || (!everywhere_ && clusters_.whole(k))) {
        whole_.push_back(k);
      } else {
        pending_.push_back(tree_.right(k));
        pending_.push_back(tree_.left(k));
      }
    }
    score(0);
  }

  [[nodiscard]] const std::vector<index_t>& chosen_clusters() {
    const auto count = std::min(most_clusters, whole_.size());
    std::partial_sort(whole_.begin(), whole_.begin() + static_cast<std::ptrdiff_t>(count),
                      whole_.end(), [&](index_t a, index_t b) { return better(a, b); });
    whole_.resize(count);
    const double least = log_joins_[at(whole_.front())] - least_weight;
    while (log_joins_[at(whole_.back())] < least) whole_.pop_back();
    return whole_;
  }

  void look_inside(index_t k) {
    for (index_t level = 0; level < most_levels && !tree_.is_leaf(k); ++level) {
      const std::size_t begin = nodes_.size();
      if (tree_.size(k) <= small) {
        add_below(k);
        score(begin);
        return;
      }
      const index_t l = tree_.left(k);
      const index_t r = tree_.right(k);
      nodes_.push_back(l);
      nodes_.push_back(r);
      score(begin);
      k = better(l, r) ? l : r;
    }
  }

  void add_below(index_t top) {
    pending_.assign(1, top);
    while (!pending_.empty()) {
      const index_t k = pending_.back();
      pending_.pop_back();
      if (k != top) nodes_.push_back(k);
      if (tree_.is_leaf(k)) continue;
      pending_.push_back(tree_.right(k));
      pending_.push_back(tree_.left(k));
    }
  }

  /// log j of the nodes from a place in the list on.
  void score(std::size_t begin) {
    const auto count = static_cast<index_t>(nodes_.size() - begin);
    if (count <= 2 * chunk) {
      score_some(scorers_.front(), begin, nodes_.size());
      return;
    }
    team_.run((count + chunk - 1) / chunk,
              [&](int thread, index_t c) {
                const std::size_t from = begin + at(c * chunk);
                score_some(scorers_[at(thread)], from, std::min(nodes_.size(), from + at(chunk)));
              },
              [&] { progress_.tick(); });
  }

  void score_some(scorer& s, std::size_t begin, std::size_t end) {
    const Model& model = tree_.model();
    const index_t width = model.width();
    const auto give = [&](index_t k, double value) {
      log_joins_[at(k)] =
          log_alpha_ + log_gamma_of_(tree_.size(k) + tree_.size(hung_)) + value - tree_.log_h(k);
      looked_at_[at(k)] = search_;
    };
    for (std::size_t i = begin; i < end; ++i) {
      std::copy_n(tree_.statistics(nodes_[i]), width, s.joined.data());
      model.merge(s.joined.data(), tree_.statistics(hung_));
      s.batch.add(nodes_[i], s.joined.data(), give);
      s.pace(width * width);
    }
    s.batch.flush(give);
  }

  [[nodiscard]] double log_whole(index_t k) const {  // log r j
    return (tree_.log_h(k) - tree_.log_t(k)) + log_joins_[at(k)];
  }
  /// log (1 - r) g(child), -inf for a child not looked at.
  [[nodiscard]] double log_below(index_t k, index_t child) const {
    if (!looked_at(child)) return -std::numeric_limits<double>::infinity();
    const double apart = (tree_.log_t(tree_.left(k)) + tree_.log_t(tree_.right(k)));
    return (apart - tree_.log_t(k)) + log_rise_[at(child)];
  }

  [[nodiscard]] double rise(index_t k) const {
    double best = tree_.log_t(hung_);
    if (!tree_.is_leaf(k)) {
      best = std::max({best, log_below(k, tree_.left(k)), log_below(k, tree_.right(k))});
    }
    return log_add_exp(log_whole(k), best);
  }

  /// The child of k below which x belongs; -1: x is to be the sibling of k.
  [[nodiscard]] index_t step(index_t k) const {
    if (tree_.is_leaf(k)) return -1;
    const index_t l = tree_.left(k);
    const index_t r = tree_.right(k);
    if (!looked_at(l) || !looked_at(r)) return -1;
    const double below_l = log_below(k, l);
    const double below_r = log_below(k, r);
    const index_t liked = better(l, r) ? l : r;
    const double liking = log_add_exp(log_whole(k), liked == l ? below_l : below_r);
    if (liking >= log_rise_[at(k)] - negligible) return liked;
    if (tree_.log_t(hung_) >= std::max(below_l, below_r)) return -1;
    return below_l > below_r || (below_l == below_r && l < r) ? l : r;
  }

  const mutable_tree<Model>& tree_;
  const likeliest_clusters<Model>& clusters_;
  double log_alpha_;
  bool everywhere_;
  log_gamma_of_sizes log_gamma_of_;
  thread_team& team_;
  progress_meter& progress_;
  std::vector<scorer> scorers_;
  index_t hung_ = -1;           ///< x
  index_t search_ = 0;          ///< the number of this one
  std::vector<index_t> nodes_;  ///< looked at
  std::vector<index_t> whole_;  ///< those of them where the look from above ended
  std::vector<index_t> pending_;
  std::vector<index_t> looked_at_;  ///< in which search a node was looked at last
  std::vector<double> log_joins_;   ///< log j
  std::vector<double> log_rise_;    ///< log g
};

}  // namespace bhclust::detail

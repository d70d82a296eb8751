/// @file
/// New rows into a tree that is there, and rows out of it.
#pragma once

#include <bhclust/algorithm/refine.hpp>
#include <bhclust/concentration.hpp>
#include <bhclust/detail/likeliest_clusters.hpp>
#include <bhclust/detail/log_space.hpp>
#include <bhclust/detail/marginal_batch.hpp>
#include <bhclust/detail/mutable_tree.hpp>
#include <bhclust/detail/parallel.hpp>
#include <bhclust/family.hpp>
#include <bhclust/inference/posterior.hpp>
#include <bhclust/progress.hpp>
#include <bhclust/tree.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <vector>

namespace bhclust {

/// How `insert` looks for places.
struct insert_options {
  double alpha = 1.0;       ///< DP concentration, > 0
  bool everywhere = false;  ///< look at every place for a row: one marginal likelihood a node
  bool rotate = true;       ///< nearest-neighbour interchanges about a new leaf while they help
  int n_threads = 0;        ///< 0: all cores; the tree does not depend on it
  progress_function progress{};
};

namespace detail {

/// Where a new leaf x raises log p̃_T of its root most.
///
/// Let g(c) be the factor by which p̃_T(c) rises when x comes at or below c as well as can be. With
/// r_c = p̃_H(c) / p̃_T(c) and p̃_H(c ∪ x) / p̃_H(c), which is |c| p(x | c) where x is one row,
///
///     g(c) = r_c |c| p(x | c) + max(p̃_T(x), (1 - r_c) g(left), (1 - r_c) g(right)),
///
/// the three being x as the sibling of c, below its left child and below its right one. So one
/// marginal likelihood a node finds the best of all places.
///
/// Looked at are all nodes at or above the clusters of the most probable partition, so every place
/// there is compared exactly; inside the clusters that have x with the largest |c| p(x | c), at
/// most `most_clusters` of them, the way down by the larger |c| p(x | c) of two children, for at
/// most `most_levels`, and all of the subtree of at most `small` rows at which it ends. The bounds
/// hold for chains, too. 2 k + O(1) marginal likelihoods for k clusters.
///
/// In a cluster that is one for sure 1 - r_c is next to nothing, and so is what the place of x in
/// it gains: differences below `negligible` nats are left to |c| p(x | c), so that the cluster
/// keeps a structure inside rather than its rows in order of arrival.
template <class Model>
class place_search {
 public:
  place_search(mutable_tree<Model>& t, const likeliest_clusters<Model>& clusters,
               const Model& model, double alpha, bool everywhere, thread_team& team,
               progress_meter& progress)
      : tree_(t),
        clusters_(clusters),
        model_(model),
        log_alpha_(std::log(alpha)),
        everywhere_(everywhere),
        log_gamma_of_(t.leaves()),
        team_(team),
        progress_(progress) {
    for (int i = 0; i < team.size(); ++i) scorers_.emplace_back(model);
  }

  /// The node whose sibling the leaf x should become, below one of the roots.
  [[nodiscard]] index_t run(index_t x, const std::vector<index_t>& roots) {
    leaf_ = x;
    looked_at_.resize(at(tree_.nodes()), -1);
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
  [[nodiscard]] bool looked_at(index_t k) const { return looked_at_[at(k)] == leaf_; }
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

  /// log |k| p(x | k) of the nodes from a place in the list on.
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
    const index_t width = model_.width();
    const auto give = [&](index_t k, double value) {
      log_joins_[at(k)] =
          log_alpha_ + log_gamma_of_(tree_.size(k) + tree_.size(leaf_)) + value - tree_.log_h(k);
      looked_at_[at(k)] = leaf_;
    };
    for (std::size_t i = begin; i < end; ++i) {
      std::copy_n(tree_.statistics(nodes_[i]), width, s.joined.data());
      model_.merge(s.joined.data(), tree_.statistics(leaf_));
      s.batch.add(nodes_[i], s.joined.data(), give);
      s.pace(width * width);
    }
    s.batch.flush(give);
  }

  [[nodiscard]] double log_whole(index_t k) const {  // log r |k| p(x | k)
    return (tree_.log_h(k) - tree_.log_t(k)) + log_joins_[at(k)];
  }
  /// log (1 - r) g(child), -inf for a child not looked at.
  [[nodiscard]] double log_below(index_t k, index_t child) const {
    if (!looked_at(child)) return -std::numeric_limits<double>::infinity();
    const double apart = (tree_.log_t(tree_.left(k)) + tree_.log_t(tree_.right(k)));
    return (apart - tree_.log_t(k)) + log_rise_[at(child)];
  }

  [[nodiscard]] double rise(index_t k) const {
    double best = tree_.log_t(leaf_);
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
    if (tree_.log_t(leaf_) >= std::max(below_l, below_r)) return -1;
    return below_l > below_r || (below_l == below_r && l < r) ? l : r;
  }

  mutable_tree<Model>& tree_;
  const likeliest_clusters<Model>& clusters_;
  const Model& model_;
  double log_alpha_;
  bool everywhere_;
  log_gamma_of_sizes log_gamma_of_;
  thread_team& team_;
  progress_meter& progress_;
  std::vector<scorer> scorers_;
  index_t leaf_ = -1;
  std::vector<index_t> nodes_;  ///< looked at for this leaf
  std::vector<index_t> whole_;  ///< those of them where the look from above ended
  std::vector<index_t> pending_;
  std::vector<index_t> looked_at_;  ///< for which leaf a node was looked at last
  std::vector<double> log_joins_;   ///< log |k| p(x | k)
  std::vector<double> log_rise_;    ///< log g
};

/// Puts leaves into a tree one after another.
template <class Model>
class leaf_insertion {
 public:
  leaf_insertion(const tree& t, const table_view& X, const Model& model,
                 const insert_options& options, thread_team& team, progress_meter& progress)
      : tree_(t, X, model, options.alpha),
        clusters_(tree_),
        search_(tree_, clusters_, model, options.alpha, options.everywhere, team, progress),
        interchanges_(tree_),
        rotate_(options.rotate) {
    for (const index_t root : t.roots()) {
      roots_.push_back(t.is_leaf(root) ? root : root + X.rows() - t.leaves());
    }
    clusters_.mark_all();
  }

  void insert(index_t x) {
    const index_t place = search_.run(x, roots_);
    const index_t made = tree_.insert_above(place, x);
    std::replace(roots_.begin(), roots_.end(), place, made);
    for (index_t k = made; k >= 0; k = tree_.parent(k)) {
      tree_.update(k);
      clusters_.mark(k);
    }
    if (rotate_) rotate(made);
  }

  [[nodiscard]] tree finish() const { return tree_.finish(cost_kind::log_d); }

 private:
  static constexpr int most_misses = 3;
  static constexpr int most_looks = 32;

  /// Climbs from a new leaf's parent and interchanges, until some nodes in a row let nothing rise;
  /// a node that was made of other rows is looked at before those above it. In a chain a row may be
  /// handed on from node to node for little, so there is an end to it.
  void rotate(index_t k) {
    bool changed = false;
    int misses = 0;
    for (int looks = 0; looks < most_looks && misses < most_misses && k >= 0; ++looks) {
      tree_.update_log_t(k);
      const index_t made = interchanges_.improve(k);
      if (made >= 0) {
        changed = true;
        misses = 0;
        clusters_.mark(made);
      } else {
        ++misses;
      }
      clusters_.mark(k);
      k = made >= 0 && !tree_.is_leaf(made) ? made : tree_.parent(k);
    }
    for (; changed && k >= 0; k = tree_.parent(k)) {
      tree_.update_log_t(k);
      clusters_.mark(k);
    }
  }

  mutable_tree<Model> tree_;
  likeliest_clusters<Model> clusters_;
  place_search<Model> search_;
  interchange<Model> interchanges_;
  std::vector<index_t> roots_;
  bool rotate_;
};

}  // namespace detail

/// A tree over the rows of X, of which the first ones are the leaves of t: the others are put in
/// one after another, each as the sibling of the node where log p̃_T of the root rises most among
/// the places looked at (detail::place_search says which; `everywhere`: all, to rounding and some
/// billionths of a nat), then interchanges are made about it while they raise it. A forest keeps
/// the number of its roots: a row joins the root that gains most. tree::cost() holds log d.
///
/// O(n · width) to begin with, then for each row 2 k marginal likelihoods for k clusters, some
/// hundreds whatever the shape of the tree, and one for every node above its place. O(nodes ·
/// width) memory. The same tree for any number of threads.
template <class Family>
[[nodiscard]] tree insert(const tree& t, const table_view& X, const Family& family,
                          const insert_options& options = {}) {
  check_alpha(options.alpha);
  require(t.leaves() <= X.rows(), [&] {
    return "the tree has " + std::to_string(t.leaves()) + " leaves and X has " +
           std::to_string(X.rows()) + " rows; the first rows must be those of the leaves";
  });
  detail::progress_meter progress(options.progress, X.rows() - t.leaves());
  const auto model = bind_prepared(family, X);
  detail::thread_team team(options.n_threads);
  detail::leaf_insertion insertion(t, X, model, options, team, progress);
  for (index_t x = t.leaves(); x < X.rows(); ++x) {
    insertion.insert(x);
    progress.advance(1);
    progress.tick();
  }
  tree grown = insertion.finish();
  progress.finish();
  return grown;
}

/// The tree of the rows that are left when those named are taken out, numbered anew in their order;
/// a node with one child left gives its place to it. What of the others' tree was joined stays so.
/// No costs, and no statistics, so nothing is lost by subtraction. O(nodes).
[[nodiscard]] inline tree forget(const tree& t, span<const index_t> rows) {
  const auto at = [](index_t k) { return static_cast<std::size_t>(k); };
  std::vector<index_t> name(at(t.nodes()), 0);
  for (const index_t row : rows) {
    require(row >= 0 && row < t.leaves(), [&] {
      return "rows names " + std::to_string(row) + "; the tree has the rows 0 to " +
             std::to_string(t.leaves() - 1);
    });
    require(name[at(row)] == 0, [&] { return "rows names " + std::to_string(row) + " twice"; });
    name[at(row)] = -1;
  }
  require(rows.size() < t.leaves(), [&] {
    return "rows names all " + std::to_string(t.leaves()) + " rows; at least one must be left";
  });
  tree_builder kept(t.leaves() - rows.size());
  index_t next = 0;
  for (index_t k = 0; k < t.leaves(); ++k) {
    if (name[at(k)] == 0) name[at(k)] = next++;
  }
  for (index_t k = t.leaves(); k < t.nodes(); ++k) {
    const index_t l = name[at(t.left(k))];
    const index_t r = name[at(t.right(k))];
    name[at(k)] = l >= 0 && r >= 0 ? kept.join(l, r) : std::max(l, r);
  }
  return std::move(kept).finish();
}

}  // namespace bhclust

/// @file
/// New rows into a tree that is there, and rows out of it.
#pragma once

#include <bhclust/concentration.hpp>
#include <bhclust/detail/interchange.hpp>
#include <bhclust/detail/likeliest_clusters.hpp>
#include <bhclust/detail/mutable_tree.hpp>
#include <bhclust/detail/parallel.hpp>
#include <bhclust/detail/place_search.hpp>
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

/// Puts leaves into a tree one after another.
template <class Model>
class leaf_insertion {
 public:
  leaf_insertion(const tree& t, const table_view& X, const Model& model,
                 const insert_options& options, thread_team& team, progress_meter& progress)
      : tree_(t, X, model, options.alpha),
        clusters_(tree_),
        search_(tree_, clusters_, options.everywhere, team, progress),
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

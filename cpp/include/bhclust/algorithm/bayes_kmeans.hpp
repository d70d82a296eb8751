/// @file
/// Bayes K-means BHC (Xu, Heller & Ghahramani 2009, section 5): clusters first, trees afterwards.
#pragma once

#include <bhclust/algorithm/greedy.hpp>
#include <bhclust/analysis/cut.hpp>
#include <bhclust/concentration.hpp>
#include <bhclust/detail/agglomerate.hpp>
#include <bhclust/detail/borrowed_store.hpp>
#include <bhclust/detail/cluster_store.hpp>
#include <bhclust/detail/cluster_trees.hpp>
#include <bhclust/detail/graft.hpp>
#include <bhclust/detail/parallel.hpp>
#include <bhclust/detail/partition_rule.hpp>
#include <bhclust/detail/random.hpp>
#include <bhclust/detail/row_assignment.hpp>
#include <bhclust/family.hpp>
#include <bhclust/progress.hpp>
#include <bhclust/tree.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

namespace bhclust {

struct bayes_kmeans_options {
  double alpha = 1.0;            ///< DP concentration, > 0
  index_t n_seeds = 0;           ///< rows drawn to start clusters; 0: √n, rounded
  std::vector<index_t> seeds{};  ///< these rows instead, if any
  bool merge = true;             ///< merge clusters while the marginal likelihood rises
  index_t exact_rows = 64;       ///< clusters of more have trees by parts
  std::uint64_t seed = 0;        ///< of the choice of seeds and of subsets
  int n_threads = 0;             ///< 0: all cores; the tree does not depend on it
  progress_function progress{};
};

namespace detail {

template <class Model>
class bayes_kmeans {
 public:
  bayes_kmeans(const Model& model, const table_view& X, const bayes_kmeans_options& options,
               thread_team& team, progress_meter& progress)
      : model_(model), X_(X), options_(options), team_(team), progress_(progress) {}

  /// This or the next, once.
  [[nodiscard]] std::vector<index_t> groups(const std::vector<index_t>& seeds, index_t most) {
    row_assignment<store_type> assigned(make_store<evidence_score>(model_, X_), X_, options_.alpha,
                                        team_, progress_);
    assigned.run(seeds);
    assigned.forget_rows();
    clusters_ = std::move(assigned.members());
    const auto count = static_cast<index_t>(clusters_.size());
    partition_rule::outcome found;
    agglomeration<lent, partition_rule> run(lent(assigned.store()),
                                            partition_rule(sizes(), options_.alpha, found, most),
                                            count, team_, progress_);
    const auto labels = labels_of(run.run());
    std::vector<index_t> of_rows(at(X_.rows()));
    for (std::size_t c = 0; c < clusters_.size(); ++c) {
      for (const index_t i : clusters_[c]) of_rows[at(i)] = labels[c];
    }
    return of_rows;
  }

  [[nodiscard]] tree run(const std::vector<index_t>& seeds) {
    row_assignment<store_type> assigned(make_store<evidence_score>(model_, X_), X_, options_.alpha,
                                        team_, progress_);
    assigned.run(seeds);
    clusters_ = std::move(assigned.members());
    sizes_ = sizes();
    grow_below(assigned);
    if (options_.merge) merge_clusters(assigned.store());
    static_cast<void>(graft(grown_, above(assigned.store()), roots_));
    return std::move(grown_).finish();
  }

 private:
  using store_type = typename store_for<Model, evidence_score>::type;
  using lent = borrowed_store<store_type>;

  [[nodiscard]] static std::size_t at(index_t i) noexcept { return static_cast<std::size_t>(i); }
  [[nodiscard]] static std::vector<index_t> labels_of(const tree& merged) {
    return bhclust::labels_of(merged, merged.roots());
  }
  [[nodiscard]] std::vector<index_t> sizes() const {
    std::vector<index_t> found;
    for (const auto& rows : clusters_) {
      index_t size = 0;
      for (const index_t i : rows) size += X_.weight(i);
      found.push_back(size);
    }
    return found;
  }

  /// What is left then is in the store, and in sizes_, excess_ and roots_, in the order of nodes.
  void merge_clusters(store_type& store) {
    const auto count = static_cast<index_t>(sizes_.size());
    partition_rule::outcome found;
    agglomeration<lent, partition_rule> run(
        lent(store), partition_rule(sizes_, options_.alpha, found), count, team_, progress_);
    const tree merged = run.run();
    std::vector<index_t> live;
    sizes_.clear();
    for (index_t s = 0; s < static_cast<index_t>(found.left.size()); ++s) {
      if (found.left[at(s)] == 0) continue;
      live.push_back(s);
      sizes_.push_back(found.left[at(s)]);
    }
    store.keep(live);
    join_trees(merged, found.costs);
  }

  /// Merges of clusters as merges of their trees: log d is the cost in the partition and what the
  /// trees below add.
  void join_trees(const tree& merged, const std::vector<double>& costs) {
    for (index_t k = merged.leaves(); k < merged.nodes(); ++k) {
      const auto a = at(merged.left(k));
      const auto b = at(merged.right(k));
      const double log_d = costs[at(k - merged.leaves())] + (excess_[a] + excess_[b]);
      roots_.push_back(grown_.join(roots_[a], roots_[b], log_d));
      excess_.push_back(softplus(log_d));
    }
    keep_entries(roots_, merged.roots());
    keep_entries(excess_, merged.roots());
  }

  /// The trees below, and log d of their merges.
  void grow_below(row_assignment<store_type>& assigned) {
    for (auto& rows : clusters_) std::sort(rows.begin(), rows.end());
    cluster_trees<Model> trees(model_, X_, options_.alpha, options_.exact_rows, options_.seed,
                               assigned.store(), assigned.has_rows());
    tree below = trees.run(std::move(clusters_), roots_, team_, progress_);
    assigned.forget_rows();
    const bool any = below.merges() > 0;
    if (any) below = with_log_d(std::move(below), X_, model_, options_.alpha, team_, progress_);
    for (const index_t root : roots_) {
      excess_.push_back(below.is_leaf(root) ? 0.0 : softplus(below.cost(root)));
    }
    grown_ = tree_builder(std::move(below));
    if (!any) grown_.set_costs({}, cost_kind::log_d);
  }

  /// Exact greedy BHC of the clusters, with what the trees below make of each.
  [[nodiscard]] tree above(store_type& store) {
    const auto count = static_cast<index_t>(roots_.size());
    agglomeration<lent, log_d_rule> run(lent(store), log_d_rule(excess_, sizes_, options_.alpha),
                                        count, team_, progress_);
    return run.run();
  }

  const Model& model_;
  table_view X_;
  const bayes_kmeans_options& options_;
  thread_team& team_;
  progress_meter& progress_;
  std::vector<std::vector<index_t>> clusters_;  ///< as assigned
  tree_builder grown_{tree()};
  std::vector<index_t> roots_;  ///< of the trees of the clusters
  std::vector<index_t> sizes_;  ///< rows of each cluster
  std::vector<double> excess_;  ///< of each cluster: log(p̃_T / p̃_H)
};

/// The seeds in the order in which they become clusters: ascending.
[[nodiscard]] inline std::vector<index_t> seeds_of(const bayes_kmeans_options& options,
                                                   index_t rows) {
  std::vector<index_t> seeds = options.seeds;
  if (seeds.empty()) {
    const auto root = static_cast<index_t>(std::llround(std::sqrt(static_cast<double>(rows))));
    const index_t count = options.n_seeds == 0 ? root : options.n_seeds;
    require(count >= 1 && count <= rows, [&] {
      return "n_seeds is " + std::to_string(count) + "; X has " + std::to_string(rows) +
             " row(s), so it must be between 1 and that";
    });
    seeds.resize(static_cast<std::size_t>(rows));
    std::iota(seeds.begin(), seeds.end(), index_t{0});
    random_source(options.seed).choose(seeds, count);
    seeds.resize(static_cast<std::size_t>(count));
  }
  std::sort(seeds.begin(), seeds.end());
  for (std::size_t s = 0; s < seeds.size(); ++s) {
    require(seeds[s] >= 0 && seeds[s] < rows, [&] {
      return "seeds holds " + std::to_string(seeds[s]) + "; X has rows 0 to " +
             std::to_string(rows - 1);
    });
    require(s == 0 || seeds[s] != seeds[s - 1],
            [&] { return "seeds holds row " + std::to_string(seeds[s]) + " twice"; });
  }
  return seeds;
}

}  // namespace detail

/// Bayes K-means BHC: seeds become clusters, every other row in turn joins the cluster or opens the
/// one that gives the largest marginal likelihood of the Dirichlet process mixture, then clusters
/// are merged while it rises (row_assignment.hpp, partition_rule.hpp). Greedy BHC makes a tree of
/// the clusters, and one below each cluster; of one of more than `exact_rows` rows it makes the
/// upper part alone, over a sample (cluster_trees.hpp). tree::cost() holds log d of each merge. For
/// k clusters O(nk + k²) scores and the trees below; memory as greedy_bhc. With all rows as seeds
/// and no merging greedy_bhc's own tree, and also of at most 256 rows without seeds or their
/// number, as it costs no more; the same tree for any number of threads.
template <class Family>
[[nodiscard]] tree bayes_kmeans_bhc(const table_view& X, const Family& family,
                                    const bayes_kmeans_options& options = {}) {
  check_alpha(options.alpha);
  require(options.exact_rows >= 2, [&] {
    return "exact_rows is " + std::to_string(options.exact_rows) + "; it must be at least 2";
  });
  constexpr index_t few_rows = 256;
  if (X.rows() <= few_rows && options.seeds.empty() && options.n_seeds == 0) {
    return greedy_bhc(X, family, {options.alpha, options.n_threads, options.progress});
  }
  const auto model = bind(family, X);
  const auto seeds = detail::seeds_of(options, X.rows());
  detail::thread_team team(options.n_threads);
  detail::progress_meter progress(options.progress, 2 * X.rows() - 1);
  detail::bayes_kmeans<model_of<Family>> run(model, X, options, team, progress);
  tree grown = run.run(seeds);
  progress.finish();
  return grown;
}

/// The clusters of Bayes K-means alone, without a tree: one label a row. Clusters are merged where
/// there are more than `most`, and then no further; `merge` and `exact_rows` are not looked at.
template <class Family>
[[nodiscard]] std::vector<index_t> bayes_kmeans_groups(const table_view& X, const Family& family,
                                                       index_t most,
                                                       const bayes_kmeans_options& options = {}) {
  check_alpha(options.alpha);
  require(most >= 1, "there must be room for one group at least");
  const auto model = bind(family, X);
  const auto seeds = detail::seeds_of(options, X.rows());
  detail::thread_team team(options.n_threads);
  detail::progress_meter progress(options.progress, X.rows());
  detail::bayes_kmeans<model_of<Family>> run(model, X, options, team, progress);
  auto labels = run.groups(seeds, most);
  progress.finish();
  return labels;
}

}  // namespace bhclust

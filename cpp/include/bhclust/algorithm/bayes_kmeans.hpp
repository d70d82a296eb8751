/// @file
/// Bayes K-means BHC (Xu, Heller & Ghahramani 2009, section 5): clusters first, trees afterwards.
#pragma once

#include <bhclust/algorithm/greedy.hpp>
#include <bhclust/algorithm/randomized.hpp>
#include <bhclust/analysis/cut.hpp>
#include <bhclust/concentration.hpp>
#include <bhclust/detail/agglomerate.hpp>
#include <bhclust/detail/borrowed_store.hpp>
#include <bhclust/detail/cluster_store.hpp>
#include <bhclust/detail/gathered_rows.hpp>
#include <bhclust/detail/graft.hpp>
#include <bhclust/detail/parallel.hpp>
#include <bhclust/detail/random.hpp>
#include <bhclust/family.hpp>
#include <bhclust/progress.hpp>
#include <bhclust/tree.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
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

/// The cost of a pair is what its union takes from the log marginal likelihood of the partition;
/// merges end where it would fall. Tells the slots of the clusters that are left, and the costs.
class partition_rule {
 public:
  static constexpr cost_kind costs = cost_kind::none;

  struct outcome {
    std::vector<index_t> left;  ///< the size of each slot at the end, 0 for those merged away
    std::vector<double> costs;  ///< of each merge
  };

  /// `most` > 0: merges end instead when so many clusters are left.
  partition_rule(std::vector<index_t> sizes, double alpha, outcome& found, index_t most = 0)
      : log_alpha_(std::log(alpha)), left_(&found.left), costs_(&found.costs), most_(most) {
    *left_ = std::move(sizes);
    live_ = static_cast<index_t>(left_->size());
    for (const index_t size : *left_) weight_.push_back(log_gamma(static_cast<double>(size)));
  }

  [[nodiscard]] double cost(index_t a, index_t b, double gain) const { return offset(a, b) - gain; }
  [[nodiscard]] double offset(index_t a, index_t b) const {
    return (weight_[at(a)] + weight_[at(b)]) + union_term((*left_)[at(a)] + (*left_)[at(b)]);
  }
  /// Of a cluster of one row.
  [[nodiscard]] double row_offset(index_t a) const {
    return (weight_[at(a)] + 0.0) + union_term((*left_)[at(a)] + 1);
  }
  void retire(index_t slot) {
    weight_[at(slot)] = std::numeric_limits<double>::infinity();
    retired_ += std::exchange((*left_)[at(slot)], 0);
  }
  void append(double cost, index_t) {
    costs_->push_back(cost);
    --live_;
    left_->push_back(std::exchange(retired_, 0));
    weight_.push_back(log_gamma(static_cast<double>(left_->back())));
  }
  void keep(const std::vector<index_t>& slots) {
    keep_entries(*left_, slots);
    keep_entries(weight_, slots);
  }
  [[nodiscard]] bool goes_on(double cost) const noexcept {
    return most_ > 0 ? live_ > most_ : cost < 0.0;
  }

 private:
  [[nodiscard]] static std::size_t at(index_t i) noexcept { return static_cast<std::size_t>(i); }
  /// A dead slot makes 0 rows of nothing: its weight decides.
  [[nodiscard]] double union_term(index_t size) const {
    return log_alpha_ - log_gamma(static_cast<double>(std::max<index_t>(size, 1)));
  }

  double log_alpha_;
  std::vector<double> weight_;
  std::vector<index_t>* left_;
  std::vector<double>* costs_;
  index_t most_;
  index_t live_ = 0;
  index_t retired_ = 0;
};

/// Xu's sequential assignment: each row, in the table's order, joins the cluster or opens the one
/// that gives the largest marginal likelihood of the partition so far, of equal ones the oldest
/// cluster. Row x raises log p by log p(x) + gain(c, x) + log |c| in cluster c, by log p(x) + log α
/// alone; a group of w rows by log Γ(|c| + w) / Γ(|c|) and by log α Γ(w).
///
/// Rows come in blocks whose gains with all clusters are known beforehand; whenever a cluster takes
/// a row, its gains with the rest of the block are computed anew. That is the sequential rule
/// itself, by the kernels that score one cluster against many rows. Where merges leave queries good
/// each cluster keeps its own, and blocks are short: a query is then made ready once a row.
template <class Store>
class row_assignment {
 public:
  row_assignment(Store store, const table_view& X, double alpha, thread_team& team,
                 progress_meter& progress)
      : store_(std::move(store)),
        X_(X),
        team_(team),
        progress_(progress),
        rows_(X.rows()),
        log_alpha_(std::log(alpha)),
        may_keep_queries_(queries_last(store_)),
        taken_(at(X.rows()), false) {}

  void run(const std::vector<index_t>& seeds) {
    keeps_queries_ = may_keep_queries_ && room_for_queries(static_cast<index_t>(seeds.size()));
    for (const index_t i : seeds) {
      taken_[at(i)] = true;
      open(i);
    }
    block_ = block_for(clusters());
    for (index_t begin = 0; begin < rows_; begin += block_) {
      assign_block(begin, std::min(rows_, begin + block_));
      progress_.tick();
    }
    keep_clusters(rows_);
  }

  /// Rows of each cluster; cluster c is at slot c of the store, in order of slots.
  [[nodiscard]] std::vector<std::vector<index_t>>& members() noexcept { return members_; }
  [[nodiscard]] Store& store() noexcept { return store_; }

 private:
  [[nodiscard]] static std::size_t at(index_t i) noexcept { return static_cast<std::size_t>(i); }
  [[nodiscard]] index_t clusters() const noexcept { return static_cast<index_t>(members_.size()); }
  [[nodiscard]] index_t slot_of_row(index_t i) const noexcept { return i - shift_; }
  [[nodiscard]] double* values_of(index_t c) noexcept { return values_.data() + c * block_; }

  /// Queries are as large as tables of a row's columns, or larger.
  [[nodiscard]] bool room_for_queries(index_t k) const {
    constexpr index_t most = 524288;
    return k <= most / std::max<index_t>(X_.columns(), 1);
  }

  /// Long blocks only where a thread's share of their scores is worth it, or queries need it.
  [[nodiscard]] index_t block_for(index_t k) const {
    constexpr index_t least = 16;
    if (keeps_queries_) return k < worth_sharing / 128 ? least : 128;
    return std::clamp<index_t>(k / 8 * 8, 2 * least, 256);
  }

  void open(index_t row) {
    members_.push_back({row});
    size_.push_back(X_.weight(row));
    slot_.push_back(slot_of_row(row));
    if (keeps_queries_) store_.load(queries_.emplace_back(), slot_.back());
  }

  void join(index_t c, index_t row) {
    members_[at(c)].push_back(row);
    size_[at(c)] += X_.weight(row);
    slot_[at(c)] = store_.merge(slot_[at(c)], slot_of_row(row));
    if (keeps_queries_) store_.load(queries_[at(c)], slot_[at(c)]);
  }

  void assign_block(index_t begin, index_t end) {
    const bool all_taken = std::all_of(taken_.begin() + begin, taken_.begin() + end,
                                       [](bool is_taken) { return is_taken; });
    if (all_taken) return;
    if (keeps_queries_ && !room_for_queries(clusters())) {
      keeps_queries_ = false;
      std::vector<typename Store::query>().swap(queries_);
    }
    keep_clusters_if_sparse(begin);
    score_all(begin, end);
    for (index_t i = begin; i < end; ++i) {
      if (taken_[at(i)]) continue;
      taken_[at(i)] = true;
      index_t c = best_[at(i - begin)];
      if (c < 0) {
        open(i);
        values_.resize(members_.size() * at(block_));
        c = clusters() - 1;
      } else {
        join(c, i);
      }
      rescore(c, begin, i + 1, end);
    }
  }

  void score_all(index_t begin, index_t end) {
    values_.resize(members_.size() * at(block_));
    constexpr index_t clusters_a_task = 16;
    const index_t k = clusters();
    const auto score_some = [&](typename Store::query& query, index_t first) {
      for (index_t c = first; c < std::min(k, first + clusters_a_task); ++c) {
        score(query, c, begin, begin, end);
      }
    };
    const index_t tasks = (k + clusters_a_task - 1) / clusters_a_task;
    if (k * (end - begin) < worth_sharing) {
      for (index_t t = 0; t < tasks; ++t) score_some(query_, t * clusters_a_task);
    } else {
      team_.run(
          tasks,
          [&](int, index_t t) {
            typename Store::query own;
            score_some(own, t * clusters_a_task);
          },
          [&] { progress_.tick(); });
    }
    best_.assign(at(end - begin), -1);
    best_value_.assign(at(end - begin), log_alpha_);
    for (index_t c = 0; c < k; ++c) take(c, values_of(c), 0, end - begin);
  }

  /// `spare` is used where clusters keep no queries.
  void score(typename Store::query& spare, index_t c, index_t block, index_t begin, index_t end) {
    if (begin == end) return;
    double* out = values_of(c) + (begin - block);
    if (!keeps_queries_) store_.load(spare, slot_[at(c)]);
    store_.row(keeps_queries_ ? queries_[at(c)] : spare, slot_of_row(begin), slot_of_row(end), out);
    if (!X_.weighted()) {
      const double weight = std::log(static_cast<double>(size_[at(c)]));
      for (index_t j = 0; j < end - begin; ++j) out[j] += weight;
      return;
    }
    for (index_t i = begin; i < end; ++i) out[i - begin] += log_joining(size_[at(c)], X_.weight(i));
  }

  /// Cluster c, younger than all that were taken before, for the rows [begin, end) of the block.
  void take(index_t c, const double* values, index_t begin, index_t end) {
    for (index_t j = begin; j < end; ++j) {
      const bool better =
          values[j] > best_value_[at(j)] || (best_[at(j)] < 0 && values[j] == best_value_[at(j)]);
      best_[at(j)] = better ? c : best_[at(j)];
      best_value_[at(j)] = better ? values[j] : best_value_[at(j)];
    }
  }
  [[nodiscard]] bool wins(double value, index_t c, index_t j) const {
    const double best = best_value_[at(j)];
    return value > best || (value == best && (best_[at(j)] < 0 || c < best_[at(j)]));
  }

  /// Cluster c against the rows from `begin` on, the others' values being known.
  void rescore(index_t c, index_t block, index_t begin, index_t end) {
    score(query_, c, block, begin, end);
    const double* values = values_of(c);
    for (index_t j = begin - block; j < end - block; ++j) {
      const bool fell = best_[at(j)] == c && values[j] < best_value_[at(j)];
      if (fell) {
        choose_again(j);
      } else if (best_[at(j)] == c || wins(values[j], c, j)) {
        best_[at(j)] = c;
        best_value_[at(j)] = values[j];
      }
    }
  }

  void choose_again(index_t j) {
    best_[at(j)] = -1;
    best_value_[at(j)] = log_alpha_;
    for (index_t c = 0; c < clusters(); ++c) take(c, values_of(c), j, j + 1);
  }

  void keep_clusters_if_sparse(index_t begin) {
    constexpr index_t fewest = 4096;
    const index_t needed = clusters() + rows_ - begin;
    if (store_.slots() > fewest && 2 * needed < store_.slots()) keep_clusters(begin);
  }

  /// Drops all slots but those of clusters and of rows from `begin` on.
  void keep_clusters(index_t begin) {
    std::vector<index_t> kept = slot_;
    for (index_t i = begin; i < rows_; ++i) kept.push_back(slot_of_row(i));
    std::sort(kept.begin(), kept.end());
    kept.erase(std::unique(kept.begin(), kept.end()), kept.end());
    const auto place = [&kept](index_t slot) {
      return static_cast<index_t>(std::lower_bound(kept.begin(), kept.end(), slot) - kept.begin());
    };
    for (index_t& slot : slot_) slot = place(slot);
    if (begin < rows_) shift_ = begin - place(slot_of_row(begin));
    store_.keep(kept);
    if (begin == rows_) {
      sort_by_slot();
    } else if (keeps_queries_) {
      for (index_t c = 0; c < clusters(); ++c) store_.load(queries_[at(c)], slot_[at(c)]);
    }
  }

  void sort_by_slot() {
    std::vector<std::vector<index_t>> sorted(members_.size());
    std::vector<index_t> sizes(members_.size());
    for (std::size_t c = 0; c < members_.size(); ++c) {
      sorted[at(slot_[c])] = std::move(members_[c]);
      sizes[at(slot_[c])] = size_[c];
    }
    members_ = std::move(sorted);
    size_ = std::move(sizes);
    std::iota(slot_.begin(), slot_.end(), index_t{0});
  }

  /// Scores worth a fork and join.
  static constexpr index_t worth_sharing = 65536;

  Store store_;
  table_view X_;
  thread_team& team_;
  progress_meter& progress_;
  index_t rows_;
  double log_alpha_;
  bool may_keep_queries_;
  bool keeps_queries_ = false;
  std::vector<bool> taken_;
  index_t shift_ = 0;  ///< rows dropped, less those that are clusters
  std::vector<std::vector<index_t>> members_;
  std::vector<index_t> size_;  ///< rows that the members stand for
  std::vector<index_t> slot_;
  index_t block_ = 0;
  std::vector<double> values_;  ///< gain + log_joining of each cluster and row of the block
  std::vector<index_t> best_;   ///< the cluster a row of the block would join, -1: its own
  std::vector<double> best_value_;
  std::vector<typename Store::query> queries_;  ///< of the clusters, where they keep them
  typename Store::query query_;
};

template <class Model>
class bayes_kmeans {
 public:
  bayes_kmeans(const Model& model, const table_view& X, const bayes_kmeans_options& options,
               thread_team& team, progress_meter& progress)
      : model_(model),
        X_(X),
        options_(options),
        team_(team),
        progress_(progress),
        grown_(X.rows(), cost_kind::log_d) {}

  /// This or the next, once.
  [[nodiscard]] std::vector<index_t> groups(const std::vector<index_t>& seeds, index_t most) {
    row_assignment<store_type> assigned(make_store<evidence_score>(model_, X_), X_, options_.alpha,
                                        team_, progress_);
    assigned.run(seeds);
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
    grow_below(assigned.store());
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
    const auto count = static_cast<index_t>(clusters_.size());
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

  /// The trees below, first those that take all threads.
  void grow_below(const store_type& whole) {
    below_.resize(clusters_.size());
    for (auto& rows : clusters_) std::sort(rows.begin(), rows.end());
    std::vector<std::size_t> small;
    for (std::size_t c = 0; c < clusters_.size(); ++c) {
      if (static_cast<index_t>(clusters_[c].size()) <= options_.exact_rows) {
        small.push_back(c);
      } else {
        below_[c] = randomized(c, whole);
      }
    }
    team_.run(
        static_cast<index_t>(small.size()),
        [&](int thread, index_t i) { below_[small[at(i)]] = exact(small[at(i)], thread, whole); },
        [&] { progress_.tick(); });
    for (std::size_t c = 0; c < clusters_.size(); ++c) {
      roots_.push_back(graft(grown_, below_[c], clusters_[c]));
      excess_.push_back(below_[c].merges() == 0 ? 0.0 : softplus(below_[c].cost().back()));
    }
    below_.clear();
  }

  [[nodiscard]] tree randomized(std::size_t c, const store_type& whole) {
    using growth_of_model = randomized_growth<Model>;
    growth_of_model growth(model_, X_, options_.alpha, options_.exact_rows,
                           options_.seed + 0xD1B54A32D192ED03U * (c + 1),
                           growth_of_model::opens::leaves, whole);
    const tree grown = growth.run(clusters_[c], team_, progress_);
    gathered_rows gathered(X_);
    gathered.assign(clusters_[c]);
    return with_log_d(grown, gathered.view(), model_, options_.alpha, team_, progress_);
  }

  [[nodiscard]] tree exact(std::size_t c, int thread, const store_type& whole) {
    if (clusters_[c].size() == 1) return tree_builder(1, cost_kind::log_d).finish();
    progress_meter own(ticks_of(thread, progress_), 1);
    gathered_rows gathered(X_);
    gathered.assign(clusters_[c]);
    return agglomerate(make_store_alike<evidence_score>(whole, model_, gathered.view()),
                       log_d_rule(gathered.view(), options_.alpha), 1, own);
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
  std::vector<tree> below_;
  tree_builder grown_;
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
/// are merged while it rises. Greedy BHC makes a tree of the clusters, and one below each cluster,
/// or randomised BHC where it has more than `exact_rows` rows. tree::cost() holds log d of each
/// merge. For k clusters O(nk + k²) scores and the trees below; memory as greedy_bhc. With all rows
/// as seeds and no merging greedy_bhc's own tree; the same tree for any number of threads.
template <class Family>
[[nodiscard]] tree bayes_kmeans_bhc(const table_view& X, const Family& family,
                                    const bayes_kmeans_options& options = {}) {
  check_alpha(options.alpha);
  require(options.exact_rows >= 2, [&] {
    return "exact_rows is " + std::to_string(options.exact_rows) + "; it must be at least 2";
  });
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

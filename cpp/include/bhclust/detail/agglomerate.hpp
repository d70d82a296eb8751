/// @file
/// Greedy agglomeration by any pair cost that depends on the two clusters alone.
#pragma once

#include <bhclust/detail/indexed_heap.hpp>
#include <bhclust/detail/live_clusters.hpp>
#include <bhclust/progress.hpp>
#include <bhclust/tree.hpp>
#include <bhclust/work.hpp>

#include <tuple>
#include <utility>
#include <vector>

namespace bhclust::detail {

/// The pair a cluster proposes: itself and its best older partner. Order: cost, newer id, older id.
struct proposal {
  double cost;
  index_t newer, older;

  friend bool operator<(const proposal& a, const proposal& b) noexcept {
    return std::tie(a.cost, a.newer, a.older) < std::tie(b.cost, b.newer, b.older);
  }
};

template <class Rule>
using rule_offset_t =
    decltype(std::declval<const Rule&>().offset(std::declval<index_t>(), std::declval<index_t>()));

template <class Rule>
using rule_costs_t = decltype(std::declval<const Rule&>().costs_of(
    std::declval<index_t>(), std::declval<index_t>(), std::declval<index_t>(),
    std::declval<double*>()));

template <class Rule>
using rule_same_offsets_t = std::enable_if_t<Rule::same_offsets>;

/// The costs of pairs with slot a, as searches take them.
template <class Rule>
struct costs_from {
  static constexpr bool same_offsets = has<rule_same_offsets_t, Rule>;

  const Rule& rule;
  index_t a;

  [[nodiscard]] double operator()(index_t b, double gain) const { return rule.cost(a, b, gain); }
  template <class R = Rule, class = rule_offset_t<R>>
  [[nodiscard]] double offset(index_t b) const {
    return rule.offset(a, b);
  }
  template <class R = Rule, class = rule_costs_t<R>>
  void of_gains(index_t begin, index_t count, double* gains) const {
    rule.costs_of(a, begin, count, gains);
  }
  template <class R = Rule, class = rule_offset_t<R>>
  [[nodiscard]] double row_offset() const {
    return rule.row_offset(a);
  }
};

/// "The newer cluster owns the pair": a live cluster keeps its best partner among older ones. That
/// entry never improves, as clusters are only born newer; it goes stale when its partner dies, is
/// then still a lower bound, and is searched again only when it reaches the top of the heap.
///
/// `Rule` turns gains into costs and follows the slots:
///     double cost(index_t a, index_t b, double gain) const   // +inf when b was retired
///     double offset(index_t a, index_t b) const       // optional, with the next, for stores
///     double row_offset(index_t a) const              // that search: see cost_offsets
///     void costs_of(index_t a, index_t begin, index_t count, double* gains) const  // optional:
///                                                     // those of slots from begin on, in place
///     static constexpr bool same_offsets              // [false]
///     void retire(index_t slot)
///     void append(double cost, index_t size)          // the new youngest slot
///     void keep(const std::vector<index_t>& slots)
///     bool goes_on(double cost) const                 // whether a merge at this cost is made
///     static constexpr cost_kind costs
template <class Store, class Rule>
class agglomeration {
 public:
  agglomeration(Store store, Rule rule, index_t rows, thread_team& team, progress_meter& progress)
      : clusters_(std::move(store), rows, team, progress),
        rule_(std::move(rule)),
        progress_(progress),
        grown_(rows, Rule::costs),
        heap_(2 * rows - 1) {}

  [[nodiscard]] const work_counts& work() const noexcept { return work_; }

  /// Once.
  [[nodiscard]] tree run() {
    propose_rows();
    while (clusters_.live() > 1) {
      const proposal best = heap_.top_priority();
      require(best.older >= 0,
              "no pair of clusters has a finite score; the hyperparameters are out of all "
              "proportion to X: rescale X or use from_data");
      if (!clusters_.alive(best.older)) {
        work_.pairs_rescored += clusters_.slot(best.newer);
        propose(best.newer);
      } else if (rule_.goes_on(best.cost)) {
        merge(best);
      } else {
        break;
      }
    }
    return std::move(grown_).finish();
  }

 private:
  void propose_rows() {
    const auto best =
        clusters_.nearest_older([this](index_t a) { return costs_from<Rule>{rule_, a}; });
    for (index_t i = 0; i < static_cast<index_t>(best.size()); ++i) {
      put(i, best[static_cast<std::size_t>(i)]);
    }
    const index_t n = clusters_.live();
    work_.searches += n - 1;
    work_.pairs_scored += n * (n - 1) / 2;
    progress_.advance(n);
  }

  void put(index_t newer, const neighbour& found) {
    heap_.put(newer, {found.cost, newer, found.node});
  }

  void propose(index_t newer) {
    const index_t a = clusters_.slot(newer);
    ++work_.searches;
    work_.pairs_scored += a;
    put(newer, clusters_.nearest(newer, a, costs_from<Rule>{rule_, a}));
  }

  void merge(const proposal& best) {
    const index_t made = grown_.join(best.older, best.newer, best.cost);
    for (const index_t child : {best.older, best.newer}) {
      heap_.erase(child);
      rule_.retire(clusters_.slot(child));
    }
    clusters_.merge(best.older, best.newer, made);
    rule_.append(best.cost, grown_.size(made));
    if (clusters_.sparse()) rule_.keep(clusters_.compact());
    propose(made);
    progress_.advance(1);
  }

  live_clusters<Store> clusters_;
  Rule rule_;
  progress_meter& progress_;
  tree_builder grown_;
  indexed_heap<proposal> heap_;
  work_counts work_;
};

/// Runs an agglomeration over what is in a store; progress has a total of 2 n - 1. `work`, unless
/// null, is told what was done.
template <class Store, class Rule>
[[nodiscard]] tree agglomerate(Store store, Rule rule, int n_threads, progress_meter& progress,
                               work_counts* work = nullptr) {
  thread_team team(n_threads);
  const index_t n = store.slots();
  agglomeration<Store, Rule> run(std::move(store), std::move(rule), n, team, progress);
  tree grown = run.run();
  if (work != nullptr) *work = run.work();
  progress.finish();
  return grown;
}

/// The same over the store of a model.
template <class Score, class Model, class Rule>
[[nodiscard]] tree agglomerate(const Model& model, const table_view& X, Rule rule, int n_threads,
                               progress_meter& progress, work_counts* work = nullptr) {
  return agglomerate(make_store<Score>(model, X), std::move(rule), n_threads, progress, work);
}

}  // namespace bhclust::detail

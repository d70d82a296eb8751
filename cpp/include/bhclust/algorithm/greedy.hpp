/// @file
/// Greedy Bayesian hierarchical clustering (Heller & Ghahramani 2005), exact.
#pragma once

#include <bhclust/detail/indexed_heap.hpp>
#include <bhclust/detail/live_clusters.hpp>
#include <bhclust/detail/log_space.hpp>
#include <bhclust/detail/special.hpp>
#include <bhclust/family.hpp>
#include <bhclust/progress.hpp>
#include <bhclust/tree.hpp>

#include <limits>
#include <tuple>
#include <utility>
#include <vector>

namespace bhclust {

struct greedy_options {
  double alpha = 1.0;  ///< DP concentration, > 0
  int n_threads = 0;   ///< 0: all cores; the tree does not depend on it
  progress_function progress{};
};

/// Refuses a concentration that is not a finite number above 0.
inline void check_alpha(double alpha) {
  require(alpha > 0.0 && std::isfinite(alpha), [&] {
    return "alpha is " + detail::number(alpha) +
           "; the concentration must be a finite number above 0 (1.0 is a usual choice)";
  });
}

namespace detail {

/// The pair a cluster proposes: itself and its best older partner. Order: log d, newer id, older id.
struct proposal {
  double log_d;
  index_t newer, older;

  friend bool operator<(const proposal& a, const proposal& b) noexcept {
    return std::tie(a.log_d, a.newer, a.older) < std::tie(b.log_d, b.newer, b.older);
  }
};

/// "The newer cluster owns the pair": a live cluster keeps its best partner among older ones. That
/// entry never improves, as clusters are only born newer; it goes stale when its partner dies, is
/// then still a lower bound, and is searched again only when it reaches the top of the heap.
template <class Store>
class greedy_run {
 public:
  greedy_run(Store store, index_t rows, double alpha, thread_team& team, progress_meter& progress)
      : clusters_(std::move(store), rows, team, progress),
        progress_(progress),
        grown_(rows),
        heap_(2 * rows - 1),
        log_alpha_(std::log(alpha)) {
    log_factorial_.reserve(at(rows + 1));
    for (index_t m = 0; m <= rows; ++m) {
      log_factorial_.push_back(m == 0 ? 0.0 : log_gamma(static_cast<double>(m)));
    }
    bias_.assign(at(rows), 0.0);
    size_.assign(at(rows), 1);
  }

  [[nodiscard]] tree run() && {
    propose_rows();
    while (clusters_.live() > 1) {
      const proposal best = heap_.top_priority();
      if (clusters_.alive(best.older)) {
        merge(best);
      } else {
        propose(best.newer);
      }
    }
    return std::move(grown_).finish();
  }

 private:
  [[nodiscard]] static std::size_t at(index_t i) noexcept { return static_cast<std::size_t>(i); }

  /// log d of clusters in slots a and b, from their gain L_ab - L_a - L_b. With
  /// S_c = log(p̃_T(c) / p̃_H(c)) and bias_c = S_c + lnΓ(n_c), +inf for dead slots:
  /// log d = bias_a + bias_b + log α - lnΓ(n_a + n_b) - gain.
  [[nodiscard]] double log_d(index_t a, index_t b, double gain) const noexcept {
    return ((bias_[at(a)] + bias_[at(b)]) + (log_alpha_ - log_factorial_[at(size_[at(a)] + size_[at(b)])])) - gain;
  }

  void propose_rows() {
    const auto best = clusters_.nearest_older(
        [this](index_t a, index_t b, double gain) { return log_d(a, b, gain); });
    for (index_t i = 0; i < static_cast<index_t>(best.size()); ++i) put(i, best[at(i)]);
    progress_.advance(clusters_.live());
  }

  void put(index_t newer, const neighbour& found) {
    heap_.put(newer, {found.cost, newer, found.node});
  }

  void propose(index_t newer) {
    const index_t end = clusters_.slot(newer);
    put(newer, clusters_.nearest(newer, end, [this, end](index_t slot, double gain) {
      return log_d(end, slot, gain);
    }));
  }

  void merge(const proposal& best) {
    const index_t made = grown_.join(best.older, best.newer, best.log_d);
    for (const index_t child : {best.older, best.newer}) {
      heap_.erase(child);
      bias_[at(clusters_.slot(child))] = std::numeric_limits<double>::infinity();
    }
    clusters_.merge(best.older, best.newer, made);
    const index_t size = grown_.size(made);
    bias_.push_back(softplus(best.log_d) + log_factorial_[at(size)]);
    size_.push_back(size);
    if (clusters_.sparse()) {
      const auto kept = clusters_.compact();
      keep_entries(bias_, kept);
      keep_entries(size_, kept);
    }
    propose(made);
    progress_.advance(1);
  }

  live_clusters<Store> clusters_;
  progress_meter& progress_;
  tree_builder grown_;
  indexed_heap<proposal> heap_;
  double log_alpha_;
  std::vector<double> log_factorial_;  ///< lnΓ(m) for sizes m
  std::vector<double> bias_;
  std::vector<index_t> size_;
};

}  // namespace detail

/// The greedy BHC tree: at every step the pair with the smallest log d is merged, ties by the newer
/// cluster's id, then the older's. tree::cost() holds log d of each merge. About n² scores, O(n)
/// memory beyond the statistics; the same tree for any number of threads.
template <class Family>
[[nodiscard]] tree greedy_bhc(const table_view& X, const Family& family,
                              const greedy_options& options = {}) {
  check_alpha(options.alpha);
  const auto model = bind(family, X);
  detail::thread_team team(options.n_threads);
  detail::progress_meter progress(options.progress, 2 * X.rows() - 1);
  using store = decltype(detail::make_store<detail::evidence_score>(model, X));
  detail::greedy_run<store> run(detail::make_store<detail::evidence_score>(model, X), X.rows(),
                                options.alpha, team, progress);
  tree grown = std::move(run).run();
  progress.finish();
  return grown;
}

}  // namespace bhclust

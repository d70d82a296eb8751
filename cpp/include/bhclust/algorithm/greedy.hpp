/// @file
/// Greedy Bayesian hierarchical clustering (Heller & Ghahramani 2005), exact.
#pragma once

#include <bhclust/concentration.hpp>
#include <bhclust/detail/agglomerate.hpp>
#include <bhclust/detail/borrowed_store.hpp>
#include <bhclust/detail/equal_rows.hpp>
#include <bhclust/detail/graft.hpp>
#include <bhclust/detail/log_space.hpp>
#include <bhclust/detail/special.hpp>
#include <bhclust/family.hpp>
#include <bhclust/progress.hpp>
#include <bhclust/tree.hpp>
#include <bhclust/work.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>
#include <vector>

namespace bhclust {

struct greedy_options {
  double alpha = 1.0;  ///< DP concentration, > 0
  int n_threads = 0;   ///< 0: all cores; the tree does not depend on it
  progress_function progress{};
  work_counts* work = nullptr;  ///< is told what was done
  bool collapse = false;        ///< equal rows are one cluster from the start, see greedy_bhc
};

namespace detail {

/// How many rows each row of a table stands for.
[[nodiscard]] inline std::vector<index_t> weights_of(const table_view& X) {
  std::vector<index_t> weights;
  weights.reserve(static_cast<std::size_t>(X.rows()));
  for (index_t i = 0; i < X.rows(); ++i) weights.push_back(X.weight(i));
  return weights;
}

/// log d as the cost of a pair. With S_c = log(p̃_T(c) / p̃_H(c)) and bias_c = S_c + lnΓ(n_c):
/// log d(a, b) = bias_a + bias_b + log α - lnΓ(n_a + n_b) - (L_ab - L_a - L_b),
/// in which only L_ab is new to a pair, and nothing large cancels.
class log_d_rule {
 public:
  static constexpr cost_kind costs = cost_kind::log_d;

  log_d_rule(const table_view& X, double alpha)
      : log_d_rule(std::vector<double>(at(X.rows()), 0.0), weights_of(X), alpha) {}

  /// Of rows that stand for themselves.
  log_d_rule(index_t rows, double alpha)
      : log_d_rule(std::vector<double>(at(rows), 0.0), std::vector<index_t>(at(rows), 1), alpha) {}

  /// Of clusters with trees of their own: S and the number of rows of each.
  log_d_rule(std::vector<double> excess, std::vector<index_t> sizes, double alpha)
      : log_alpha_(std::log(alpha)), bias_(std::move(excess)), size_(std::move(sizes)) {
    const index_t rows = std::accumulate(size_.begin(), size_.end(), index_t{0});
    const index_t known = std::min(rows, sizes_known(static_cast<index_t>(size_.size())));
    size_term_.reserve(at(known + 1));
    size_term_.push_back(0.0);
    for (index_t m = 1; m <= known; ++m) size_term_.push_back(log_alpha_ - log_factorial(m));
    for (std::size_t c = 0; c < size_.size(); ++c) bias_[c] += log_factorial(size_[c]);
    const auto larger = std::find_if(size_.begin(), size_.end(), [](index_t m) { return m != 1; });
    single_rows_ = larger - size_.begin();
  }

  [[nodiscard]] double cost(index_t a, index_t b, double gain) const noexcept {
    return offset(a, b) - gain;
  }
  /// The costs of slots from begin on in place of their gains.
  void costs_of(index_t a, index_t begin, index_t count, double* gains) const noexcept {
    const double own = bias_[at(a)];
    const double term = size_term(size_[at(a)] + 1);
    const double* bias = bias_.data() + begin;
    const index_t rows = std::clamp(single_rows_ - begin, index_t{0}, count);
    // where a row was retired its bias, which is infinite, is all that matters
    for (index_t i = 0; i < rows; ++i) gains[i] = ((own + bias[i]) + term) - gains[i];
    for (index_t i = rows; i < count; ++i) gains[i] = cost(a, begin + i, gains[i]);
  }
  /// What the gain is taken from.
  [[nodiscard]] double offset(index_t a, index_t b) const noexcept {
    return (bias_[at(a)] + bias_[at(b)]) + size_term(size_[at(a)] + size_[at(b)]);
  }
  /// Of any live row b of weight 1.
  [[nodiscard]] double row_offset(index_t a) const noexcept {
    return (bias_[at(a)] + 0.0) + size_term(size_[at(a)] + 1);
  }
  /// Size 0 keeps the size of a union with a dead slot within the table.
  void retire(index_t slot) {
    bias_[at(slot)] = std::numeric_limits<double>::infinity();
    retired_ += std::exchange(size_[at(slot)], 0);
  }
  /// The union of what was retired since the last; the agglomeration's sizes count its own leaves.
  void append(double log_d, index_t) {
    const index_t size = std::exchange(retired_, 0);
    bias_.push_back(softplus(log_d) + log_factorial(size));
    size_.push_back(size);
  }
  void keep(const std::vector<index_t>& slots) {
    keep_entries(bias_, slots);
    keep_entries(size_, slots);
    single_rows_ = std::lower_bound(slots.begin(), slots.end(), single_rows_) - slots.begin();
  }
  [[nodiscard]] static bool goes_on(double) noexcept { return true; }

 private:
  [[nodiscard]] static std::size_t at(index_t i) noexcept { return static_cast<std::size_t>(i); }
  [[nodiscard]] static double log_factorial(index_t m) noexcept {
    return log_gamma(static_cast<double>(m));
  }
  /// Sizes up to which terms are tabulated: no more than there are pairs to be scored. Groups may
  /// have many more rows.
  [[nodiscard]] static index_t sizes_known(index_t clusters) noexcept {
    constexpr index_t least = 4096;
    constexpr index_t most = 4194304;
    return clusters < 4096 ? std::clamp(clusters * clusters / 4, least, most) : most;
  }
  [[nodiscard]] double size_term(index_t m) const noexcept {
    return m < static_cast<index_t>(size_term_.size()) ? size_term_[at(m)]
                                                       : log_alpha_ - log_factorial(m);
  }

  double log_alpha_;
  std::vector<double> size_term_;  ///< log α - lnΓ(m) at m
  std::vector<double> bias_;
  std::vector<index_t> size_;
  index_t single_rows_ = 0;  ///< the first so many slots are rows that stand for themselves
  index_t retired_ = 0;      ///< rows of the clusters whose union comes next
};

/// Rows that equal others of the table, set by set, in the order of their first rows.
[[nodiscard]] inline std::vector<std::vector<index_t>> sets_of_equal_rows(const table_view& X) {
  const equal_rows equal(X);
  std::vector<std::vector<index_t>> sets(static_cast<std::size_t>(equal.groups()));
  index_t row = 0;
  for (const auto group : equal.group_of_row())
    sets[static_cast<std::size_t>(group)].push_back(row++);
  sets.erase(std::remove_if(sets.begin(), sets.end(), [](const auto& s) { return s.size() == 1; }),
             sets.end());
  return sets;
}

/// Greedy BHC of the clusters that equal rows make. Below each a row at a time joins, as rows do
/// that are far from all others.
template <class Model>
class collapsed_agglomeration {
 public:
  collapsed_agglomeration(const Model& model, const table_view& X, double alpha, thread_team& team,
                          progress_meter& progress)
      : store_(make_store<evidence_score>(model, X)),
        alpha_(alpha),
        team_(team),
        progress_(progress),
        live_(lent(store_), X.rows(), team, progress),
        grown_(X.rows(), cost_kind::log_d),
        excess_(static_cast<std::size_t>(X.rows()), 0.0) {
    for (const auto& rows : sets_of_equal_rows(X)) join(rows);
    live_.compact();
  }

  /// Once.
  [[nodiscard]] tree run(work_counts* work) {
    std::vector<index_t> roots;
    std::vector<index_t> sizes;
    std::vector<double> excess;
    for (index_t s = 0; s < live_.slots(); ++s) {
      roots.push_back(live_.node(s));
      sizes.push_back(grown_.size(roots.back()));
      excess.push_back(excess_[static_cast<std::size_t>(roots.back())]);
    }
    agglomeration<lent, log_d_rule> above(lent(store_),
                                          log_d_rule(std::move(excess), std::move(sizes), alpha_),
                                          live_.slots(), team_, progress_);
    static_cast<void>(graft(grown_, above.run(), std::move(roots)));
    if (work != nullptr) *work = above.work();
    return std::move(grown_).finish();
  }

 private:
  using store_type = typename store_for<Model, evidence_score>::type;
  using lent = borrowed_store<store_type>;

  void join(const std::vector<index_t>& rows) {
    const auto count = static_cast<index_t>(rows.size());
    log_d_rule rule(count, alpha_);
    index_t whole = rows.front();
    index_t slot = 0;  // of the whole, to the rule
    for (index_t r = 1; r < count; ++r) {
      const index_t row = rows[static_cast<std::size_t>(r)];
      const double log_d = rule.cost(slot, r, live_.gain(whole, row));
      const index_t made = grown_.join(std::min(whole, row), std::max(whole, row), log_d);
      excess_.push_back(softplus(log_d));
      live_.merge(whole, row, made);
      if (live_.sparse()) live_.compact();
      rule.retire(slot);
      rule.retire(r);
      rule.append(log_d, r + 1);
      slot = count + r - 1;
      whole = made;
      progress_.advance(1);
    }
  }

  store_type store_;
  double alpha_;
  thread_team& team_;
  progress_meter& progress_;
  live_clusters<lent> live_;
  tree_builder grown_;
  std::vector<double> excess_;  ///< of each node: log(p̃_T / p̃_H)
};

/// See greedy_options::collapse.
template <class Model>
[[nodiscard]] tree collapsed_bhc(const Model& model, const table_view& X,
                                 const greedy_options& options, progress_meter& progress) {
  thread_team team(options.n_threads);
  tree grown =
      collapsed_agglomeration<Model>(model, X, options.alpha, team, progress).run(options.work);
  progress.finish();
  return grown;
}

}  // namespace detail

/// The greedy BHC tree: at every step the pair with the smallest log d is merged, ties by the newer
/// cluster's id, then the older's. tree::cost() holds log d of each merge. About n² scores, O(n)
/// memory beyond the statistics; the same tree for any number of threads. Equal rows need not merge
/// first, as rarer ones may gain more; `options.collapse` merges them first all the same, one by
/// one, and then scores each set of them as the one cluster it is: another tree, and less work.
/// Of a table of groups (groups.hpp) each is a leaf; these do not collapse.
template <class Family>
[[nodiscard]] tree greedy_bhc(const table_view& X, const Family& family,
                              const greedy_options& options = {}) {
  check_alpha(options.alpha);
  detail::progress_meter progress(options.progress, 2 * X.rows() - 1);
  require(!options.collapse || !X.grouped(), "collapse is for rows; X is a table of groups");
  if (options.collapse) return detail::collapsed_bhc(bind(family, X), X, options, progress);
  return detail::agglomerate<detail::evidence_score>(bind(family, X), X,
                                                     detail::log_d_rule(X, options.alpha),
                                                     options.n_threads, progress, options.work);
}

}  // namespace bhclust

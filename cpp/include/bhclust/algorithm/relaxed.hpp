/// @file
/// RBHC: Bayesian hierarchical clustering in the small-variance limit (Lee & Choi 2015). The cost
/// of a merge is the Bregman divergence d* >= 0 of family.hpp.
#pragma once

#include <bhclust/analysis/cut.hpp>
#include <bhclust/detail/agglomerate.hpp>
#include <bhclust/detail/equal_rows.hpp>
#include <bhclust/detail/live_clusters.hpp>
#include <bhclust/detail/root_clusters.hpp>
#include <bhclust/detail/tree_by_height.hpp>
#include <bhclust/detail/ward_rounds.hpp>
#include <bhclust/family.hpp>
#include <bhclust/progress.hpp>
#include <bhclust/tree.hpp>
#include <bhclust/work.hpp>

#include <limits>
#include <optional>
#include <utility>
#include <vector>

namespace bhclust {

/// Ways to RBHC's tree, which differ in time and in what families they take.
enum class relaxed_method {
  automatic,  ///< rounds where they can be had and are quicker, else the chain
  rounds,    ///< all reciprocal nearest neighbours at once: Ward's cost, and divergences of counts,
             ///< bits and codes, without missing cells; exact where d* is reducible
  nn_chain,  ///< nearest-neighbour chain: about 3 n² scores at most, exact where d* is reducible
  greedy,    ///< the smallest d* of all pairs at every step: the reference
};

/// Where `relaxed_bhc` ends, and how it gets there.
struct relaxed_options {
  /// Merges cost less than this (> 0, same units as d*); +inf gives one tree.
  double lambda = std::numeric_limits<double>::infinity();
  /// Cut the one tree to this many roots in place of lambda; 0: do not.
  index_t n_clusters = 0;
  relaxed_method method = relaxed_method::automatic;
  int n_threads = 0;  ///< 0: all cores; the tree does not depend on it
  progress_function progress{};
  work_counts* work = nullptr;  ///< is told what was done
};

namespace detail {

/// d* as the cost of a pair, up to λ.
class divergence_rule {
 public:
  static constexpr cost_kind costs = cost_kind::divergence;
  static constexpr bool same_offsets = true;

  divergence_rule(index_t rows, double lambda)
      : lambda_(lambda), offset_(static_cast<std::size_t>(rows)) {}

  [[nodiscard]] double cost(index_t a, index_t b, double gain) const noexcept {
    return offset(a, b) - gain;
  }
  [[nodiscard]] double offset(index_t, index_t b) const noexcept {
    return offset_[static_cast<std::size_t>(b)];
  }
  [[nodiscard]] static double row_offset(index_t) noexcept { return 0.0; }
  void retire(index_t slot) {
    offset_[static_cast<std::size_t>(slot)] = std::numeric_limits<double>::infinity();
  }
  void append(double, index_t) { offset_.push_back(0.0); }
  void keep(const std::vector<index_t>& slots) { keep_entries(offset_, slots); }
  [[nodiscard]] bool goes_on(double cost) const noexcept { return cost < lambda_; }

 private:
  double lambda_;
  std::vector<double> offset_;  ///< +inf for what was retired
};

/// The nearest-neighbour chain: follow nearest neighbours until two clusters are each other's,
/// merge them, go on from what is left of the chain. Costs along the chain fall strictly (the cost
/// that brought a cluster onto the chain is kept and must be beaten), so that ties and rounding
/// cannot make it run in circles; among equals the predecessor, then the smallest id is nearest.
template <class Store>
class chain_run {
 public:
  chain_run(Store store, index_t rows, double lambda, thread_team& team, progress_meter& progress)
      : clusters_(std::move(store), rows, team, progress),
        lambda_(lambda),
        progress_(progress),
        grown_(rows, cost_kind::divergence) {}

  [[nodiscard]] const work_counts& work() const noexcept { return work_; }

  /// Joins rows that are equal, which costs nothing. Before run().
  void join_equal(const equal_rows& equal) {
    if (equal.groups() == clusters_.live()) return;
    join_equal_rows(
        equal.group_of_row(), equal.groups(), [&](index_t a, index_t b) { merge(a, b, 0.0); },
        [](index_t, index_t, index_t) {});
  }

  /// Once.
  [[nodiscard]] tree run() {
    while (clusters_.live() > 1) {
      if (chain_.empty()) chain_.push_back({infinite, oldest()});
      const neighbour next = search();
      if (next.node < 0 || !(next.cost < chain_.back().cost)) {
        close();
      } else if (on_chain(next.node)) {
        cut_back_to(next);
      } else {
        chain_.push_back(next);
      }
    }
    return std::move(grown_).finish();
  }

 private:
  static constexpr double infinite = std::numeric_limits<double>::infinity();

  /// d* of live clusters but the one in slot `here`.
  struct costs_of {
    static constexpr bool same_offsets = true;
    const live_clusters<Store>& clusters;
    index_t here;

    [[nodiscard]] double operator()(index_t slot, double gain) const { return offset(slot) - gain; }
    [[nodiscard]] double offset(index_t slot) const {
      return slot != here ? clusters.penalty(slot) : infinite;
    }
    [[nodiscard]] static double row_offset() noexcept { return 0.0; }
  };

  [[nodiscard]] index_t oldest() {
    while (!clusters_.alive_slot(first_)) ++first_;
    return clusters_.node(first_);
  }

  [[nodiscard]] bool on_chain(index_t node) const noexcept {
    return node < static_cast<index_t>(on_chain_.size()) &&
           on_chain_[static_cast<std::size_t>(node)] != 0;
  }

  [[nodiscard]] neighbour search() {
    const index_t of = chain_.back().node;
    mark(of, 1);
    ++work_.searches;
    work_.pairs_scored += clusters_.slots() - 1;
    return clusters_.nearest(of, clusters_.slots(), costs_of{clusters_, clusters_.slot(of)},
                             chain_.back().cost);
  }

  void mark(index_t node, unsigned char on) {
    if (node >= static_cast<index_t>(on_chain_.size())) {
      on_chain_.resize(static_cast<std::size_t>(node) + 1, 0);
    }
    on_chain_[static_cast<std::size_t>(node)] = on;
  }

  /// The last two of the chain are reciprocal nearest neighbours: merge them, or, when that costs
  /// λ or more, both are finished. A lone cluster whose neighbours are all at +inf is finished too.
  void close() {
    const neighbour last = take();
    if (chain_.empty()) {
      finish(last.node);
      return;
    }
    const neighbour before = take();
    if (!(last.cost < lambda_)) {
      finish(last.node);
      finish(before.node);
      return;
    }
    const auto [a, b] = std::minmax(last.node, before.node);
    merge(a, b, last.cost);
  }

  void merge(index_t a, index_t b, double cost) {
    clusters_.merge(a, b, grown_.join(a, b, cost));
    progress_.advance(1);
    if (clusters_.sparse()) {
      clusters_.compact();
      first_ = 0;
    }
  }

  /// Where d* is not reducible, a cluster made since may lie nearer to the tip than the tip's
  /// predecessor does, or rounding may say so: the tip goes behind its neighbour.
  void cut_back_to(const neighbour& next) {
    const index_t tip = take().node;
    while (chain_.back().node != next.node) take();
    chain_.push_back({next.cost, tip});
  }

  neighbour take() {
    const neighbour end = chain_.back();
    chain_.pop_back();
    mark(end.node, 0);
    return end;
  }

  void finish(index_t node) {
    clusters_.retire(node);
    progress_.advance(1);
  }

  live_clusters<Store> clusters_;
  double lambda_;
  progress_meter& progress_;
  tree_builder grown_;
  std::vector<neighbour> chain_;  ///< cost: of the step that led to the node
  std::vector<unsigned char> on_chain_;
  index_t first_ = 0;
  work_counts work_;
};

template <class Model>
[[nodiscard]] tree nn_chain(const Model& model, const table_view& X, const relaxed_options& options,
                            progress_meter& progress) {
  thread_team team(options.n_threads);
  using store = typename store_for<Model, relaxed_score>::type;
  chain_run<store> run(make_store<relaxed_score>(model, X), X.rows(), options.lambda, team,
                       progress);
  run.join_equal(equal_rows(X));
  tree grown = run.run();
  if (options.work != nullptr) *options.work = run.work();
  progress.finish();
  return grown;
}

/// The points of Ward's method: a table's rows, or its groups' means with the numbers of their
/// rows.
class ward_input {
 public:
  template <class Model>
  ward_input(const Model& model, const table_view& X) : units_(model.ward_units()), view_(X) {
    const bool means = !X.grouped() || units_.empty() || collect_means(model, X);
    can_ = means && !units_.empty() && ward_points::takes(view_, units_);
  }

  /// Whether d* is Ward's cost, of cells that its rounds take.
  [[nodiscard]] bool can() const noexcept { return can_; }
  [[nodiscard]] const table_view& points() const noexcept { return view_; }
  [[nodiscard]] const std::vector<double>& units() const noexcept { return units_; }

 private:
  /// Whether every group has as many values in each column, which its weight must be.
  template <class Model>
  [[nodiscard]] bool collect_means(const Model& model, const table_view& X) {
    means_.resize(static_cast<std::size_t>(X.rows() * X.columns()));
    pacer pace;
    for (index_t i = 0; i < X.rows(); ++i) {
      pace(X.width());
      const double n = model.ward_mean(X.row(i).values(), means_.data() + i * X.columns());
      if (n != static_cast<double>(X.weight(i))) return false;
      weights_.push_back(X.weight(i));
    }
    view_ = rows(means_.data(), X.rows(), X.columns()).with_weights(weights_.data());
    return true;
  }

  std::vector<double> units_, means_;
  std::vector<index_t> weights_;
  table_view view_;
  bool can_ = false;
};

/// Rounds of divergences that root_clusters.hpp bounds; nothing where the chain is quicker and may
/// be chosen: of few rows, or where boxes of them exclude little.
template <class Model>
[[nodiscard]] std::optional<tree> rounds_of_roots(const Model& model, const table_view& X,
                                                  const relaxed_options& options,
                                                  progress_meter& progress) {
  constexpr index_t many = 8192;
  constexpr double little = 0.35;
  const bool asked_for = options.method == relaxed_method::rounds;
  if (!asked_for && X.rows() < many) return std::nullopt;
  if (X.grouped() || !root_points<Model>::takes(model, X)) return std::nullopt;
  thread_team team(options.n_threads);
  ward_rounds<root_points<Model>> rounds(root_points<Model>(model, X), X.rows(), options.lambda,
                                         ward_plan::automatic(X.columns()), team, progress);
  if (!asked_for && (rounds.distinct() < many / 2 || rounds.share_looked_at() > little)) {
    return std::nullopt;
  }
  tree grown = tree_by_height(X.rows(), std::move(rounds).run(), 1.0);
  progress.finish();
  return grown;
}

/// By rounds where they can be had and are quicker, else along the chain.
template <class Model>
[[nodiscard]] tree rounds_or_chain(const Model& model, const table_view& X,
                                   const relaxed_options& options, progress_meter& progress) {
  if (options.method != relaxed_method::nn_chain) {
    const ward_input input(model, X);
    if (input.can()) {
      return ward_tree(input.points(), input.units(), options.lambda,
                       ward_plan::automatic(X.columns()), options.n_threads, progress);
    }
    if (auto grown = rounds_of_roots(model, X, options, progress)) return *std::move(grown);
  }
  require(options.method != relaxed_method::rounds,
          "rounds need NormalKnownVariance, or counts, bits or codes, and a table without missing "
          "or extreme cells or empty rows; let the method be chosen automatically");
  return nn_chain(model, X, options, progress);
}

inline void check_relaxed_options(const relaxed_options& options, index_t rows) {
  require(options.lambda > 0.0, [&] {
    return "lam is " + number(options.lambda) +
           "; it must be above 0 (+inf gives one tree; then cut it)";
  });
  const index_t k = options.n_clusters;
  require(k >= 0 && k <= rows, [&] {
    return "n_clusters is " + std::to_string(k) + "; X has " + std::to_string(rows) +
           " rows, so it must be between 1 and that";
  });
  require(k == 0 || !std::isfinite(options.lambda),
          "lam and n_clusters exclude each other; give one of them");
}

}  // namespace detail

/// The RBHC forest: trees of merges that cost less than lambda. tree::cost() holds d* of each merge
/// (raw: it may invert where d* is not reducible; cut.hpp cuts on the running maximum).
/// O(n²) scores at most, O(n) memory beyond the statistics; the same forest for any number of
/// threads. Where d* is Ward's cost (NormalKnownVariance, no missing cells) a million rows take
/// seconds, and nodes are numbered in order of their cost. Of a table of groups (groups.hpp) each
/// is a leaf.
template <class Family>
[[nodiscard]] tree relaxed_bhc(const table_view& X, const Family& family,
                               const relaxed_options& options = {}) {
  const bool greedy = options.method == relaxed_method::greedy;
  detail::progress_meter progress(options.progress, greedy ? 2 * X.rows() - 1 : X.rows());
  const auto model = bind(family, X);
  detail::check_relaxed_options(options, X.rows());
  const auto grow = [&] {
    if (greedy) {
      return detail::agglomerate<detail::relaxed_score>(
          model, X, detail::divergence_rule(X.rows(), options.lambda), options.n_threads, progress,
          options.work);
    }
    return detail::rounds_or_chain(model, X, options, progress);
  };
  tree grown = grow();
  return options.n_clusters == 0 ? grown
                                 : forest_of(grown, nodes_at_count(grown, options.n_clusters));
}

}  // namespace bhclust

/// @file
/// The clusters that an agglomerative algorithm still has to merge: a store of their statistics,
/// the node each slot stands for, and searches over rows of scores.
#pragma once

#include <bhclust/detail/cluster_store.hpp>
#include <bhclust/detail/parallel.hpp>
#include <bhclust/progress.hpp>
#include <bhclust/types.hpp>

#include <algorithm>
#include <chrono>
#include <limits>
#include <utility>
#include <vector>

namespace bhclust::detail {

/// A neighbour found by a search: the node, or -1 for none, and what it costs.
struct neighbour {
  double cost = std::numeric_limits<double>::infinity();
  index_t node = -1;
};

template <class Cost>
using cost_offset_t = decltype(std::declval<const Cost&>().row_offset());
template <class Cost>
using costs_of_gains_t =
    decltype(std::declval<const Cost&>().of_gains(index_t{}, index_t{}, std::declval<double*>()));
template <class Cost>
using same_offsets_t = std::enable_if_t<Cost::same_offsets>;

/// Clusters in order of age (slots ascending = node ids ascending). `Store` is a cluster store.
/// Dead slots are dropped when they are an eighth of all.
template <class Store>
class live_clusters {
 public:
  live_clusters(Store store, index_t rows, thread_team& team, progress_meter& progress)
      : store_(std::move(store)), team_(team), progress_(progress), live_(rows) {
    prepare_searches(store_);
    for (index_t i = 0; i < rows; ++i) append(i);
  }

  [[nodiscard]] index_t live() const noexcept { return live_; }
  [[nodiscard]] index_t slots() const noexcept { return static_cast<index_t>(node_.size()); }
  [[nodiscard]] index_t slot(index_t node) const noexcept { return slot_[at(node)]; }
  [[nodiscard]] index_t node(index_t slot) const noexcept { return node_[at(slot)]; }
  [[nodiscard]] bool alive(index_t node) const noexcept {
    return node < static_cast<index_t>(slot_.size()) && slot_[at(node)] >= 0;
  }
  [[nodiscard]] bool alive_slot(index_t slot) const noexcept { return alive(node(slot)); }
  /// 0 for a live slot, +inf for a dead one: to be added to costs.
  [[nodiscard]] double penalty(index_t slot) const noexcept { return penalty_[at(slot)]; }

  /// Takes a node out, without a successor.
  void retire(index_t node) {
    penalty_[at(slot(node))] = std::numeric_limits<double>::infinity();
    if constexpr (has<searches_t, Store>) {
      if (store_.searches()) store_.retire(slot(node));
    }
    slot_[at(node)] = -1;
    --live_;
  }

  /// Replaces two live nodes by their union, which becomes the youngest node `made`.
  void merge(index_t a, index_t b, index_t made) {
    store_.merge(slot(a), slot(b));
    retire(a);
    retire(b);
    append(made);
    ++live_;
  }

  /// Whether compact() is due: its cost is then covered by the scores saved.
  [[nodiscard]] bool sparse() const noexcept {
    return slots() > 64 && (slots() - live_) * 8 > slots();
  }

  /// Drops the dead slots; returns the kept ones in order (their old numbers).
  std::vector<index_t> compact() {
    std::vector<index_t> kept;
    kept.reserve(at(live_));
    for (index_t s = 0; s < slots(); ++s) {
      if (alive_slot(s)) kept.push_back(s);
    }
    store_.keep(kept);
    keep_entries(node_, kept);
    penalty_.assign(node_.size(), 0.0);
    for (index_t s = 0; s < slots(); ++s) slot_[at(node(s))] = s;
    return kept;
  }

  /// The gain of two live nodes.
  [[nodiscard]] double gain(index_t a, index_t b) {
    double found = 0.0;
    store_.load(query_, slot(a));
    store_.row(query_, slot(b), slot(b) + 1, &found);
    return found;
  }

  /// The cheapest of the slots [0, end) for the node, the earliest slot of equals. `cost(slot,
  /// gain)` turns a gain into a cost; +inf passes the slot over; optional `cost.of_gains(begin,
  /// count, gains)` does so with those of slots from begin on. Stores that search need
  /// `cost.offset(slot)` and `cost.row_offset()` too, and are told by `Cost::same_offsets` that
  /// these are all there are (see cost_offsets). Threads share long searches.
  /// Slots that cost `below` or more may be passed over.
  template <class Cost>
  [[nodiscard]] neighbour nearest(index_t of, index_t end, const Cost& cost,
                                  double below = std::numeric_limits<double>::infinity()) {
    store_.load(query_, slot(of));
    const index_t step = step_of(cost);
    const index_t blocks = (end + step - 1) / step;
    if (blocks <= 1 || !worth_threads(end)) {
      if (team_.size() == 1) return search_here(query_, end, cost, below);
      const auto start = std::chrono::steady_clock::now();
      const neighbour best = search_here(query_, end, cost, below);
      learn_speed(start, end);
      return best;
    }
    found_.assign(at(blocks), {});
    team_.run(
        blocks,
        [&](int, index_t b) {
          std::vector<double> gains(at(block));
          found_[at(b)] =
              search_block(query_, b * step, std::min(end, (b + 1) * step), gains, cost, below);
        },
        [&] { progress_.tick(); });
    neighbour best;
    for (const auto& candidate : found_) take_if_cheaper(best, candidate);
    return best;
  }

  /// The cheapest older slot for every slot: result[s] over [0, s) by costs_of(s), in one threaded
  /// sweep.
  template <class CostsOf>
  [[nodiscard]] std::vector<neighbour> nearest_older(const CostsOf& costs_of) {
    std::vector<neighbour> result(at(slots()));
    struct workspace {
      typename Store::query query;
      std::vector<double> gains;
    };
    std::vector<workspace> spaces(at(team_.size()));
    constexpr index_t stripe = 16;
    const index_t last_stripe = (slots() - 1) / stripe;
    team_.run(
        last_stripe + 1,
        [&](int thread, index_t from_end) {
          auto& space = spaces[at(thread)];
          space.gains.resize(at(std::min(block, slots())));
          const index_t first = (last_stripe - from_end) * stripe;
          for (index_t s = first; s < std::min(slots(), first + stripe); ++s) {
            store_.load(space.query, s);
            const auto cost = costs_of(s);
            const index_t step = alone_step_of(cost);
            for (index_t begin = 0; begin < s; begin += step) {
              take_if_cheaper(result[at(s)],
                              search_block(space.query, begin, std::min(s, begin + step),
                                           space.gains, cost, infinite));
              if (thread == 0) progress_.tick();
            }
          }
        },
        [&] { progress_.tick(); });
    return result;
  }

 private:
  static constexpr double infinite = std::numeric_limits<double>::infinity();
  static constexpr index_t block = 1024;
  /// A fork and join is worth its while for searches longer than this.
  static constexpr double worth_sharing = 200e3;
  static constexpr int first_searches = 16;

  [[nodiscard]] static std::size_t at(index_t i) noexcept { return static_cast<std::size_t>(i); }

  void append(index_t node) {
    slot_.resize(at(node) + 1, -1);
    slot_[at(node)] = slots();
    node_.push_back(node);
    penalty_.push_back(0.0);
  }

  static void take_if_cheaper(neighbour& best, const neighbour& candidate) noexcept {
    if (candidate.node >= 0 && (best.node < 0 || candidate.cost < best.cost)) best = candidate;
  }

  template <class Cost>
  [[nodiscard]] bool store_searches(const Cost&) const {
    return has<cost_offset_t, Cost> && can_search(store_);
  }
  /// Slots a block: stores that search gain from a good neighbour found early; where bounds decide,
  /// parts of a search cost as much as the whole.
  template <class Cost>
  [[nodiscard]] index_t step_of(const Cost& cost) const {
    if (!store_searches(cost)) return block;
    return can_bound(store_) ? slots() + 1 : 16 * block;
  }
  /// The same where no thread shares the search: a store that searches does so once.
  template <class Cost>
  [[nodiscard]] index_t alone_step_of(const Cost& cost) const {
    return store_searches(cost) ? slots() + 1 : block;
  }

  template <class Cost>
  [[nodiscard]] neighbour search_store(const typename Store::query& query, index_t begin,
                                       index_t end, const Cost& cost, double below) const {
    cheapest best{below, -1};
    const auto offset = [&cost](index_t slot) { return cost.offset(slot); };
    store_.search(query, begin, end,
                  cost_offsets(offset, cost.row_offset(), has<same_offsets_t, Cost>), best);
    return best.slot < 0 ? neighbour{} : neighbour{best.cost, node(best.slot)};
  }

  template <class Cost>
  [[nodiscard]] neighbour search_block(const typename Store::query& query, index_t begin,
                                       index_t end, std::vector<double>& gains, const Cost& cost,
                                       double below) const {
    if constexpr (has<cost_offset_t, Cost> && has<searches_t, Store>) {
      if (store_searches(cost)) return search_store(query, begin, end, cost, below);
    }
    double* costs = gains.data();
    const index_t count = end - begin;
    store_.row(query, begin, end, costs);
    if constexpr (has<costs_of_gains_t, Cost>) {
      cost.of_gains(begin, count, costs);
    } else {
      for (index_t i = 0; i < count; ++i) costs[i] = cost(begin + i, costs[i]);
    }
    const index_t best = earliest_minimum(costs, count);
    return best < 0 ? neighbour{} : neighbour{costs[best], node(begin + best)};
  }

  template <class Cost>
  [[nodiscard]] neighbour search_here(const typename Store::query& query, index_t end,
                                      const Cost& cost, double below) {
    neighbour best;
    gains_.resize(std::max(gains_.size(), at(std::min(block, slots()))));
    const index_t step = alone_step_of(cost);
    for (index_t begin = 0; begin < end; begin += step) {
      take_if_cheaper(best,
                      search_block(query, begin, std::min(end, begin + step), gains_, cost, below));
      progress_.tick();
    }
    return best;
  }

  /// The time of a score: the least of the first searches, then a running mean, to which a search
  /// counts as twice the mean at most: one that another process held up says nothing. It only
  /// decides who computes, never what.
  void learn_speed(std::chrono::steady_clock::time_point start, index_t scores) {
    if (scores < 64) return;
    const std::chrono::duration<double, std::nano> spent = std::chrono::steady_clock::now() - start;
    const double a_score = spent.count() / static_cast<double>(scores);
    if (timed_ < first_searches) {
      nanoseconds_ = timed_++ == 0 ? a_score : std::min(nanoseconds_, a_score);
    } else {
      nanoseconds_ += 0.1 * (std::min(a_score, 2.0 * nanoseconds_) - nanoseconds_);
    }
  }

  [[nodiscard]] bool worth_threads(index_t scores) const noexcept {
    return team_.size() > 1 && timed_ >= first_searches &&
           nanoseconds_ * static_cast<double>(scores) >= worth_sharing;
  }

  Store store_;
  thread_team& team_;
  progress_meter& progress_;
  index_t live_;
  std::vector<index_t> node_;
  std::vector<double> penalty_;
  std::vector<index_t> slot_;
  typename Store::query query_;
  std::vector<double> gains_;
  std::vector<neighbour> found_;
  double nanoseconds_ = 0.0;
  int timed_ = 0;
};

}  // namespace bhclust::detail

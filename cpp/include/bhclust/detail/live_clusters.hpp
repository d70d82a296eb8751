/// @file
/// The clusters that an agglomerative algorithm still has to merge: a store of their statistics,
/// the node each slot stands for, and searches over rows of scores.
#pragma once

#include <bhclust/detail/cluster_store.hpp>
#include <bhclust/detail/parallel.hpp>
#include <bhclust/detail/screened_search.hpp>
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

/// Clusters in order of age (slots ascending = node ids ascending). `Store` is a cluster store.
/// Dead slots are dropped when they are an eighth of all.
template <class Store>
class live_clusters {
 public:
  live_clusters(Store store, index_t rows, thread_team& team, progress_meter& progress)
      : store_(std::move(store)), team_(team), progress_(progress), live_(rows) {
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

  /// The cheapest of the slots [0, end) for the node, the earliest slot of equals. `cost(slot,
  /// gain)` turns a gain into a cost; +inf passes the slot over. Threads share long searches.
  template <class Cost>
  [[nodiscard]] neighbour nearest(index_t of, index_t end, const Cost& cost) {
    store_.load(query_, slot(of));
    const index_t blocks = (end + block - 1) / block;
    if (team_.size() == 1 || nanoseconds_ * static_cast<double>(end) < worth_sharing) {
      const auto start = std::chrono::steady_clock::now();
      const neighbour best = search_here(query_, end, cost);
      learn_speed(start, end);
      return best;
    }
    found_.assign(at(blocks), {});
    team_.run(
        blocks,
        [&](int, index_t b) {
          std::vector<double> gains(at(block));
          found_[at(b)] =
              search_block(query_, b * block, std::min(end, (b + 1) * block), gains, cost);
        },
        [&] { progress_.tick(); });
    neighbour best;
    for (const auto& candidate : found_) take_if_cheaper(best, candidate);
    return best;
  }

  /// nearest() by the cost -gain of live slots but the node's own.
  [[nodiscard]] neighbour nearest(index_t of, index_t end) {
    const index_t here = slot(of);
    if constexpr (has<searches_t, Store>) {
      if (store_.searches()) {
        const double own = std::exchange(penalty_[at(here)], infinite);
        store_.load(query_, here);
        const slot_cost found = store_.nearest(query_, end, penalty_.data());
        penalty_[at(here)] = own;
        progress_.tick();
        return neighbour_of(found);
      }
    }
    return nearest(of, end, [this, here](index_t slot, double gain) {
      return slot != here ? penalty(slot) - gain : infinite;
    });
  }

  /// Whether the store searches by bounds.
  [[nodiscard]] bool searches() const { return detail::searches(store_); }

  /// The cheapest older slot for every slot: result[s] over [0, s), in one threaded sweep.
  template <class Cost>
  [[nodiscard]] std::vector<neighbour> nearest_older(const Cost& cost) {
    return for_each_slot([&](workspace& space, index_t s, bool reports) {
      neighbour best;
      space.gains.resize(at(block));
      store_.load(space.query, s);
      for (index_t begin = 0; begin < s; begin += block) {
        take_if_cheaper(
            best, search_block(space.query, begin, std::min(s, begin + block), space.gains,
                               [&](index_t slot, double gain) { return cost(s, slot, gain); }));
        if (reports) progress_.tick();
      }
      return best;
    });
  }

  /// The same by the cost -gain, for stores that search; all slots must be live.
  [[nodiscard]] std::vector<neighbour> nearest_older() {
    return for_each_slot([&](workspace& space, index_t s, bool reports) {
      neighbour best;
      if constexpr (has<searches_t, Store>) {
        store_.load(space.query, s);
        best = neighbour_of(store_.nearest(space.query, s, penalty_.data()));
      }
      if (reports) progress_.tick();
      return best;
    });
  }

 private:
  static constexpr double infinite = std::numeric_limits<double>::infinity();
  static constexpr index_t block = 1024;
  /// A fork and join is worth its while for searches longer than this.
  static constexpr double worth_sharing = 200e3;

  struct workspace {
    typename Store::query query;
    std::vector<double> gains;
  };

  [[nodiscard]] static std::size_t at(index_t i) noexcept { return static_cast<std::size_t>(i); }

  /// result[s] = find(workspace, s, whether this thread reports progress), threaded.
  template <class Find>
  [[nodiscard]] std::vector<neighbour> for_each_slot(const Find& find) {
    std::vector<neighbour> result(at(slots()));
    std::vector<workspace> spaces(at(team_.size()));
    constexpr index_t stripe = 16;
    const index_t last_stripe = (slots() - 1) / stripe;
    team_.run(
        last_stripe + 1,
        [&](int thread, index_t from_end) {
          const index_t first = (last_stripe - from_end) * stripe;
          for (index_t s = first; s < std::min(slots(), first + stripe); ++s) {
            result[at(s)] = find(spaces[at(thread)], s, thread == 0);
          }
        },
        [&] { progress_.tick(); });
    return result;
  }

  void append(index_t node) {
    slot_.resize(at(node) + 1, -1);
    slot_[at(node)] = slots();
    node_.push_back(node);
    penalty_.push_back(0.0);
  }

  [[nodiscard]] neighbour neighbour_of(const slot_cost& found) const noexcept {
    return found.slot < 0 ? neighbour{} : neighbour{found.cost, node(found.slot)};
  }

  static void take_if_cheaper(neighbour& best, const neighbour& candidate) noexcept {
    if (candidate.node >= 0 && (best.node < 0 || candidate.cost < best.cost)) best = candidate;
  }

  template <class Cost>
  [[nodiscard]] neighbour search_block(const typename Store::query& query, index_t begin,
                                       index_t end, std::vector<double>& gains,
                                       const Cost& cost) const {
    double* costs = gains.data();
    const index_t count = end - begin;
    store_.row(query, begin, end, costs);
    for (index_t i = 0; i < count; ++i) costs[i] = cost(begin + i, costs[i]);
    const double least = minimum(costs, count);
    if (!(least < std::numeric_limits<double>::infinity())) return {};
    return {least, node(begin + (std::find(costs, costs + count, least) - costs))};
  }

  /// The least of some values, +inf of none; eight at a time, since the least of doubles may not be
  /// taken in another order by the compiler.
  [[nodiscard]] static double minimum(const double* values, index_t count) noexcept {
    constexpr index_t width = 8;
    double least[width];
    std::fill_n(least, width, std::numeric_limits<double>::infinity());
    index_t i = 0;
    for (; i + width <= count; i += width) {
      for (index_t l = 0; l < width; ++l) {
        least[l] = values[i + l] < least[l] ? values[i + l] : least[l];
      }
    }
    for (; i < count; ++i) least[0] = values[i] < least[0] ? values[i] : least[0];
    return *std::min_element(least, least + width);
  }

  template <class Cost>
  [[nodiscard]] neighbour search_here(const typename Store::query& query, index_t end,
                                      const Cost& cost) {
    neighbour best;
    gains_.resize(at(block));
    for (index_t begin = 0; begin < end; begin += block) {
      take_if_cheaper(best, search_block(query, begin, std::min(end, begin + block), gains_, cost));
      progress_.tick();
    }
    return best;
  }

  /// A running mean of the time of a score; it only decides who computes, never what.
  void learn_speed(std::chrono::steady_clock::time_point start, index_t scores) {
    if (scores < 64) return;
    const std::chrono::duration<double, std::nano> spent = std::chrono::steady_clock::now() - start;
    nanoseconds_ += 0.1 * (spent.count() / static_cast<double>(scores) - nanoseconds_);
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
};

}  // namespace bhclust::detail

/// @file
/// Nearest neighbours without scoring everything: cheap lower bounds on costs first, costs only of
/// what these leave.
#pragma once

#include <bhclust/detail/simd.hpp>
#include <bhclust/family.hpp>
#include <bhclust/types.hpp>

#include <algorithm>
#include <limits>
#include <vector>

namespace bhclust::detail {

/// The slot found by a search, or -1 for none, and what it costs.
struct slot_cost {
  double cost = std::numeric_limits<double>::infinity();
  index_t slot = -1;

  /// Whether a slot that costs `least` or more may be a better answer. The earliest of equals is.
  [[nodiscard]] bool may_lose_to(double least, index_t other) const noexcept {
    return least < cost || (least == cost && other < slot);
  }
};

/// A store of divergences (cluster_store.hpp) that knows bounds has, beside the rest,
///     bool searches() const           // whether it does so for this table
///     void bounds(const query&, index_t end, double* out) const
///                                     // out[s] <= -gain(query, s) as row() computes it
///     slot_cost nearest(query&, index_t end, const double* penalty) const
///                                     // the least penalty[s] - gain(query, s) of the slots [0,
///                                     end)
/// nearest is safe from several threads with queries of their own.
template <class Store>
using searches_t = decltype(std::declval<const Store&>().searches());

template <class Store>
[[nodiscard]] bool searches(const Store& store) {
  if constexpr (has<searches_t, Store>) {
    return store.searches();
  } else {
    static_cast<void>(store);
    return false;
  }
}

/// What a search works in; reusable.
struct search_space {
  std::vector<double> bounds;
  std::vector<slot_cost> candidates;
};

/// The search of `nearest`, given
///     tighten(slot_cost* of, index_t n)   // raises the bounds of n <= 8 candidates, or does not
///     cost(index_t slot)                  // -gain(query, slot) as row() computes it
/// Bounds are offered in one call or several; the answer is complete once every slot was offered
/// that `may_hold` did not exclude.
template <class Tighten, class Cost>
class screened_search {
 public:
  screened_search(search_space& space, const double* penalty, const Tighten& tighten,
                  const Cost& cost)
      : space_(space), penalty_(penalty), tighten_(tighten), cost_(cost) {
    space_.candidates.clear();
  }

  /// Whether slots from `first` on that cost `bound` or more may hold the answer.
  [[nodiscard]] bool may_hold(double bound, index_t first) const noexcept {
    return best_.slot < 0 || best_.may_lose_to(bound, first);
  }

  /// Bounds of n slots, slot(i) that of bounds[i]. A slot that promises much is scored at once.
  template <class Slot>
  void offer(const double* bounds, index_t n, const Slot& slot) {
    slot_cost least;
    for (index_t i = 0; i < n; ++i) {
      const double bound = bounds[i] + penalty_[slot(i)];
      if (bound < least.cost) least = {bound, slot(i)};
    }
    if (least.slot < 0 || least.cost > best_.cost) return;
    const bool promising = best_.slot < 0 || least.cost < promise * best_.cost;
    if (promising) take(least.slot);
    for (index_t i = 0; i < n; ++i) {
      const double bound = bounds[i] + penalty_[slot(i)];
      if (bound <= best_.cost && !(promising && slot(i) == least.slot) &&
          best_.may_lose_to(bound, slot(i))) {
        space_.candidates.push_back({bound, slot(i)});
      }
    }
  }

  [[nodiscard]] slot_cost finish() && {
    auto& all = space_.candidates;
    std::make_heap(all.begin(), all.end(), later);
    while (!all.empty()) take_batch();
    return best_;
  }

 private:
  static constexpr double promise = 0.6;

  void take(index_t slot) {
    const double cost = penalty_[slot] + cost_(slot);
    if (best_.slot < 0 ? cost < best_.cost : best_.may_lose_to(cost, slot)) best_ = {cost, slot};
  }

  /// Candidates with the least bounds: what tighter bounds leave of them is scored.
  void take_batch() {
    slot_cost batch[lanes::count];
    index_t n = 0;
    auto& all = space_.candidates;
    while (n < lanes::count && !all.empty()) {
      std::pop_heap(all.begin(), all.end(), later);
      const slot_cost next = all.back();
      all.pop_back();
      if (next.cost > best_.cost) {
        all.clear();
      } else if (best_.may_lose_to(next.cost, next.slot)) {
        batch[n++] = next;
      }
    }
    tighten_(batch, n);
    std::sort(batch, batch + n, [](const auto& a, const auto& b) { return later(b, a); });
    for (index_t i = 0; i < n; ++i) {
      if (best_.may_lose_to(batch[i].cost, batch[i].slot)) take(batch[i].slot);
    }
  }

  [[nodiscard]] static bool later(const slot_cost& a, const slot_cost& b) noexcept {
    return b.cost < a.cost || (b.cost == a.cost && b.slot < a.slot);
  }

  search_space& space_;
  const double* penalty_;
  const Tighten& tighten_;
  const Cost& cost_;
  slot_cost best_;
};

}  // namespace bhclust::detail

/// @file
/// Searches without scoring everything: cheap lower bounds on costs first, costs only of what these
/// leave.
#pragma once

#include <bhclust/detail/cluster_store.hpp>
#include <bhclust/detail/simd.hpp>
#include <bhclust/types.hpp>

#include <algorithm>
#include <limits>
#include <vector>

namespace bhclust::detail {

/// What a store that searches must know to turn bounds on -gain into bounds on costs: which slots
/// are rows, which are retired.
class slot_offsets {
 public:
  explicit slot_offsets(index_t rows) : rows_(rows), retired_(static_cast<std::size_t>(rows)) {}

  void append() { retired_.push_back(0.0); }
  void retire(index_t slot) {
    retired_[static_cast<std::size_t>(slot)] = std::numeric_limits<double>::infinity();
  }
  void keep(const std::vector<index_t>& kept) {
    rows_ = std::lower_bound(kept.begin(), kept.end(), rows_) - kept.begin();
    keep_entries(retired_, kept);
  }

  /// The offset of a slot in a search for the neighbour of slot `own`.
  [[nodiscard]] double of(index_t own, index_t slot, const cost_offsets& offset) const {
    const bool asks = slot == own || (slot >= rows_ && !offset.same());
    return asks ? offset(slot) : offset.row() + retired_[static_cast<std::size_t>(slot)];
  }

  /// Adds the offsets of the slots [begin, end) to values[0 …].
  void add(index_t own, index_t begin, index_t end, const cost_offsets& offset,
           double* values) const {
    const bool has_own = begin <= own && own < end;
    const double of_own = has_own ? values[own - begin] + offset(own) : 0.0;
    const index_t split = offset.same() ? end : std::clamp(rows_, begin, end);
    const double* retired = retired_.data() + begin;
    for (index_t i = 0; i < split - begin; ++i) values[i] += offset.row() + retired[i];
    for (index_t s = split; s < end; ++s) values[s - begin] += offset(s);
    if (has_own) values[own - begin] = of_own;
  }

 private:
  index_t rows_;
  std::vector<double> retired_;  ///< +inf for what is
};

/// A search, given
///     tighten(cheapest* of, index_t n)    // raises the bounds of n <= 8 candidates, or does not
///     take(index_t slot)                  // scores a slot: lets `best` take it
/// Bounds are offered in one call or several; the answer is complete once every slot was offered
/// that `may_hold` did not exclude.
template <class Tighten, class Take>
class screened_search {
 public:
  screened_search(cheapest& best, const Tighten& tighten, const Take& take)
      : best_(best), tighten_(tighten), take_(take) {
    candidates_.reserve(few);
  }

  /// Whether slots from `first` on that cost `bound` or more may hold the answer.
  [[nodiscard]] bool may_hold(double bound, index_t first) const noexcept {
    return best_.gives_way_to(bound, first);
  }

  /// What costs more is no answer.
  [[nodiscard]] double limit() const noexcept { return best_.cost; }

  /// Bounds on the costs of n slots, slot(i) that of bounds[i]. A slot that promises much is scored
  /// at once.
  template <class Slot>
  void offer(const double* bounds, index_t n, const Slot& slot) {
    const double least = minimum(bounds, n);
    if (!(least < std::numeric_limits<double>::infinity()) || least > best_.cost) return;
    const bool promising = least < promise * best_.cost;
    const index_t taken = promising ? slot(std::find(bounds, bounds + n, least) - bounds) : -1;
    if (promising) take_(taken);
    for (index_t i = 0; i < n; ++i) {
      if (bounds[i] <= best_.cost && slot(i) != taken && may_hold(bounds[i], slot(i))) {
        candidates_.push_back({bounds[i], slot(i)});
      }
    }
  }

  void finish() && {
    std::make_heap(candidates_.begin(), candidates_.end(), later);
    while (!candidates_.empty()) take_batch();
  }

 private:
  static constexpr double promise = 0.6;
  static constexpr std::size_t few = 256;

  /// Candidates with the least bounds: what tighter bounds leave of them is scored.
  void take_batch() {
    cheapest batch[lanes::count];
    index_t n = 0;
    while (n < lanes::count && !candidates_.empty()) {
      std::pop_heap(candidates_.begin(), candidates_.end(), later);
      const cheapest next = candidates_.back();
      candidates_.pop_back();
      if (next.cost > best_.cost) {
        candidates_.clear();
      } else if (may_hold(next.cost, next.slot)) {
        batch[n++] = next;
      }
    }
    tighten_(batch, n);
    std::sort(batch, batch + n, [](const auto& a, const auto& b) { return later(b, a); });
    for (index_t i = 0; i < n; ++i) {
      if (may_hold(batch[i].cost, batch[i].slot)) take_(batch[i].slot);
    }
  }

  [[nodiscard]] static bool later(const cheapest& a, const cheapest& b) noexcept {
    return a.gives_way_to(b.cost, b.slot);
  }

  cheapest& best_;
  const Tighten& tighten_;
  const Take& take_;
  std::vector<cheapest> candidates_;
};

}  // namespace bhclust::detail

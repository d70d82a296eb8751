/// @file
/// A binary heap with one entry a key whose priority can be replaced.
#pragma once

#include <bhclust/types.hpp>

#include <utility>
#include <vector>

namespace bhclust::detail {

/// Min-heap over keys 0 … capacity-1, each present at most once. `Priority` has a strict total
/// order by <. All changes O(log size); O(capacity) memory.
template <class Priority>
class indexed_heap {
 public:
  explicit indexed_heap(index_t capacity) : place_(static_cast<std::size_t>(capacity), -1) {}

  [[nodiscard]] bool empty() const noexcept { return heap_.empty(); }
  [[nodiscard]] index_t size() const noexcept { return static_cast<index_t>(heap_.size()); }
  [[nodiscard]] bool contains(index_t key) const noexcept { return place_[at(key)] >= 0; }
  [[nodiscard]] index_t top() const noexcept { return heap_.front().second; }
  [[nodiscard]] const Priority& top_priority() const noexcept { return heap_.front().first; }

  /// Inserts the key, or replaces its priority.
  void put(index_t key, const Priority& priority) {
    if (!contains(key)) {
      heap_.emplace_back(priority, key);
      place_[at(key)] = size() - 1;
      rise(size() - 1);
      return;
    }
    const index_t i = place_[at(key)];
    const bool smaller = priority < heap_[at(i)].first;
    heap_[at(i)].first = priority;
    if (smaller) {
      rise(i);
    } else {
      sink(i);
    }
  }

  /// Removes a key that is present.
  void erase(index_t key) {
    const index_t i = place_[at(key)];
    const index_t last = size() - 1;
    if (i != last) swap_entries(i, last);
    heap_.pop_back();
    place_[at(key)] = -1;
    if (i == last) return;
    rise(i);
    sink(i);
  }

 private:
  [[nodiscard]] static std::size_t at(index_t i) noexcept { return static_cast<std::size_t>(i); }

  void swap_entries(index_t i, index_t j) {
    std::swap(heap_[at(i)], heap_[at(j)]);
    place_[at(heap_[at(i)].second)] = i;
    place_[at(heap_[at(j)].second)] = j;
  }

  void rise(index_t i) {
    while (i > 0) {
      const index_t up = (i - 1) / 2;
      if (!(heap_[at(i)].first < heap_[at(up)].first)) return;
      swap_entries(i, up);
      i = up;
    }
  }

  void sink(index_t i) {
    for (;;) {
      index_t least = i;
      for (index_t child = 2 * i + 1; child <= 2 * i + 2 && child < size(); ++child) {
        if (heap_[at(child)].first < heap_[at(least)].first) least = child;
      }
      if (least == i) return;
      swap_entries(i, least);
      i = least;
    }
  }

  std::vector<std::pair<Priority, index_t>> heap_;
  std::vector<index_t> place_;
};

}  // namespace bhclust::detail

#include "random_source.hpp"
#include <bhclust/detail/indexed_heap.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

using namespace testkit;
using bhclust::detail::indexed_heap;

namespace {

using priority = std::pair<int, index_t>;

/// The key with the least priority, by looking at all.
index_t least(const std::map<index_t, priority>& entries) {
  return std::min_element(entries.begin(), entries.end(),
                          [](const auto& a, const auto& b) { return a.second < b.second; })
      ->first;
}

}  // namespace

TEST_CASE("indexed heap: empty") {
  const indexed_heap<priority> heap(5);
  CHECK(heap.empty());
  CHECK(heap.size() == 0);
  for (index_t key = 0; key < 5; ++key) CHECK(!heap.contains(key));
}

TEST_CASE("indexed heap: one entry") {
  indexed_heap<priority> heap(1);
  heap.put(0, {7, 0});
  CHECK(heap.top() == 0);
  CHECK(heap.contains(0));
  heap.put(0, {9, 0});
  CHECK(heap.size() == 1);
  CHECK(heap.top_priority() == priority(9, 0));
  heap.erase(0);
  CHECK(heap.empty());
  CHECK(!heap.contains(0));
}

TEST_CASE("indexed heap: any mix of inserting, replacing and erasing") {
  for (int round = 0; round < 50; ++round) {
    random_source random(static_cast<std::uint64_t>(round));
    const index_t capacity = 1 + random.below(60);
    indexed_heap<priority> heap(capacity);
    std::map<index_t, priority> entries;
    for (int step = 0; step < 400; ++step) {
      const index_t key = random.below(capacity);
      if (entries.count(key) != 0 && random.chance(0.35)) {
        heap.erase(key);
        entries.erase(key);
      } else {
        // few values, so that many tie and the key decides
        const priority p(static_cast<int>(random.below(8)), key);
        heap.put(key, p);
        entries[key] = p;
      }
      REQUIRE(heap.size() == static_cast<index_t>(entries.size()));
      CHECK(heap.contains(key) == (entries.count(key) != 0));
      if (entries.empty()) continue;
      CHECK(heap.top() == least(entries));
      CHECK(heap.top_priority() == entries.at(heap.top()));
    }
    std::vector<priority> drained;
    while (!heap.empty()) {
      drained.push_back(heap.top_priority());
      heap.erase(heap.top());
    }
    CHECK(drained.size() == entries.size());
    CHECK(std::is_sorted(drained.begin(), drained.end()));
  }
}

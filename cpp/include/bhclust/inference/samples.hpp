/// @file
/// Independent, exact samples from the posterior over a tree's partitions.
#pragma once

#include <bhclust/analysis/cut.hpp>
#include <bhclust/detail/memory.hpp>
#include <bhclust/detail/random.hpp>
#include <bhclust/inference/posterior.hpp>
#include <bhclust/progress.hpp>
#include <bhclust/tree.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace bhclust {

/// The nodes of one sampled partition: from the roots down a node is kept as a cluster with
/// probability r, else both children are looked at. O(nodes).
[[nodiscard]] inline std::vector<index_t> sample_nodes(const tree& t, const tree_posterior& p,
                                                       detail::random_source& random) {
  return nodes_from_top(t, [&](index_t k) { return random.uniform() < p.r(k); });
}

/// Labels of `count` sampled partitions, count × leaves, row after row, as of `labels_of`; the same
/// for a seed on every platform. O(count · nodes log nodes).
[[nodiscard]] inline std::vector<index_t> sample_partitions(const tree& t, const tree_posterior& p,
                                                            index_t count, std::uint64_t seed,
                                                            const progress_function& report = {}) {
  require(count >= 1, "n_samples must be at least 1");
  detail::require_memory(count, 8 * t.leaves(), [&] {
    return std::to_string(count) + " samples of " + std::to_string(t.leaves()) + " labels";
  });
  detail::progress_meter progress(report, count);
  detail::random_source random(seed);
  std::vector<index_t> all;
  all.reserve(static_cast<std::size_t>(count * t.leaves()));
  for (index_t s = 0; s < count; ++s) {
    const auto labels = labels_of(t, sample_nodes(t, p, random), p);
    all.insert(all.end(), labels.begin(), labels.end());
    progress.advance(1);
    progress.tick();
  }
  progress.finish();
  return all;
}

}  // namespace bhclust

/// @file
/// The posterior of the number of clusters, and the best partition for each number.
#pragma once

#include <bhclust/analysis/cut.hpp>
#include <bhclust/detail/log_space.hpp>
#include <bhclust/inference/posterior.hpp>
#include <bhclust/progress.hpp>
#include <bhclust/tree.hpp>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

namespace bhclust {
namespace detail {

/// The values for each number of clusters 1, 2, …, at most a cap, of a node from its children's,
/// over all splits of the number: combine(value, term, left number - 1, number - 1). Over a tree
/// O(n · cap), since a node has at most size() numbers.
template <class Combine>
[[nodiscard]] std::vector<double> fold_counts(const std::vector<double>& l,
                                              const std::vector<double>& r, std::size_t cap,
                                              const Combine& combine) {
  std::vector<double> sum(std::min(cap, l.size() + r.size()),
                          -std::numeric_limits<double>::infinity());
  pacer pace;
  for (std::size_t a = 0; a < l.size() && a + 1 < sum.size(); ++a) {
    pace(static_cast<index_t>(32 * std::min(r.size(), sum.size() - a)));
    for (std::size_t b = 0; b < r.size() && a + b + 1 < sum.size(); ++b) {
      combine(sum[a + b + 1], l[a] + r[b], a, a + b + 1);
    }
  }
  return sum;
}

/// Runs a recursion on numbers of clusters over the tree. `merge(k, l, r)` gives a node's values
/// from its children's, which are freed then; the roots are folded together by `join(l, r)`.
template <class Merge, class Join>
[[nodiscard]] std::vector<double> climb_counts(const tree& t, const Merge& merge, const Join& join,
                                               const progress_function& report) {
  progress_meter progress(report, t.nodes());
  std::vector<std::vector<double>> of(static_cast<std::size_t>(t.nodes()));
  const auto at = [](index_t k) { return static_cast<std::size_t>(k); };
  for (index_t k = 0; k < t.leaves(); ++k) of[at(k)] = {0.0};
  for (index_t k = t.leaves(); k < t.nodes(); ++k) {
    of[at(k)] = merge(k, of[at(t.left(k))], of[at(t.right(k))]);
    std::vector<double>().swap(of[at(t.left(k))]);
    std::vector<double>().swap(of[at(t.right(k))]);
    progress.advance(1);
    progress.tick();
  }
  const auto roots = t.roots();
  std::vector<double> all = std::move(of[at(roots.front())]);
  for (std::size_t i = 1; i < roots.size(); ++i) all = join(all, of[at(roots[i])]);
  progress.finish();
  return all;
}

inline void check_max_clusters(const tree& t, index_t max_clusters) {
  const auto roots = static_cast<index_t>(t.roots().size());
  require(max_clusters >= roots, [&] {
    return "max_clusters is " + std::to_string(max_clusters) + "; the forest has " +
           std::to_string(roots) + " root(s), and no partition has fewer clusters";
  });
}

}  // namespace detail

/// log P(the partition has m clusters), m = 1 … min(max_clusters, n) at m - 1: exact, and not
/// renormalised, so that what is missing to one lies above max_clusters. O(n · max_clusters).
[[nodiscard]] inline std::vector<double> log_cluster_count(const tree& t, const tree_posterior& p,
                                                           index_t max_clusters,
                                                           const progress_function& report = {}) {
  detail::check_max_clusters(t, max_clusters);
  const auto cap = static_cast<std::size_t>(std::min(max_clusters, t.leaves()));
  const auto add = [](double& sum, double term, std::size_t, std::size_t) {
    sum = detail::log_add_exp(sum, term);
  };
  const auto join = [&](const std::vector<double>& l, const std::vector<double>& r) {
    return detail::fold_counts(l, r, cap, add);
  };
  return detail::climb_counts(
      t,
      [&](index_t k, const std::vector<double>& l, const std::vector<double>& r) {
        auto values = join(l, r);
        const double odds = p.log_odds[static_cast<std::size_t>(k)];
        for (double& value : values) value += detail::log_sigmoid(-odds);
        values.front() = detail::log_sigmoid(odds);
        return values;
      },
      join, report);
}

/// The most probable partition with exactly `count` clusters among those the tree allows. Nodes of
/// the cut. O(n · count) time and memory.
[[nodiscard]] inline std::vector<index_t> best_nodes_at_count(
    const tree& t, const tree_posterior& p, index_t count, const progress_function& report = {}) {
  detail::check_max_clusters(t, count);
  require(count <= t.leaves(), [&] {
    return "n_clusters is " + std::to_string(count) + "; there are " + std::to_string(t.leaves()) +
           " rows";
  });
  const auto cap = static_cast<std::size_t>(count);
  // How many clusters of the best split go to the left, [merge][number - 1].
  std::vector<std::vector<std::int32_t>> split(static_cast<std::size_t>(t.merges()));
  std::vector<std::vector<std::int32_t>> root_split;
  const auto fold = [cap](const std::vector<double>& l, const std::vector<double>& r,
                          std::vector<std::int32_t>& left) {
    left.assign(std::min(cap, l.size() + r.size()), 0);
    return detail::fold_counts(
        l, r, cap, [&left](double& best, double value, std::size_t a, std::size_t number) {
          if (!(value > best)) return;
          best = value;
          left[number] = static_cast<std::int32_t>(a) + 1;
        });
  };
  static_cast<void>(detail::climb_counts(
      t,
      [&](index_t k, const std::vector<double>& l, const std::vector<double>& r) {
        auto values = fold(l, r, split[static_cast<std::size_t>(k - t.leaves())]);
        const double odds = p.log_odds[static_cast<std::size_t>(k)];
        for (double& value : values) value += detail::log_sigmoid(-odds);
        values.front() = detail::log_sigmoid(odds);
        return values;
      },
      [&](const std::vector<double>& l, const std::vector<double>& r) {
        root_split.emplace_back();
        return fold(l, r, root_split.back());
      },
      report));
  std::vector<index_t> wanted(static_cast<std::size_t>(t.nodes()), 0);
  const auto roots = t.roots();
  index_t rest = count;
  for (std::size_t i = roots.size(); i-- > 1;) {
    const index_t before = root_split[i - 1][static_cast<std::size_t>(rest - 1)];
    wanted[static_cast<std::size_t>(roots[i])] = rest - before;
    rest = before;
  }
  wanted[static_cast<std::size_t>(roots.front())] = rest;
  for (index_t k = t.nodes() - 1; k >= t.leaves(); --k) {
    const index_t number = wanted[static_cast<std::size_t>(k)];
    if (number <= 1) continue;
    const index_t left =
        split[static_cast<std::size_t>(k - t.leaves())][static_cast<std::size_t>(number - 1)];
    wanted[static_cast<std::size_t>(t.left(k))] = left;
    wanted[static_cast<std::size_t>(t.right(k))] = number - left;
  }
  return nodes_from_top(t, [&](index_t k) { return wanted[static_cast<std::size_t>(k)] == 1; });
}

}  // namespace bhclust

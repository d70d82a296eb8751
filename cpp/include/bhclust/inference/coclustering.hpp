/// @file
/// How probable it is that rows share a cluster, and what follows from it.
#pragma once

#include <bhclust/analysis/cut.hpp>
#include <bhclust/detail/memory.hpp>
#include <bhclust/inference/posterior.hpp>
#include <bhclust/progress.hpp>
#include <bhclust/tree.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

namespace bhclust {

/// The node at which two leaves come together, for any tree in O(log n) a question after O(n) work:
/// a union-find forest by size, without path compression, that remembers which merge made each
/// link.
class common_ancestors {
 public:
  explicit common_ancestors(const tree& t)
      : up_(static_cast<std::size_t>(t.leaves())),
        made_by_(static_cast<std::size_t>(t.leaves()), std::numeric_limits<index_t>::max()) {
    std::iota(up_.begin(), up_.end(), index_t{0});
    std::vector<index_t> head(static_cast<std::size_t>(t.nodes()));  // a node's union-find root
    for (index_t k = 0; k < t.nodes(); ++k) {
      auto& own = head[static_cast<std::size_t>(k)];
      if (t.is_leaf(k)) {
        own = k;
        continue;
      }
      auto large = t.left(k);
      auto small = t.right(k);
      if (t.size(large) < t.size(small)) std::swap(large, small);
      own = head[static_cast<std::size_t>(large)];
      const auto joined = static_cast<std::size_t>(head[static_cast<std::size_t>(small)]);
      up_[joined] = own;
      made_by_[joined] = k;
    }
  }

  /// The lowest node above both leaves; the leaf itself when they are one; -1 in different trees.
  [[nodiscard]] index_t operator()(index_t i, index_t j) const {
    index_t last = i;
    while (i != j) {
      index_t& earlier = made_by(i) <= made_by(j) ? i : j;
      if (made_by(earlier) == std::numeric_limits<index_t>::max()) return -1;
      last = made_by(earlier);
      earlier = up_[static_cast<std::size_t>(earlier)];
    }
    return last;
  }

 private:
  [[nodiscard]] index_t made_by(index_t i) const { return made_by_[static_cast<std::size_t>(i)]; }

  std::vector<index_t> up_;
  std::vector<index_t> made_by_;
};

namespace detail {

inline void require_rows(const tree& t, span<const index_t> rows) {
  for (const index_t i : rows) {
    require(i >= 0 && i < t.leaves(), [&] {
      return "row " + std::to_string(i) + " is not in the tree; its rows are 0 to " +
             std::to_string(t.leaves() - 1);
    });
  }
}

/// P(rows i and j are in one cluster).
[[nodiscard]] inline double together(const common_ancestors& meet, const tree_posterior& p,
                                     index_t i, index_t j) {
  const index_t node = meet(i, j);
  return node < 0 ? 0.0 : 1.0 - p.height[static_cast<std::size_t>(node)];
}

/// What a look for a common ancestor costs, for pacers.
inline constexpr index_t look_up_work = 64;

}  // namespace detail

/// P(rows i and j are in one cluster), for each i of `first` with each j of `second`, row after
/// row: first.size() × second.size(). O(log n) each. Progress counts the rows of `first`.
[[nodiscard]] inline std::vector<double> coclustering(const tree& t, const tree_posterior& p,
                                                      span<const index_t> first,
                                                      span<const index_t> second,
                                                      const progress_function& report = {}) {
  detail::progress_meter progress(report, first.size());
  detail::require_rows(t, first);
  detail::require_rows(t, second);
  detail::require_memory(first.size(), 8 * second.size(), [&] {
    return std::to_string(first.size()) + " x " + std::to_string(second.size()) + " probabilities";
  });
  const common_ancestors meet(t);
  detail::pacer pace;
  std::vector<double> values;
  values.reserve(static_cast<std::size_t>(first.size() * second.size()));
  for (const index_t i : first) {
    for (const index_t j : second) {
      values.push_back(detail::together(meet, p, i, j));
      pace(detail::look_up_work);
    }
    progress.advance(1);
  }
  progress.finish();
  return values;
}

/// P(rows first[q] and second[q] are in one cluster), for each q. O(log n) each.
[[nodiscard]] inline std::vector<double> coclustering_of_pairs(
    const tree& t, const tree_posterior& p, span<const index_t> first, span<const index_t> second,
    const progress_function& report = {}) {
  require(first.size() == second.size(), [&] {
    return "there are " + std::to_string(first.size()) + " first rows and " +
           std::to_string(second.size()) + " second ones; they must be pairs";
  });
  detail::progress_meter progress(report, first.size());
  detail::require_rows(t, first);
  detail::require_rows(t, second);
  const common_ancestors meet(t);
  detail::pacer pace;
  std::vector<double> values;
  values.reserve(static_cast<std::size_t>(first.size()));
  for (index_t q = 0; q < first.size(); ++q) {
    values.push_back(detail::together(meet, p, first[q], second[q]));
    progress.advance(1);
    pace(detail::look_up_work);
  }
  progress.finish();
  return values;
}

/// Entropy in nats of each row's cluster: the ancestors of a row, itself included, are its cluster
/// with probabilities omega, which sum to one along its path. O(nodes).
[[nodiscard]] inline std::vector<double> path_entropy(const tree& t, const tree_posterior& p) {
  std::vector<double> entropy(static_cast<std::size_t>(t.nodes()));
  for (index_t k = t.nodes() - 1; k >= 0; --k) {
    const double omega = p.omega[static_cast<std::size_t>(k)];
    const double own = omega > 0.0 ? -omega * std::log(omega) : 0.0;
    const index_t up = t.parent(k);
    entropy[static_cast<std::size_t>(k)] =
        own + (up < 0 ? 0.0 : entropy[static_cast<std::size_t>(up)]);
  }
  entropy.resize(static_cast<std::size_t>(t.leaves()));
  return entropy;
}

/// The tree-consistent partition with the least expected Binder loss, in which a pair wrongly apart
/// costs 1 and a pair wrongly together `together_cost`. Bottom-up dynamic programme on sums over
/// pairs of P(together) - c / (1 + c). Nodes of the cut. O(nodes).
[[nodiscard]] inline std::vector<index_t> binder_nodes(const tree& t, const tree_posterior& p,
                                                       double together_cost = 1.0) {
  require(together_cost > 0.0 && std::isfinite(together_cost), [&] {
    return "together_cost is " + detail::number(together_cost) + "; it must be above 0 and finite";
  });
  const double doubt = together_cost / (1.0 + together_cost);
  std::vector<double> whole(static_cast<std::size_t>(t.nodes()), 0.0), best = whole;
  std::vector<unsigned char> kept(static_cast<std::size_t>(t.nodes()), 1);
  for (index_t k = t.leaves(); k < t.nodes(); ++k) {
    const auto l = static_cast<std::size_t>(t.left(k));
    const auto r = static_cast<std::size_t>(t.right(k));
    const auto at = static_cast<std::size_t>(k);
    const double pairs =
        static_cast<double>(p.n_rows(t, t.left(k))) * static_cast<double>(p.n_rows(t, t.right(k)));
    whole[at] = whole[l] + whole[r] + pairs * ((1.0 - p.height[at]) - doubt);
    const double apart = best[l] + best[r];
    kept[at] = whole[at] >= apart ? 1 : 0;
    best[at] = std::max(whole[at], apart);
  }
  return nodes_from_top(t, [&](index_t k) { return kept[static_cast<std::size_t>(k)] != 0; });
}

}  // namespace bhclust

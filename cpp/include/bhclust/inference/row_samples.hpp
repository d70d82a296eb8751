/// @file
/// New rows drawn from the predictive density.
#pragma once

#include <bhclust/detail/node_statistics.hpp>
#include <bhclust/detail/random.hpp>
#include <bhclust/family.hpp>
#include <bhclust/inference/posterior.hpp>
#include <bhclust/tree.hpp>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

namespace bhclust {

/// Rows with the nodes that they came from.
struct row_samples {
  std::vector<double> cells;   ///< count × columns, row after row
  std::vector<index_t> nodes;  ///< one a row; -1: a new cluster
};

namespace detail {

/// For each sample the node whose cluster it joins: node k with probability ω_k |k| / (n + α), else
/// -1.
[[nodiscard]] inline std::vector<index_t> sample_joined_nodes(const tree& t,
                                                              const tree_posterior& p,
                                                              index_t count,
                                                              random_source& random) {
  std::vector<double> up_to(static_cast<std::size_t>(t.nodes()));
  double sum = 0.0;
  for (index_t k = 0; k < t.nodes(); ++k) {
    sum += p.omega[static_cast<std::size_t>(k)] * static_cast<double>(p.n_rows(t, k));
    up_to[static_cast<std::size_t>(k)] = sum;
  }
  std::vector<index_t> nodes;
  nodes.reserve(static_cast<std::size_t>(count));
  for (index_t s = 0; s < count; ++s) {
    const double u = random.uniform() * (sum + p.alpha);
    const auto found = std::upper_bound(up_to.begin(), up_to.end(), u);
    nodes.push_back(found == up_to.end() ? -1 : found - up_to.begin());
  }
  return nodes;
}

/// The samples of each node, -1 included, in their order.
class samples_by_node {
 public:
  samples_by_node(const std::vector<index_t>& node_of, index_t nodes)
      : first_(static_cast<std::size_t>(nodes) + 2, 0), samples_(node_of.size()) {
    for (const index_t node : node_of) ++first_[static_cast<std::size_t>(node + 2)];
    std::partial_sum(first_.begin(), first_.end(), first_.begin());
    std::vector<index_t> next(first_);
    for (std::size_t s = 0; s < node_of.size(); ++s) {
      index_t& place = next[static_cast<std::size_t>(node_of[s] + 1)];
      samples_[static_cast<std::size_t>(place++)] = static_cast<index_t>(s);
    }
  }

  template <class Visit>
  void for_each(index_t node, const Visit& visit) const {
    const auto bucket = static_cast<std::size_t>(node + 1);
    for (index_t i = first_[bucket]; i < first_[bucket + 1]; ++i) {
      visit(samples_[static_cast<std::size_t>(i)]);
    }
  }

 private:
  std::vector<index_t> first_, samples_;
};

/// A row of the table, drawn at random, for what a family takes as given.
inline void take_given(const table_view& X, random_source& random, double* row) {
  const auto given = static_cast<index_t>(random.uniform() * static_cast<double>(X.rows()));
  const row_view some = X.row(given);
  for (index_t c = 0; c < some.stored(); ++c) row[some.column(c)] = some.value(c);
}

}  // namespace detail

/// `count` independent rows from the density of log_predictive: each joins a cluster of the
/// posterior or opens a new one, and is drawn given the cluster's rows. What a family takes as
/// given (the total of a multinomial row) is that of a row of X drawn at random, and 0 where X
/// holds groups. The same for a seed on every platform, up to the last digits of its logarithms.
/// O(nodes · width), and what the draws cost.
template <class Family>
[[nodiscard]] row_samples sample_rows(const tree& t, const tree_posterior& p, const table_view& X,
                                      const Family& family, index_t count, std::uint64_t seed,
                                      const progress_function& report = {}) {
  const auto model = bind(family, X);
  detail::require_leaves(t, X.rows());
  require(count >= 1, "n_samples must be at least 1");
  constexpr index_t most_cells = 1099511627776;  // 2^40
  require(count <= most_cells / X.columns(), [&] {
    return "n_samples is " + std::to_string(count) + "; rows of " + std::to_string(X.columns()) +
           " columns must have 2^40 cells at most: draw some at a time";
  });
  detail::random_source random(seed);
  detail::progress_meter progress(report, t.nodes());
  row_samples drawn;
  drawn.nodes = detail::sample_joined_nodes(t, p, count, random);
  drawn.cells.assign(static_cast<std::size_t>(count * X.columns()), 0.0);
  const detail::samples_by_node samples(drawn.nodes, t.nodes());
  const auto draw = [&](index_t node, const double* statistics) {
    samples.for_each(node, [&](index_t s) {
      double* row = drawn.cells.data() + s * X.columns();
      if (!X.grouped()) take_given(X, random, row);
      model.sample(statistics, random, row);
      progress.tick();
    });
  };
  const std::vector<double> nothing(static_cast<std::size_t>(model.width()), 0.0);
  draw(-1, nothing.data());
  detail::for_each_node_statistics(t, X, model, [&](index_t node, const double* statistics) {
    draw(node, statistics);
    progress.advance(1);
    progress.tick();
  });
  progress.finish();
  return drawn;
}

}  // namespace bhclust

// Nanoseconds a score, for each family, score and kernel, through the family's own store.
#include "generators.hpp"
#include <bhclust/detail/cluster_store.hpp>
#include <bhclust/detail/score.hpp>
#include <bhclust/families.hpp>

#include <benchmark/benchmark.h>

#include <algorithm>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

namespace {

using bench::index_t;
using bench::table;
using bhclust::detail::evidence_score;
using bhclust::detail::relaxed_score;

constexpr index_t leaves = 2048;
constexpr index_t merged = 256;
constexpr index_t rows_a_cluster = 8;
constexpr index_t table_rows = leaves + merged * rows_a_cluster;

/// The rows from `leaves` on, those of the same true cluster side by side.
std::vector<index_t> rows_to_merge(const table& X) {
  std::vector<index_t> order(static_cast<std::size_t>(table_rows - leaves));
  std::iota(order.begin(), order.end(), leaves);
  std::stable_sort(order.begin(), order.end(), [&](index_t a, index_t b) {
    return X.truth[static_cast<std::size_t>(a)] < X.truth[static_cast<std::size_t>(b)];
  });
  return order;
}

/// Merges the second half of the rows in eights: slots are then `leaves` rows and `merged`
/// clusters.
template <class Store>
void merge_half(Store& store, const table& X) {
  const auto order = rows_to_merge(X);
  std::vector<index_t> kept(static_cast<std::size_t>(leaves));
  std::iota(kept.begin(), kept.end(), index_t{0});
  for (auto row = order.begin(); row != order.end(); row += rows_a_cluster) {
    index_t slot = *row;
    for (index_t k = 1; k < rows_a_cluster; ++k) slot = store.merge(slot, row[k]);
    kept.push_back(slot);
  }
  store.keep(kept);
}

struct slot_range {
  index_t begin, end;
};
constexpr slot_range leaf{0, leaves};
constexpr slot_range cluster{leaves, leaves + merged};

/// One iteration: a cluster of `queries` made ready and scored against all of `targets`.
template <class Store>
void score_rows(benchmark::State& state, Store store, const table& X, slot_range queries,
                slot_range targets) {
  merge_half(store, X);
  typename Store::query query;
  std::vector<double> gains(static_cast<std::size_t>(targets.end - targets.begin));
  index_t slot = queries.begin;
  for (auto _ : state) {
    store.load(query, slot);
    store.row(query, targets.begin, targets.end, gains.data());
    benchmark::DoNotOptimize(gains.data());
    benchmark::ClobberMemory();
    if (++slot == queries.end) slot = queries.begin;
  }
  state.counters["per_score"] = benchmark::Counter(
      static_cast<double>(gains.size()),
      benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
}

template <class Score, class Make>
void add_kernel(const std::string& name, const Make& make, index_t d, slot_range queries,
                slot_range targets) {
  benchmark::RegisterBenchmark(name.c_str(), [=](benchmark::State& state) {
    const auto [X, family] = make(table_rows, d);
    const auto model = bhclust::bind(family, X.view());
    score_rows(state, bhclust::detail::make_store<Score>(model, X.view()), X, queries, targets);
  })->MinTime(0.1);
}

template <class Score, class Make>
void add_score(const std::string& name, const Make& make, index_t d) {
  add_kernel<Score>(name + "/leaf-leaf", make, d, leaf, leaf);
  add_kernel<Score>(name + "/cluster-leaf", make, d, cluster, leaf);
  add_kernel<Score>(name + "/cluster-cluster", make, d, cluster, cluster);
}

/// make(n, d) gives a table and a family that takes it.
template <class Make>
void add(const std::string& name, const Make& make, index_t d) {
  using family = typename decltype(make(d, d))::second_type;
  const std::string start = name + "/" + std::to_string(d);
  add_score<evidence_score>(start + "/evidence", make, d);
  if constexpr (bhclust::model_of<family>::relaxable) {
    add_score<relaxed_score>(start + "/relaxed", make, d);
  }
}

template <class Family>
std::pair<table, Family> dense(index_t n, index_t d) {
  table X = bench::example<Family>(n, d);
  Family family = bench::fitted<Family>(X);
  return {std::move(X), std::move(family)};
}

std::pair<table, bhclust::MultinomialDirichlet> sparse(index_t n, index_t d) {
  table X = bench::sparse_counts(n, d);
  auto family = bench::fitted<bhclust::MultinomialDirichlet>(X);
  return {std::move(X), std::move(family)};
}

/// Half of the columns bits, half of them counts.
std::pair<table, bhclust::Product> mixed(index_t n, index_t d) {
  table X = bench::mixture(bench::cell::count, n, d);
  std::vector<index_t> bits, counts;
  for (index_t j = 0; j < d; ++j) (j % 2 == 0 ? bits : counts).push_back(j);
  for (index_t i = 0; i < n; ++i) {
    for (const index_t j : bits) {
      double& x = X.cells[static_cast<std::size_t>(i * d + j)];
      x = std::min(x, 1.0);
    }
  }
  return {std::move(X),
          bhclust::Product{{{bhclust::BernoulliBeta{}, bits}, {bhclust::PoissonGamma{}, counts}}}};
}

template <class Family>
void add_dense(index_t d) {
  add(Family::name(), dense<Family>, d);
}

const bool registered = [] {
  bhclust::for_each_family([](auto tag) { add_dense<typename decltype(tag)::type>(16); });
  add_dense<bhclust::NormalInverseWishart>(2);
  add_dense<bhclust::NormalInverseWishart>(8);
  add_dense<bhclust::NormalKnownVariance>(2);
  add_dense<bhclust::BernoulliBeta>(64);
  add_dense<bhclust::BernoulliBeta>(500);
  add_dense<bhclust::PoissonGamma>(32);
  add_dense<bhclust::MultinomialDirichlet>(100);
  add("MultinomialDirichlet-sparse", sparse, 1000);
  add("Product", mixed, 16);
  return true;
}();

}  // namespace

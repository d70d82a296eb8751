// Bayes K-means BHC and randomised BHC over n, and rows put into a tree and moved about in it; one
// thread, through any_family as the Python module runs them.
#include "generators.hpp"
#include <bhclust/algorithm/bayes_kmeans.hpp>
#include <bhclust/algorithm/insert.hpp>
#include <bhclust/algorithm/randomized.hpp>
#include <bhclust/algorithm/refine.hpp>
#include <bhclust/any_family.hpp>
#include <bhclust/families.hpp>
#include <bhclust/tree.hpp>

#include <benchmark/benchmark.h>

#include <string>

namespace {

using bench::index_t;
using bhclust::any_family;
using bhclust::table_view;
using bhclust::tree;

[[nodiscard]] tree by_parts(const table_view& X, const any_family& family) {
  bhclust::randomized_options options;
  options.n_threads = 1;
  return bhclust::randomized_bhc(X, family, options);
}

/// run(state) for n = 1,000, 4,000, … rows.
template <class Family, class Run>
void add(const std::string& work_name, index_t d, index_t largest, const Run& run) {
  const std::string name = work_name + "/" + Family::name() + "/" + std::to_string(d);
  auto* over_rows = benchmark::RegisterBenchmark(name.c_str(), [=](benchmark::State& state) {
    run(state);
    state.SetComplexityN(state.range(0));
  });
  over_rows->Unit(benchmark::kMillisecond)->Complexity();
  for (index_t n = 1000; n <= largest; n *= 4) over_rows->Arg(n);
}

/// work(X, family).
template <class Family, class Work>
void add_growth(const std::string& name, index_t d, const Work& work) {
  add<Family>(name, d, 64000, [=](benchmark::State& state) {
    const auto X = bench::example<Family>(state.range(0), d);
    const any_family family = bench::fitted<Family>(X);
    for (auto _ : state) work(X.view(), family);
  });
}

/// work(X, family, tree); the tree, which is not timed, holds all rows but the last `left_out`.
template <class Family, class Work>
void add_change(const std::string& name, index_t d, index_t largest, index_t left_out,
                const Work& work) {
  add<Family>(name, d, largest, [=](benchmark::State& state) {
    const auto X = bench::example<Family>(state.range(0), d);
    const any_family family = bench::fitted<Family>(X);
    const table_view first = bhclust::rows(X.cells.data(), X.rows - left_out, d);
    const tree before = by_parts(first, family);
    for (auto _ : state) work(X.view(), family, before);
  });
}

template <class Family>
void add_all(index_t d) {
  add_growth<Family>("bayes-kmeans", d, [](const table_view& X, const any_family& family) {
    bhclust::bayes_kmeans_options options;
    options.n_threads = 1;
    benchmark::DoNotOptimize(bhclust::bayes_kmeans_bhc(X, family, options));
  });
  add_growth<Family>("randomized", d, [](const table_view& X, const any_family& family) {
    benchmark::DoNotOptimize(by_parts(X, family));
  });
  add_change<Family>("insert-100-rows", d, 64000, 100,
                     [](const table_view& X, const any_family& family, const tree& before) {
                       bhclust::insert_options options;
                       options.n_threads = 1;
                       benchmark::DoNotOptimize(bhclust::insert(before, X, family, options));
                     });
  const auto refining = [](index_t regrafts) {
    return [regrafts](const table_view& X, const any_family& family, const tree& before) {
      bhclust::refine_options options;
      options.n_threads = 1;
      options.max_regrafts = regrafts;
      benchmark::DoNotOptimize(bhclust::refine(before, X, family, options));
    };
  };
  add_change<Family>("interchanges", d, 16000, 0, refining(0));
  add_change<Family>("100-regrafts", d, 16000, 0, refining(100));
}

const bool registered = [] {
  add_all<bhclust::NormalInverseGamma>(10);
  add_all<bhclust::BernoulliBeta>(64);
  return true;
}();

}  // namespace

// Greedy BHC over n, one thread, through any_family as the Python module runs it.
#include "generators.hpp"
#include <bhclust/algorithm/greedy.hpp>
#include <bhclust/any_family.hpp>
#include <bhclust/families.hpp>

#include <benchmark/benchmark.h>

#include <string>

namespace {

using bench::index_t;
using bench::table;

void run(benchmark::State& state, const table& X, const bhclust::any_family& family) {
  bhclust::greedy_options options;
  options.n_threads = 1;
  for (auto _ : state) benchmark::DoNotOptimize(bhclust::greedy_bhc(X.view(), family, options));
  state.SetComplexityN(X.rows);
}

template <class Family>
benchmark::internal::Benchmark* add(index_t d) {
  const std::string name = std::string("greedy/") + Family::name() + "/" + std::to_string(d);
  return benchmark::RegisterBenchmark(name.c_str(),
                                      [d](benchmark::State& state) {
                                        const auto X = bench::example<Family>(state.range(0), d);
                                        run(state, X, bench::fitted<Family>(X));
                                      })
      ->Unit(benchmark::kMillisecond);
}

template <class Family>
void add_over_rows(index_t d) {
  auto* over_rows = add<Family>(d)->Complexity(benchmark::oNSquared);
  for (const index_t n : {500, 1000, 2000, 4000}) over_rows->Arg(n);
}

void run_sparse(benchmark::State& state) {
  const auto X = bench::sparse_counts(state.range(0), 1000);
  run(state, X, bench::fitted<bhclust::MultinomialDirichlet>(X));
}

const bool registered = [] {
  add_over_rows<bhclust::BernoulliBeta>(64);
  add_over_rows<bhclust::NormalInverseWishart>(2);
  add_over_rows<bhclust::NormalInverseWishart>(8);
  add_over_rows<bhclust::PoissonGamma>(32);
  bhclust::for_each_family([](auto tag) { add<typename decltype(tag)::type>(16)->Arg(1000); });
  benchmark::RegisterBenchmark("greedy/MultinomialDirichlet-sparse/1000", run_sparse)
      ->Unit(benchmark::kMillisecond)
      ->Arg(1000);
  return true;
}();

}  // namespace

// RBHC over n, one thread, through any_family as the Python module runs it.
#include "generators.hpp"
#include <bhclust/algorithm/relaxed.hpp>
#include <bhclust/any_family.hpp>
#include <bhclust/families.hpp>

#include <benchmark/benchmark.h>

#include <string>

namespace {

using bench::index_t;
using bhclust::relaxed_method;

template <class Family>
void run(benchmark::State& state, index_t d, relaxed_method method) {
  const auto X = bench::example<Family>(state.range(0), d);
  const bhclust::any_family family = bench::fitted<Family>(X);
  bhclust::relaxed_options options;
  options.method = method;
  options.n_threads = 1;
  for (auto _ : state) benchmark::DoNotOptimize(bhclust::relaxed_bhc(X.view(), family, options));
  state.SetComplexityN(X.rows);
}

const char* name_of(relaxed_method method) {
  switch (method) {
    case relaxed_method::automatic:
      return "auto";
    case relaxed_method::rounds:
      return "rounds";
    case relaxed_method::nn_chain:
      return "nn-chain";
    case relaxed_method::greedy:
      return "greedy";
  }
  return "";
}

template <class Family>
benchmark::internal::Benchmark* add(index_t d, relaxed_method method) {
  const std::string name =
      std::string(name_of(method)) + "/" + Family::name() + "/" + std::to_string(d);
  return benchmark::RegisterBenchmark(
             name.c_str(), [=](benchmark::State& state) { run<Family>(state, d, method); })
      ->Unit(benchmark::kMillisecond);
}

template <class Family>
void add_over_rows(index_t d, relaxed_method method, index_t largest) {
  auto* over_rows = add<Family>(d, method)->Complexity(benchmark::oNSquared);
  for (index_t n = 500; n <= largest; n *= 2) over_rows->Arg(n);
}

template <class Family>
void add_if_relaxable() {
  if constexpr (bhclust::model_of<Family>::relaxable) {
    add<Family>(16, relaxed_method::nn_chain)->Arg(500);
  }
}

const bool registered = [] {
  using bhclust::NormalKnownVariance;
  add_over_rows<NormalKnownVariance>(2, relaxed_method::nn_chain, 4000);
  add_over_rows<NormalKnownVariance>(10, relaxed_method::nn_chain, 4000);
  add_over_rows<NormalKnownVariance>(64, relaxed_method::nn_chain, 2000);
  add_over_rows<NormalKnownVariance>(10, relaxed_method::greedy, 2000);
  for (const index_t d : {2, 10, 64}) {
    add_over_rows<NormalKnownVariance>(d, relaxed_method::rounds, 16000);
  }
  bhclust::for_each_family([](auto tag) { add_if_relaxable<typename decltype(tag)::type>(); });
  return true;
}();

}  // namespace

// RBHC over n, one thread, through any_family as the Python module runs it.
#include "generators.hpp"
#include <bhclust/algorithm/relaxed.hpp>
#include <bhclust/any_family.hpp>
#include <bhclust/families.hpp>

#include <benchmark/benchmark.h>

#include <string>
#include <utility>

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
  auto* over_rows = add<Family>(d, method)->Complexity();
  for (index_t n = 500; n <= largest; n *= 2) over_rows->Arg(n);
}

/// A family whose divergences take three potentials each: RBHC as one would write it first.
template <class Family>
struct naive {
  struct model {
    decltype(std::declval<const Family&>().bind(index_t{})) own;

    [[nodiscard]] index_t width() const { return own.width(); }
    void observe(const bhclust::row_view& row, double* t) const { own.observe(row, t); }
    [[nodiscard]] double log_marginal(const double* t) const { return own.log_marginal(t); }
    void merge(double* t, const double* s) const { bhclust::detail::merge_statistics(own, t, s); }
    [[nodiscard]] double potential(const double* t) const { return own.potential(t); }
  };

  Family family;

  [[nodiscard]] static bhclust::domain takes() { return Family::takes(); }
  [[nodiscard]] model bind(index_t columns) const { return {family.bind(columns)}; }
};

template <class Family>
void run_naive(benchmark::State& state, index_t d) {
  const auto X = bench::example<Family>(state.range(0), d);
  const naive<Family> family{bench::fitted<Family>(X)};
  bhclust::relaxed_options options;
  options.n_threads = 1;
  for (auto _ : state) benchmark::DoNotOptimize(bhclust::relaxed_bhc(X.view(), family, options));
}

/// The library and the naive way side by side.
template <class Family>
void add_against_naive(index_t d) {
  constexpr index_t n = 2000;
  add<Family>(d, relaxed_method::nn_chain)->Arg(n);
  const std::string name = std::string("naive/") + Family::name() + "/" + std::to_string(d);
  benchmark::RegisterBenchmark(name.c_str(),
                               [=](benchmark::State& state) { run_naive<Family>(state, d); })
      ->Unit(benchmark::kMillisecond)
      ->Arg(n);
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
  add_against_naive<bhclust::PoissonGamma>(10);
  add_against_naive<bhclust::MultinomialDirichlet>(40);
  add_against_naive<bhclust::NormalInverseWishart>(10);
  bhclust::for_each_family([](auto tag) { add_if_relaxable<typename decltype(tag)::type>(); });
  return true;
}();

}  // namespace

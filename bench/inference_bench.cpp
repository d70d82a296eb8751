// Posterior, bounds, gradient and prediction over n, all threads, through any_family as the Python
// module runs them.
#include "generators.hpp"
#include <bhclust/any_family.hpp>
#include <bhclust/families.hpp>
#include <bhclust/inference/evidence.hpp>
#include <bhclust/inference/hyperparameters.hpp>
#include <bhclust/inference/posterior.hpp>
#include <bhclust/inference/predictive.hpp>
#include <bhclust/tree.hpp>

#include <benchmark/benchmark.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace {

using bench::index_t;
using bhclust::any_family;
using bhclust::tree;
using bhclust::tree_posterior;

/// A balanced tree over the clusters that the rows were drawn from.
tree balanced(const bench::table& X) {
  std::vector<index_t> level(static_cast<std::size_t>(X.rows));
  for (std::size_t i = 0; i < level.size(); ++i) level[i] = static_cast<index_t>(i);
  std::stable_sort(level.begin(), level.end(), [&](index_t a, index_t b) {
    return X.truth[static_cast<std::size_t>(a)] < X.truth[static_cast<std::size_t>(b)];
  });
  bhclust::tree_builder grown(X.rows);
  while (level.size() > 1) {
    std::vector<index_t> above;
    for (std::size_t i = 0; i + 1 < level.size(); i += 2) {
      above.push_back(grown.join(level[i], level[i + 1]));
    }
    if (level.size() % 2 != 0) above.push_back(level.back());
    level = std::move(above);
  }
  return std::move(grown).finish();
}

struct example {
  bench::table X;
  any_family family;
  tree t;
  tree_posterior p;
};

template <class Family>
example make(index_t n, index_t d) {
  auto X = bench::example<Family>(n, d);
  any_family family = bench::fitted<Family>(X);
  tree t = balanced(X);
  auto p = bhclust::posterior(t, X.view(), family);
  return {std::move(X), std::move(family), std::move(t), std::move(p)};
}

template <class Family, class Work>
void add(const std::string& work_name, index_t d, index_t largest, const Work& work) {
  const std::string name = work_name + "/" + Family::name() + "/" + std::to_string(d);
  auto* over_rows = benchmark::RegisterBenchmark(name.c_str(), [work, d](benchmark::State& state) {
    const auto e = make<Family>(state.range(0), d);
    for (auto _ : state) work(e);
    state.SetComplexityN(state.range(0));
  });
  over_rows->Unit(benchmark::kMillisecond)->Complexity(benchmark::oN)->UseRealTime();
  for (index_t n = 1000; n <= largest; n *= 10) over_rows->Arg(n);
}

template <class Family>
void add_all(index_t d) {
  add<Family>("posterior", d, 1000000, [](const example& e) {
    benchmark::DoNotOptimize(bhclust::posterior(e.t, e.X.view(), e.family));
  });
  add<Family>("relocations", d, 100000, [](const example& e) {
    benchmark::DoNotOptimize(bhclust::relocate(e.t, e.p, e.X.view(), e.family));
  });
  add<Family>("joint-bound", d, 100000, [](const example& e) {
    benchmark::DoNotOptimize(bhclust::joint_evidence_bound(e.t, e.p, e.X.view(), e.family));
  });
  add<Family>("gradient", d, 100000, [](const example& e) {
    benchmark::DoNotOptimize(bhclust::gradient_of_evidence(e.t, e.p, e.X.view(), e.family));
  });
  add<Family>("predictive-of-100-rows", d, 10000, [](const example& e) {
    const auto fresh = bhclust::rows(e.X.cells.data(), 100, e.X.columns);
    benchmark::DoNotOptimize(bhclust::log_predictive(e.t, e.p, e.X.view(), e.family, fresh));
  });
}

const bool registered = [] {
  add_all<bhclust::NormalInverseGamma>(8);
  add_all<bhclust::NormalInverseWishart>(8);
  add_all<bhclust::BernoulliBeta>(64);
  return true;
}();

}  // namespace

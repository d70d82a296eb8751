// What the algorithms do on fixed tables: pairs, searches and allocations, which do not depend on
// the machine, in place of seconds. A ceiling is the number found plus a tenth; whoever does less
// lowers it.
#include "random_source.hpp"
#include "tables.hpp"
#include <bhclust/algorithm/greedy.hpp>
#include <bhclust/algorithm/relaxed.hpp>
#include <bhclust/family/bernoulli_beta.hpp>
#include <bhclust/family/normal_inverse_gamma.hpp>
#include <bhclust/family/normal_inverse_wishart.hpp>
#include <bhclust/family/normal_known_variance.hpp>
#include <bhclust/family/poisson_gamma.hpp>
#include <bhclust/work.hpp>

#include <doctest/doctest.h>

#include <atomic>
#include <cmath>
#include <cstdlib>
#include <new>
#include <vector>

using namespace testkit;
using bhclust::work_counts;

namespace {

std::atomic<index_t> allocations{0};

}  // namespace

[[gnu::noinline]] void* operator new(std::size_t size) {
  allocations.fetch_add(1, std::memory_order_relaxed);
  if (void* got = std::malloc(size > 0 ? size : 1)) return got;
  throw std::bad_alloc{};
}
[[gnu::noinline]] void* operator new(std::size_t size, std::align_val_t alignment) {
  allocations.fetch_add(1, std::memory_order_relaxed);
  const auto step = static_cast<std::size_t>(alignment);
  if (void* got = std::aligned_alloc(step, (size + step - 1) / step * step)) return got;
  throw std::bad_alloc{};
}
[[gnu::noinline]] void operator delete(void* p) noexcept { std::free(p); }
[[gnu::noinline]] void operator delete(void* p, std::size_t) noexcept { std::free(p); }
[[gnu::noinline]] void operator delete(void* p, std::align_val_t) noexcept { std::free(p); }
[[gnu::noinline]] void operator delete(void* p, std::size_t, std::align_val_t) noexcept {
  std::free(p);
}

namespace {

constexpr index_t n = 600;

enum class cells { reals, counts, bits };

/// Ten clusters that overlap.
table mixture(cells kind, index_t d) {
  random_source random(7);
  std::vector<double> centres, values;
  for (index_t k = 0; k < 10 * d; ++k) centres.push_back(2.0 * random.normal());
  for (index_t i = 0; i < n; ++i) {
    for (index_t j = 0; j < d; ++j) {
      const double x = centres[at(i % 10 * d + j)] + random.normal();
      if (kind == cells::reals) values.push_back(x);
      if (kind == cells::counts) values.push_back(std::floor(std::exp(0.5 * x)));
      if (kind == cells::bits) values.push_back(x > 0.0 ? 1.0 : 0.0);
    }
  }
  return {values, d};
}

struct done {
  work_counts work;
  index_t allocations;
};

template <class Family>
done greedy(const Family& family, const table& X, int n_threads = 1) {
  done found{};
  const index_t before = allocations.load();
  const auto t = bhclust::greedy_bhc(X.view(), family, {1.0, n_threads, {}, &found.work});
  found.allocations = allocations.load() - before;
  CHECK(t.merges() == n - 1);
  return found;
}

template <class Family>
done relaxed(const Family& family, const table& X, bhclust::relaxed_method method,
             int n_threads = 1) {
  done found{};
  const index_t before = allocations.load();
  const auto t =
      bhclust::relaxed_bhc(X.view(), family, {infinite, 0, method, n_threads, {}, &found.work});
  found.allocations = allocations.load() - before;
  CHECK(t.merges() == n - 1);
  return found;
}

void check_at_most(const done& found, const done& ceiling) {
  CHECK(found.work.pairs_scored >= n * (n - 1) / 2);  // every pair once: else it was not counted
  CHECK(found.work.searches <= ceiling.work.searches);
  CHECK(found.work.pairs_scored <= ceiling.work.pairs_scored);
  CHECK(found.work.pairs_rescored <= ceiling.work.pairs_rescored);
  CHECK(found.allocations <= ceiling.allocations);
}

}  // namespace

TEST_CASE("work: greedy BHC") {
  SUBCASE("bits") {
    const auto X = mixture(cells::bits, 32);
    check_at_most(greedy(bhclust::BernoulliBeta::from_data(X.view()), X),
                  {{1400, 410000, 700}, 2700});
  }
  SUBCASE("counts") {
    const auto X = mixture(cells::counts, 8);
    check_at_most(greedy(bhclust::PoissonGamma::from_data(X.view()), X),
                  {{1400, 420000, 2100}, 2600});
  }
  SUBCASE("correlated reals") {
    const auto X = mixture(cells::reals, 3);
    check_at_most(greedy(bhclust::NormalInverseWishart::from_data(X.view()), X),
                  {{1400, 410000, 450}, 6900});
  }
  SUBCASE("independent reals") {
    const auto X = mixture(cells::reals, 4);
    check_at_most(greedy(bhclust::NormalInverseGamma::from_data(X.view()), X),
                  {{1400, 420000, 1200}, 5500});
  }
}

TEST_CASE("work: RBHC") {
  const auto chain = bhclust::relaxed_method::nn_chain;
  SUBCASE("reals of known variance") {
    const auto X = mixture(cells::reals, 3);
    const auto family = bhclust::NormalKnownVariance::from_data(X.view());
    check_at_most(relaxed(family, X, chain), {{1800, 560000, 0}, 5400});
  }
  SUBCASE("reals of known variance, greedily") {
    const auto X = mixture(cells::reals, 3);
    const auto family = bhclust::NormalKnownVariance::from_data(X.view());
    check_at_most(relaxed(family, X, bhclust::relaxed_method::greedy),
                  {{2100, 500000, 84000}, 5800});
  }
  SUBCASE("counts") {
    const auto X = mixture(cells::counts, 8);
    check_at_most(relaxed(bhclust::PoissonGamma::from_data(X.view()), X, chain),
                  {{1800, 600000, 0}, 17000});
  }
}

TEST_CASE("work: RBHC of rows that repeat costs no more than the different ones do") {
  const auto few = [](cells kind) {
    const auto X = mixture(kind, 8);
    std::vector<double> values;
    for (index_t i = 0; i < n; ++i) {
      for (index_t j = 0; j < 8; ++j) values.push_back(X.cell(i % 20, j));
    }
    return table(values, 8);
  };
  const auto check = [](const done& found) {
    CHECK(found.work.searches <= 60);
    CHECK(found.work.pairs_scored <= 60 * 64);
  };
  const auto chain = bhclust::relaxed_method::nn_chain;
  const auto counts = few(cells::counts);
  check(relaxed(bhclust::PoissonGamma::from_data(counts.view()), counts, chain));
  const auto bits = few(cells::bits);
  check(relaxed(bhclust::BernoulliBeta::from_data(bits.view()), bits, chain));
  const auto reals = few(cells::reals);
  check(relaxed(bhclust::NormalInverseGamma::from_data(reals.view()), reals, chain));
  check(relaxed(bhclust::NormalKnownVariance::from_data(reals.view()), reals, chain));
}

TEST_CASE("work: the number of threads changes none of it") {
  const auto X = mixture(cells::reals, 3);
  const auto family = bhclust::NormalKnownVariance::from_data(X.view());
  const auto same = [](const work_counts& a, const work_counts& b) {
    return a.searches == b.searches && a.pairs_scored == b.pairs_scored &&
           a.pairs_rescored == b.pairs_rescored;
  };
  CHECK(same(greedy(family, X, 1).work, greedy(family, X, 3).work));
  const auto chain = bhclust::relaxed_method::nn_chain;
  CHECK(same(relaxed(family, X, chain, 1).work, relaxed(family, X, chain, 3).work));
}

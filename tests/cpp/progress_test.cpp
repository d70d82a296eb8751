// Long work is stopped wherever it is: deep in a kernel, on another thread, before the first score.
#include "random_source.hpp"
#include "refusals.hpp"
#include "tables.hpp"
#include "trees.hpp"
#include <bhclust/algorithm/greedy.hpp>
#include <bhclust/algorithm/refine.hpp>
#include <bhclust/algorithm/relaxed.hpp>
#include <bhclust/detail/memory.hpp>
#include <bhclust/detail/parallel.hpp>
#include <bhclust/family/normal_inverse_wishart.hpp>
#include <bhclust/inference/coclustering.hpp>
#include <bhclust/inference/hyperparameters.hpp>
#include <bhclust/inference/predictive.hpp>
#include <bhclust/inference/samples.hpp>
#include <bhclust/progress.hpp>

#include <doctest/doctest.h>

#include <atomic>
#include <cstdint>
#include <exception>
#include <functional>
#include <limits>
#include <string>
#include <thread>
#include <vector>

using namespace testkit;
using bhclust::progress_function;
using bhclust::detail::pacer;
using bhclust::detail::progress_meter;
using bhclust::detail::pulse;
using bhclust::detail::thread_team;
using bhclust::detail::thread_watch;

namespace {

struct enough : std::exception {};

const progress_function stop_at_once = [](index_t, index_t) { throw enough{}; };

/// Runs the work again and again, stopped at its first, second, fourth, … report, until it comes
/// through.
void stop_everywhere(const std::function<void(const progress_function&)>& work) {
  for (int wanted = 1; wanted < 1000; wanted *= 2) {
    int reports = 0;
    try {
      work([&](index_t done, index_t total) {
        CHECK(done <= total);
        if (++reports == wanted) throw enough{};
      });
      return;
    } catch (const enough&) {
      CHECK(reports == wanted);
    }
    CHECK(thread_watch::here().meter == nullptr);
    CHECK(thread_watch::here().stop == nullptr);
  }
  FAIL("the work does not end");
}

table wide_table(index_t rows, index_t columns) {
  random_source random(1);
  std::vector<double> cells;
  for (index_t i = 0; i < rows * columns; ++i) cells.push_back(random.normal());
  return {std::move(cells), columns};
}

bhclust::NormalInverseWishart wide_family(index_t columns) {
  bhclust::NormalInverseWishart family;
  family.nu = static_cast<double>(columns) + 2.0;
  return family;
}

}  // namespace

TEST_CASE("progress: a pulse without a run does nothing") {
  pulse();
  pacer pace;
  for (int i = 0; i < 100; ++i) pace(1000000000000);
  CHECK(thread_watch::here().meter == nullptr);
}

TEST_CASE("progress: a pulse reaches the innermost meter of its thread") {
  const progress_meter outer([](index_t, index_t) { FAIL("the outer meter was ticked"); }, 1);
  {
    const progress_meter inner(stop_at_once, 1);
    CHECK_THROWS_AS(
        [] {
          for (;;) pulse();
        }(),
        enough);
    std::thread elsewhere([] { pulse(); });
    elsewhere.join();
  }
  CHECK(thread_watch::here().meter == &outer);
}

TEST_CASE("progress: a pacer pulses") {
  const progress_meter meter(stop_at_once, 1);
  pacer pace;
  CHECK_THROWS_AS(
      [&] {
        for (;;) pace();
      }(),
      enough);
}

TEST_CASE("progress: nothing is reported after the end but the end") {
  index_t last = 0;
  progress_meter meter([&](index_t done, index_t) { last = done; }, 7);
  meter.advance(2);
  meter.finish();
  for (last = 0; last == 0;) meter.tick();
  CHECK(last == 7);
}

TEST_CASE("progress: the caller is asked while it waits for other threads") {
  thread_team team(2);
  std::atomic<int> asked{0};
  std::atomic<bool> begun{false};
  team.run(
      2,
      [&](int thread, index_t) {
        if (thread == 0) {
          while (!begun) std::this_thread::yield();  // the other chunk is the other thread's
          return;
        }
        begun = true;
        while (asked < 3) std::this_thread::yield();
      },
      [&] { ++asked; });
  CHECK(asked >= 3);
}

TEST_CASE("progress: a pulse ends the share of a thread when another has failed") {
  for (const int failing : {0, 1}) {
    CAPTURE(failing);
    thread_team team(2);
    std::atomic<int> begun{0};
    CHECK_THROWS_AS(team.run(
                        2,
                        [&](int thread, index_t) {
                          ++begun;
                          while (begun < 2) std::this_thread::yield();
                          if (thread == failing) throw enough{};
                          for (;;) pulse();
                        },
                        [] {}),
                    enough);
    CHECK(thread_watch::here().stop == nullptr);
    pulse();
  }
}

TEST_CASE("progress: runs over wide Gaussian rows are stopped wherever they are") {
  constexpr index_t columns = 200;
  const table X = wide_table(4, columns);
  const auto family = wide_family(columns);
  const tree t = chain_tree(4);
  const auto p = bhclust::posterior(t, X.view(), family);
  for (const int threads : {1, 2}) {
    CAPTURE(threads);
    stop_everywhere([&](const auto& report) {
      static_cast<void>(bhclust::greedy_bhc(X.view(), family, {1.0, threads, report}));
    });
    stop_everywhere([&](const auto& report) {
      bhclust::relaxed_options options;
      options.n_threads = threads;
      options.progress = report;
      static_cast<void>(bhclust::relaxed_bhc(X.view(), family, options));
    });
    stop_everywhere([&](const auto& report) {
      static_cast<void>(
          bhclust::log_predictive(t, p, X.view(), family, X.view(), {threads, report}));
    });
    stop_everywhere([&](const auto& report) {
      static_cast<void>(bhclust::log_responsibilities({0, 0, 1, 1}, 1.0, X.view(), family, X.view(),
                                                      {threads, report}));
    });
  }
  stop_everywhere([&](const auto& report) {
    static_cast<void>(bhclust::posterior(t, X.view(), family, {1.0, report}));
  });
  stop_everywhere([&](const auto& report) {
    bhclust::refine_options options;
    options.progress = report;
    static_cast<void>(bhclust::refine(t, X.view(), family, options));
  });
  stop_everywhere([&](const auto& report) {
    static_cast<void>(bhclust::gradient_of_evidence(t, p, X.view(), family, report));
  });
}

TEST_CASE("progress: pairs and samples are stopped") {
  const tree t = chain_tree(2000);
  const table X = wide_table(2000, 1);
  const auto family = wide_family(1);
  const auto p = bhclust::posterior(t, X.view(), family);
  const auto all = iota(2000);
  const bhclust::span<const index_t> rows(all);
  CHECK_THROWS_AS(static_cast<void>(bhclust::coclustering(t, p, rows, rows, stop_at_once)), enough);
  CHECK_THROWS_AS(static_cast<void>(bhclust::coclustering_of_pairs(t, p, rows, rows, stop_at_once)),
                  enough);
  CHECK_THROWS_AS(static_cast<void>(bhclust::sample_partitions(t, p, 2, 1, stop_at_once)), enough);
}

TEST_CASE("memory: what the machine cannot hold is refused with its size") {
  constexpr index_t huge = std::numeric_limits<index_t>::max();
  using bhclust::detail::byte_size;
  CHECK(byte_size(8.0) == "8 bytes");
  CHECK(byte_size(999.0) == "999 bytes");
  CHECK(byte_size(999.9) == "1 kB");
  CHECK(byte_size(2.5e9) == "2.5 GB");
  CHECK(byte_size(1e21) == "1e+03 EB");
  bhclust::detail::require_memory(1000, 8, [] { return "a thousand numbers"; });
  check_refused([] { bhclust::detail::require_memory(huge, 1, [] { return "these"; }); },
                {"these take 9.22 EB; this machine has ", "B of memory"});
  check_refused([] { bhclust::detail::require_memory(huge, huge, [] { return "these"; }); },
                {"these take 8.51e+19 EB"});
  check_refused([] { const bhclust::tree_builder grown(100000000000000); },
                {"trees of 100000000000000 leaves take 3.2 PB"});
  check_refused([] { const bhclust::tree_builder grown(huge); }, {"take 295 EB"});
  const tree t = chain_tree(3);
  const table X = wide_table(3, 1);
  const auto p = bhclust::posterior(t, X.view(), wide_family(1));
  check_refused([&] { static_cast<void>(bhclust::sample_partitions(t, p, 10000000000000, 1)); },
                {"10000000000000 samples of 3 labels take 240 TB"});
  check_refused([&] { static_cast<void>(bhclust::sample_partitions(t, p, huge, 1)); },
                {"samples of 3 labels take 221 EB"});
}

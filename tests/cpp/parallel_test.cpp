#include "refusals.hpp"
#include "tables.hpp"
#include <bhclust/detail/parallel.hpp>

#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

using namespace testkit;
using bhclust::detail::thread_team;

namespace {

const auto nothing_between = [] {};

}  // namespace

TEST_CASE("thread team: every chunk is done once, by a thread of the team") {
  for (const int threads : {0, 1, 2, 3, 8}) {
    CAPTURE(threads);
    thread_team team(threads);
    CHECK(team.size() >= 1);
    if (threads > 0) CHECK(team.size() == threads);
    for (const index_t chunks : {0, 1, 2, 7, 1000}) {
      std::vector<std::atomic<int>> done(at(chunks));
      std::atomic<bool> known{true};
      team.run(
          chunks,
          [&](int thread, index_t c) {
            if (thread < 0 || thread >= team.size()) known = false;
            ++done[at(c)];
          },
          nothing_between);
      CHECK(known);
      for (const auto& times : done) CHECK(times == 1);
    }
  }
}

TEST_CASE("thread team: one thread is the caller, in ascending order") {
  thread_team team(1);
  std::vector<index_t> order;
  int between = 0;
  team.run(5, [&](int, index_t c) { order.push_back(c); }, [&] { ++between; });
  CHECK(order == iota(5));
  CHECK(between == 5);
}

TEST_CASE("thread team: thread 0 and what is done between chunks are the caller's") {
  thread_team team(4);
  const auto caller = std::this_thread::get_id();
  std::atomic<bool> right{true};
  for (int round = 0; round < 20; ++round) {
    team.run(
        50,
        [&](int thread, index_t) {
          if ((thread == 0) != (std::this_thread::get_id() == caller)) right = false;
        },
        [&] {
          if (std::this_thread::get_id() != caller) right = false;
        });
  }
  CHECK(right);
}

TEST_CASE("thread team: an exception from a chunk comes out, and the team goes on") {
  for (const int threads : {1, 4}) {
    CAPTURE(threads);
    thread_team team(threads);
    for (int round = 0; round < 20; ++round) {
      CHECK_THROWS_WITH_AS(team.run(
                               100,
                               [](int, index_t c) {
                                 if (c % 10 == 3) throw std::runtime_error("chunk failed");
                               },
                               nothing_between),
                           "chunk failed", std::runtime_error);
      std::atomic<int> done{0};
      team.run(100, [&](int, index_t) { ++done; }, nothing_between);
      CHECK(done == 100);
    }
  }
}

TEST_CASE("thread team: an exception between chunks stops the rest") {
  for (const int threads : {1, 4}) {
    CAPTURE(threads);
    thread_team team(threads);
    std::atomic<int> done{0};
    int between = 0;
    CHECK_THROWS_AS(team.run(
                        1000000,
                        [&](int thread, index_t) {
                          if (thread != 0)
                            std::this_thread::sleep_for(std::chrono::milliseconds(1));
                          ++done;
                        },
                        [&] {
                          if (++between == 3) throw std::logic_error("stop");
                        }),
                    std::logic_error);
    CHECK(done < 1000000);
    CHECK(between == 3);
  }
}

TEST_CASE("thread team: many short runs in a row") {
  thread_team team(3);
  long sum = 0;
  for (int round = 0; round < 2000; ++round) {
    std::vector<long> part(8, 0);
    team.run(8, [&](int, index_t c) { part[at(c)] = c + round; }, nothing_between);
    for (const long p : part) sum += p;
  }
  CHECK(sum == 2000L * 28 + 8L * 1999 * 1000);
}

TEST_CASE("thread team: a team that never worked ends quietly") {
  for (int round = 0; round < 10; ++round) const thread_team team(6);
}

TEST_CASE("thread team: refusals") {
  check_refused([] { const thread_team team(-1); },
                {"n_threads must be at least 1, or 0 for all cores"});
}

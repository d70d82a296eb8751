/// @file
/// The library's only threads.
#pragma once

#include <bhclust/progress.hpp>
#include <bhclust/types.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <functional>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace bhclust::detail {

/// A team of threads for the length of one algorithm. Work is cut into chunks whose bounds do not
/// depend on the number of threads, each chunk writes its own results, so results never depend on
/// it either. Idle threads sleep: a fork and join costs some 10 µs, and a busy neighbour on the
/// machine does no harm.
class thread_team {
 public:
  /// `threads` = 0 takes all cores.
  explicit thread_team(int threads) {
    require(threads >= 0, "n_threads must be at least 1, or 0 for all cores");
    // asking for the cores reads a file: too slow for the many teams of one
    count_ =
        threads != 0 ? threads : std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  }
  thread_team(const thread_team&) = delete;
  thread_team& operator=(const thread_team&) = delete;
  thread_team(thread_team&&) = delete;
  thread_team& operator=(thread_team&&) = delete;
  ~thread_team() {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      stopping_ = true;
    }
    wake_.notify_all();
    for (auto& worker : workers_) worker.join();
  }

  /// Number of threads, the caller's included.
  [[nodiscard]] int size() const noexcept { return count_; }

  /// Calls work(thread, chunk) for each chunk 0 … chunks-1, in ascending order as threads come
  /// free; thread is in 0 … size()-1 and 0 is the caller, who also calls between(), which may throw
  /// to stop, before each of its chunks and while it waits for the others. The first exception is
  /// rethrown here once all threads rest; a pulse() ends the work of those that have not failed.
  template <class Work, class Between>
  void run(index_t chunks, Work&& work, Between&& between) {
    if (count_ == 1 || chunks <= 1) {
      for (index_t c = 0; c < chunks; ++c) {
        between();
        work(0, c);
      }
      return;
    }
    start();
    next_.store(0);
    failed_.store(false);
    const std::function<void(int)> share = [&](int thread) {
      const stop_watch watch(failed_);
      try {
        for (index_t c = next_.fetch_add(1); c < chunks && !failed_.load();
             c = next_.fetch_add(1)) {
          if (thread == 0) between();
          work(thread, c);
        }
      } catch (...) {
        keep_first_exception();
      }
    };
    fork(share);
    share(0);
    join(between);
  }

 private:
  /// Shows a thread, for the length of its share, whether the others have failed.
  class stop_watch {
   public:
    explicit stop_watch(const std::atomic<bool>& failed)
        : outer_(std::exchange(thread_watch::here().stop, &failed)) {}
    stop_watch(const stop_watch&) = delete;
    stop_watch& operator=(const stop_watch&) = delete;
    stop_watch(stop_watch&&) = delete;
    stop_watch& operator=(stop_watch&&) = delete;
    ~stop_watch() { thread_watch::here().stop = outer_; }

   private:
    const std::atomic<bool>* outer_;
  };

  /// Threads begin their life at the first call that has work for them; where the system has no
  /// more to give, those that are there do it.
  void start() {
    if (!workers_.empty()) return;
    workers_.reserve(static_cast<std::size_t>(count_ - 1));
    try {
      for (int thread = 1; thread < count_; ++thread) {
        workers_.emplace_back([this, thread] { serve(thread); });
      }
    } catch (const std::system_error&) {
      return;
    }
  }

  void fork(const std::function<void(int)>& share) {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      share_ = &share;
      busy_ = static_cast<int>(workers_.size());
      ++round_;
    }
    wake_.notify_all();
  }

  template <class Between>
  void join(Between& between) {
    constexpr std::chrono::milliseconds patience(20);
    std::unique_lock<std::mutex> lock(mutex_);
    while (!rest_.wait_for(lock, patience, [this] { return busy_ == 0; })) {
      if (failed_.load()) continue;
      lock.unlock();
      try {
        between();
      } catch (...) {
        keep_first_exception();
      }
      lock.lock();
    }
    if (failed_.load()) std::rethrow_exception(std::exchange(error_, nullptr));
  }

  void serve(int thread) {
    unsigned long seen = 0;
    for (;;) {
      const std::function<void(int)>* share = nullptr;
      {
        std::unique_lock<std::mutex> lock(mutex_);
        wake_.wait(lock, [&] { return stopping_ || round_ != seen; });
        if (stopping_) return;
        seen = round_;
        share = share_;
      }
      (*share)(thread);
      const std::lock_guard<std::mutex> lock(mutex_);
      if (--busy_ == 0) rest_.notify_one();
    }
  }

  void keep_first_exception() noexcept {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!failed_.exchange(true)) error_ = std::current_exception();
  }

  int count_ = 1;
  std::vector<std::thread> workers_;
  std::mutex mutex_;
  std::condition_variable wake_, rest_;
  const std::function<void(int)>* share_ = nullptr;
  int busy_ = 0;
  unsigned long round_ = 0;
  bool stopping_ = false;
  std::atomic<index_t> next_{0};
  std::atomic<bool> failed_{false};
  std::exception_ptr error_;
};

/// Reports of a piece of work on their way to the whole's meter, which only the caller's thread may
/// touch.
[[nodiscard]] inline progress_function ticks_of(int thread, progress_meter& whole) {
  if (thread != 0) return {};
  return [&whole](index_t, index_t) { whole.tick(); };
}

/// Runs work(first, last) on parts of [begin, end), on the team's threads.
template <class Work>
void in_parts(thread_team& team, index_t begin, index_t end, const Work& work) {
  constexpr index_t part = 16384;
  team.run((end - begin + part - 1) / part,
           [&](int, index_t c) {
             pulse();
             work(begin + c * part, std::min(end, begin + (c + 1) * part));
           },
           [] { pulse(); });
}

}  // namespace bhclust::detail

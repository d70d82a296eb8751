/// @file
/// How long work reports on itself and is stopped.
#pragma once

#include <bhclust/types.hpp>

#include <atomic>
#include <chrono>
#include <exception>
#include <functional>
#include <utility>

namespace bhclust {

/// Called with (done, total) from the thread that called the algorithm, some 25 times a second
/// while work goes on; the unit is the algorithm's own. An exception thrown here ends the work and
/// reaches the caller: this is how a run is cancelled.
using progress_function = std::function<void(index_t done, index_t total)>;

namespace detail {

class progress_meter;

/// What long work on a thread looks at now and then. Loops deep inside models and stores have no
/// other way to the run that they are part of.
struct thread_watch {
  progress_meter* meter = nullptr;          ///< of the run this thread called; else none
  const std::atomic<bool>* stop = nullptr;  ///< set once another thread of the team has failed

  [[nodiscard]] static thread_watch& here() noexcept {
    static thread_local thread_watch watch;
    return watch;
  }
};

/// Ends a thread's share of work that has failed elsewhere; never reaches a caller.
struct stopped_elsewhere : std::exception {};

/// Passes progress on at a bounded rate, so that algorithms may tick as often as they like. While
/// it lives, pulse() on its thread ticks it.
class progress_meter {
 public:
  progress_meter(progress_function report, index_t total)
      : report_(std::move(report)),
        total_(total),
        outer_(std::exchange(thread_watch::here().meter, this)) {}
  progress_meter(const progress_meter&) = delete;
  progress_meter& operator=(const progress_meter&) = delete;
  progress_meter(progress_meter&&) = delete;
  progress_meter& operator=(progress_meter&&) = delete;
  ~progress_meter() { thread_watch::here().meter = outer_; }

  void advance(index_t steps) noexcept { done_ += steps; }

  /// Reports when 40 ms have passed since the last report.
  void tick() {
    if (!report_) return;
    const auto now = clock::now();
    if (now - last_ < std::chrono::milliseconds(40)) return;
    last_ = now;
    report_(done_ < total_ ? done_ : total_, total_);
  }

  /// The last report, done = total, without regard to the rate.
  void finish() {
    done_ = total_;
    if (report_) report_(total_, total_);
  }

 private:
  using clock = std::chrono::steady_clock;
  progress_function report_;
  index_t total_;
  progress_meter* outer_;
  index_t done_ = 0;
  clock::time_point last_ = clock::now();
};

/// Lets the run that this thread works for report, or be stopped. Costs some 30 ns.
inline void pulse() {
  const thread_watch& watch = thread_watch::here();
  if (watch.stop != nullptr && watch.stop->load(std::memory_order_relaxed)) {
    throw stopped_elsewhere{};
  }
  if (watch.meter != nullptr) watch.meter->tick();
}

/// Pulses about once a millisecond of work, for loops of many small steps.
class pacer {
 public:
  /// `work`: about how many additions the step costs; too many do no harm.
  void operator()(index_t work = 1) {
    done_ += work;
    if (done_ < a_millisecond) return;
    done_ = 0;
    pulse();
  }

 private:
  static constexpr index_t a_millisecond = 1000000;
  index_t done_ = 0;
};

}  // namespace detail
}  // namespace bhclust

/// @file
/// How long work reports on itself and is stopped.
#pragma once

#include <bhclust/types.hpp>

#include <chrono>
#include <functional>
#include <utility>

namespace bhclust {

/// Called with (done, total) from the thread that called the algorithm, some 25 times a second
/// while work goes on; the unit is the algorithm's own. An exception thrown here ends the work and
/// reaches the caller: this is how a run is cancelled.
using progress_function = std::function<void(index_t done, index_t total)>;

namespace detail {

/// Passes progress on at a bounded rate, so that algorithms may tick as often as they like.
class progress_meter {
 public:
  progress_meter(progress_function report, index_t total)
      : report_(std::move(report)), total_(total) {}

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
    if (report_) report_(total_, total_);
  }

 private:
  using clock = std::chrono::steady_clock;
  progress_function report_;
  index_t total_;
  index_t done_ = 0;
  clock::time_point last_ = clock::now();
};

}  // namespace detail
}  // namespace bhclust

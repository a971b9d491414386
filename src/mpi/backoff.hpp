// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/version.hpp>

#include <algorithm>
#include <chrono>
#include <thread>

namespace TESSERA_NAMESPACE::mpi {

/// Exponential backoff of a polling loop. Spins first, because most waits last microseconds; then yields;
/// then sleeps for times that double up to 100 us, because other threads may need the core.
class Backoff {
 public:
  using Clock = std::chrono::steady_clock;

  /// `spin_time`: time of polling before the first sleep, because large transfers progress only during polls.
  explicit Backoff(Clock::duration spin_time = std::chrono::milliseconds(1)) : spin_time_(spin_time) {}

  void operator()() {
    if (++calls_ < calls_before_yielding) return;
    if (waited() < spin_time_) {
      std::this_thread::yield();
      return;
    }
    std::this_thread::sleep_for(sleep_);
    sleep_ = std::min(sleep_ * 2, std::chrono::microseconds(100));
  }
  [[nodiscard]] bool is_long() const noexcept { return sleep_ > std::chrono::microseconds(1); }
  [[nodiscard]] Clock::time_point start() const noexcept { return start_; }
  [[nodiscard]] Clock::duration waited() const { return Clock::now() - start_; }

 private:
  static constexpr int calls_before_yielding = 100;

  Clock::time_point start_ = Clock::now();
  Clock::duration spin_time_;
  int calls_ = 0;
  std::chrono::microseconds sleep_{1};
};

}  // namespace TESSERA_NAMESPACE::mpi

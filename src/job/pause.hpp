// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>
#include <thread>

namespace tessera {

/// Gives the core away while waiting: at first for a moment, since most waits are over in microseconds, then
/// for longer, since other ranks and their threads may need it.
class Pause {
 public:
  using Clock = std::chrono::steady_clock;

  void operator()() {
    if (waited() < std::chrono::milliseconds(1)) {
      std::this_thread::yield();
      return;
    }
    std::this_thread::sleep_for(nap_);
    nap_ = std::min(nap_ * 2, std::chrono::microseconds(100));
  }
  [[nodiscard]] bool is_long() const noexcept { return nap_ > std::chrono::microseconds(1); }
  /// Since the pause was made.
  [[nodiscard]] Clock::duration waited() const { return Clock::now() - start_; }

 private:
  Clock::time_point start_ = Clock::now();
  std::chrono::microseconds nap_{1};
};

}  // namespace tessera

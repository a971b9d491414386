// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/version.hpp>

#include <algorithm>
#include <chrono>
#include <thread>

namespace tessera::inline TESSERA_ABI::mpi {

/// Waits a little longer from call to call: at first not at all, since most waits are over in microseconds,
/// then giving the core away for a moment, then for longer, since other ranks and their threads may need it.
class Pause {
 public:
  using Clock = std::chrono::steady_clock;

  /// `lively`: how long to come back at once, for what moves only while this rank looks at it.
  explicit Pause(Clock::duration lively = std::chrono::milliseconds(1)) : lively_(lively) {}

  void operator()() {
    if (++calls_ < calls_before_yielding) return;
    if (waited() < lively_) {
      std::this_thread::yield();
      return;
    }
    std::this_thread::sleep_for(nap_);
    nap_ = std::min(nap_ * 2, std::chrono::microseconds(100));
  }
  [[nodiscard]] bool is_long() const noexcept { return nap_ > std::chrono::microseconds(1); }
  /// When it was made.
  [[nodiscard]] Clock::time_point start() const noexcept { return start_; }
  /// Since then.
  [[nodiscard]] Clock::duration waited() const { return Clock::now() - start_; }

 private:
  static constexpr int calls_before_yielding = 100;

  Clock::time_point start_ = Clock::now();
  Clock::duration lively_;
  int calls_ = 0;
  std::chrono::microseconds nap_{1};
};

}  // namespace tessera::inline TESSERA_ABI::mpi

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/function.hpp>

#include <utility>

namespace tessera::base {

namespace detail {
inline thread_local FunctionRef<void()> cancellation_check;
}  // namespace detail

/// While the object exists, `check_cancelled` calls `check` on this thread, and on the worker threads of its
/// teams. `check` throws to abandon the work.
class CancellationScope {
 public:
  explicit CancellationScope(FunctionRef<void()> check)
      : before_(std::exchange(detail::cancellation_check, check)) {}
  ~CancellationScope() { detail::cancellation_check = before_; }
  CancellationScope(const CancellationScope&) = delete;
  CancellationScope& operator=(const CancellationScope&) = delete;

 private:
  FunctionRef<void()> before_;
};

/// The check of this thread's innermost `CancellationScope`; null if there is none.
[[nodiscard]] inline FunctionRef<void()> cancellation_check() noexcept {
  return detail::cancellation_check;
}

/// A cancellation point. Long computations call it every few milliseconds, and need no stop token as an
/// argument.
inline void check_cancelled() {
  if (detail::cancellation_check) detail::cancellation_check();
}

}  // namespace tessera::base

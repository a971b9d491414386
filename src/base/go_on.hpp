// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/function.hpp>

#include <utility>

namespace tessera::base {

namespace detail {
inline thread_local FunctionRef<void()> check_of_thread;
}  // namespace detail

/// While the object exists, `go_on` calls `check` on this thread, and on the worker threads of its teams.
/// `check` throws to abandon the work.
class Abandonable {
 public:
  explicit Abandonable(FunctionRef<void()> check) : before_(std::exchange(detail::check_of_thread, check)) {}
  ~Abandonable() { detail::check_of_thread = before_; }
  Abandonable(const Abandonable&) = delete;
  Abandonable& operator=(const Abandonable&) = delete;

 private:
  FunctionRef<void()> before_;
};

/// Null if this thread's work cannot be abandoned.
[[nodiscard]] inline FunctionRef<void()> check_of_thread() noexcept {
  return detail::check_of_thread;
}

/// A cancellation point. Long computations call it every few milliseconds, and need no stop token as an
/// argument.
inline void go_on() {
  if (detail::check_of_thread) detail::check_of_thread();
}

}  // namespace tessera::base

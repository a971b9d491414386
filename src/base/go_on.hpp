// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/function.hpp>

#include <utility>

namespace tessera::base {

namespace detail {
inline thread_local FunctionRef<void()> check_of_thread;
}  // namespace detail

/// Sets the check that `go_on` calls on this thread, for the life of the object: `check` throws to abandon
/// the work. Teams of threads that work for this thread call it too.
class Abandonable {
 public:
  explicit Abandonable(FunctionRef<void()> check) : before_(std::exchange(detail::check_of_thread, check)) {}
  ~Abandonable() { detail::check_of_thread = before_; }
  Abandonable(const Abandonable&) = delete;
  Abandonable& operator=(const Abandonable&) = delete;

 private:
  FunctionRef<void()> before_;
};

/// The check of this thread; null if its work cannot be abandoned.
[[nodiscard]] inline FunctionRef<void()> check_of_thread() noexcept {
  return detail::check_of_thread;
}

/// A cancellation point, called before each step of some milliseconds, so that long work need not receive a
/// stop request as an argument.
inline void go_on() {
  if (detail::check_of_thread) detail::check_of_thread();
}

}  // namespace tessera::base

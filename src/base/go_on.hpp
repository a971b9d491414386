// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/function.hpp>

#include <utility>

namespace tessera::base {

namespace detail {
inline thread_local FunctionRef<void()> check_of_thread;
}  // namespace detail

/// What `go_on` asks on this thread, for the life of the object: `check` throws where the work is to be
/// abandoned. Teams ask it for the blocks of work that this thread gives them, too, on their threads.
class Abandonable {
 public:
  explicit Abandonable(FunctionRef<void()> check) : before_(std::exchange(detail::check_of_thread, check)) {}
  ~Abandonable() { detail::check_of_thread = before_; }
  Abandonable(const Abandonable&) = delete;
  Abandonable& operator=(const Abandonable&) = delete;

 private:
  FunctionRef<void()> before_;
};

/// Null if nothing may be abandoned.
[[nodiscard]] inline FunctionRef<void()> check_of_thread() noexcept {
  return detail::check_of_thread;
}

/// Called before each step of some milliseconds, so that long work need not be handed a request to stop.
inline void go_on() {
  if (detail::check_of_thread) detail::check_of_thread();
}

}  // namespace tessera::base

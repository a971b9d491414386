// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/version.hpp>

#include <cstddef>
#include <functional>

namespace TESSERA_NAMESPACE::gam {

/// A function with its own stack that suspends itself until the same thread resumes it. A stack switch costs
/// about a thousandth of a thread switch.
class Fiber {
 public:
  /// Throws `std::bad_alloc`.
  Fiber();
  /// The body must have ended or not have begun.
  ~Fiber();
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  /// Sets the function of the next `resume`; it must not throw. The previous body must have ended.
  void set_body(std::function<void()> body);
  /// Runs the body until it suspends or ends. All calls for one body must be on the same thread.
  void resume();
  /// Returns control to the caller of `resume`. Only the body may call this.
  void suspend();
  [[nodiscard]] bool has_ended() const noexcept { return has_ended_; }

 private:
  /// Jump buffer of `__builtin_setjmp`, which avoids the system calls of swapcontext() for the signal mask.
  using Place = void* [5];

  static void enter(unsigned high, unsigned low);
  static void go(Place& from, Place& to);
  [[noreturn]] static void jump(Place& to);
  void enter_stack();
  void tell_sanitizer_of_entry();

  std::function<void()> body_;
  void* memory_;  ///< guard page, then the stack
  Place own_{};
  Place caller_{};
  bool is_entered_ = false;
  bool has_ended_ = true;
  // Shadow stacks of sanitizers.
  void* own_shadow_ = nullptr;
  void* caller_shadow_ = nullptr;
  const void* caller_stack_ = nullptr;
  std::size_t caller_stack_bytes_ = 0;
};

}  // namespace TESSERA_NAMESPACE::gam

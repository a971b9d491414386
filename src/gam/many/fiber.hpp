// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/version.hpp>

#include <cstddef>
#include <functional>

namespace TESSERA_NAMESPACE::gam {

/// A function on a stack of its own, which suspends itself until another function of the same thread resumes
/// it. A wait costs a switch of stacks, a thousandth of the cost of a switch of threads.
class Fiber {
 public:
  /// Throws `std::bad_alloc`.
  Fiber();
  /// The body must have ended, or not have begun.
  ~Fiber();
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  /// Sets the function that the next `resume` begins; it must not throw. The previous one must have ended.
  void set_body(std::function<void()> body);
  /// Runs the body until it suspends itself or ends. All calls for one body must be on the same thread.
  void resume();
  /// Returns from `resume`; the next `resume` continues the body. Called only by the body.
  void suspend();
  [[nodiscard]] bool has_ended() const noexcept { return has_ended_; }

 private:
  /// Stack pointer, frame pointer and address, as `__builtin_setjmp` stores them. Unlike swapcontext(), it
  /// leaves the signal mask alone, which saves two system calls per wait.
  using Place = void* [5];

  static void enter(unsigned high, unsigned low);
  static void go(Place& from, Place& to);
  [[noreturn]] static void jump(Place& to);
  void enter_stack();
  void tell_sanitizer_of_entry();

  std::function<void()> body_;
  void* memory_;  ///< a guard page, followed by the stack
  Place own_{};
  Place caller_{};
  bool is_entered_ = false;
  bool has_ended_ = true;
  // For sanitizers, which keep shadows of stacks.
  void* own_shadow_ = nullptr;
  void* caller_shadow_ = nullptr;
  const void* caller_stack_ = nullptr;
  std::size_t caller_stack_bytes_ = 0;
};

}  // namespace TESSERA_NAMESPACE::gam

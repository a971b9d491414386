// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/version.hpp>

#include <ucontext.h>

#include <cstddef>
#include <functional>

namespace TESSERA_NAMESPACE::gam {

/// A stack with a guard page below it.
class FiberStack {
 public:
  static constexpr std::size_t bytes = std::size_t{256} << 10;
  /// Throws `std::bad_alloc`.
  FiberStack();
  ~FiberStack();
  FiberStack(FiberStack&& other) noexcept : memory_(other.memory_) { other.memory_ = nullptr; }
  FiberStack& operator=(FiberStack&&) = delete;
  [[nodiscard]] void* lowest() const noexcept;

 private:
  void* memory_;
};

/// A function on a separate stack that suspends itself until another function of the same thread resumes it.
/// A wait costs a switch of stacks, a hundredth of the cost of a switch of threads.
class Fiber {
 public:
  /// `body` runs from the first `resume` on, and must not throw. `stack` must outlive the fiber.
  Fiber(const FiberStack& stack, std::function<void()> body);
  /// The body must have ended, or not have begun.
  ~Fiber();
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  /// Runs the body until it suspends itself or ends. Always on the same thread.
  void resume();
  /// Returns from `resume`; the next `resume` continues the body. Called only by the body.
  void suspend();
  [[nodiscard]] bool has_ended() const noexcept { return has_ended_; }

 private:
  static void enter(unsigned high, unsigned low);
  void tell_sanitizer_of_entry();

  std::function<void()> body_;
  ucontext_t own_{};
  ucontext_t caller_{};
  bool has_ended_ = false;
  // For sanitizers, which keep shadows of stacks.
  const void* stack_;
  void* own_shadow_ = nullptr;
  void* caller_shadow_ = nullptr;
  const void* caller_stack_ = nullptr;
  std::size_t caller_stack_bytes_ = 0;
};

}  // namespace TESSERA_NAMESPACE::gam

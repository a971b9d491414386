// SPDX-License-Identifier: Apache-2.0
#include "gam/many/fiber.hpp"

#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <new>
#include <utility>

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/common_interface_defs.h>
#endif
#ifdef __SANITIZE_THREAD__
#include <sanitizer/tsan_interface.h>
#endif

namespace TESSERA_NAMESPACE::gam {
namespace {

constexpr std::size_t stack_bytes = std::size_t{256} << 10;

std::size_t guard_bytes() {
  static const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  return page;
}

void* lowest_of_stack(void* memory) {
  return static_cast<std::byte*>(memory) + guard_bytes();
}

}  // namespace

Fiber::Fiber() {
  memory_ = ::mmap(nullptr, guard_bytes() + stack_bytes, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK | MAP_NORESERVE, -1, 0);
  if (memory_ == MAP_FAILED) throw std::bad_alloc();
  (void)::mprotect(memory_, guard_bytes(), PROT_NONE);
#ifdef __SANITIZE_THREAD__
  own_shadow_ = __tsan_create_fiber(0);
#endif
}

Fiber::~Fiber() {
#ifdef __SANITIZE_THREAD__
  __tsan_destroy_fiber(own_shadow_);
#endif
  (void)::munmap(memory_, guard_bytes() + stack_bytes);
}

void Fiber::set_body(std::function<void()> body) {
  body_ = std::move(body);
  has_ended_ = false;
}

// Not instrumented by TSan: the function is entered with the fiber's shadow stack and left with the caller's.
[[gnu::no_sanitize("thread")]] void Fiber::enter(unsigned high, unsigned low) {
  constexpr int half = 32;
  auto* const self = reinterpret_cast<Fiber*>(std::uintptr_t{high} << half | low);
  self->tell_sanitizer_of_entry();
  while (true) {
    self->body_();
    self->has_ended_ = true;
    self->suspend();
  }
}

void Fiber::enter_stack() {
  is_entered_ = true;
  ucontext_t context;
  (void)getcontext(&context);
  context.uc_stack.ss_sp = lowest_of_stack(memory_);
  context.uc_stack.ss_size = stack_bytes;
  context.uc_link = nullptr;
  // makecontext passes only ints: split the pointer into two.
  const auto self = reinterpret_cast<std::uintptr_t>(this);
  constexpr int half = 32;
  makecontext(&context, reinterpret_cast<void (*)()>(&Fiber::enter), 2, static_cast<unsigned>(self >> half),
              static_cast<unsigned>(self));
  (void)setcontext(&context);
}

// A separate function: __builtin_longjmp must not jump within its own function.
[[gnu::noinline]] void Fiber::jump(Place& to) {
  __builtin_longjmp(to, 1);
}
[[gnu::noinline]] void Fiber::go(Place& from, Place& to) {
  if (__builtin_setjmp(from) == 0) jump(to);
}

[[gnu::noinline]] void Fiber::resume() {
#ifdef __SANITIZE_ADDRESS__
  __sanitizer_start_switch_fiber(&caller_shadow_, lowest_of_stack(memory_), stack_bytes);
#endif
#ifdef __SANITIZE_THREAD__
  caller_shadow_ = __tsan_get_current_fiber();
  __tsan_switch_to_fiber(own_shadow_, 0);
#endif
  if (is_entered_)
    go(caller_, own_);
  else if (__builtin_setjmp(caller_) == 0)
    enter_stack();
#ifdef __SANITIZE_ADDRESS__
  __sanitizer_finish_switch_fiber(caller_shadow_, nullptr, nullptr);
#endif
}

[[gnu::noinline]] void Fiber::suspend() {
#ifdef __SANITIZE_ADDRESS__
  __sanitizer_start_switch_fiber(&own_shadow_, caller_stack_, caller_stack_bytes_);
#endif
#ifdef __SANITIZE_THREAD__
  __tsan_switch_to_fiber(caller_shadow_, 0);
#endif
  go(own_, caller_);
  tell_sanitizer_of_entry();
}

void Fiber::tell_sanitizer_of_entry() {
#ifdef __SANITIZE_ADDRESS__
  __sanitizer_finish_switch_fiber(own_shadow_, &caller_stack_, &caller_stack_bytes_);
#endif
}

}  // namespace TESSERA_NAMESPACE::gam

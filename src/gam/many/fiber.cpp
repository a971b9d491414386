// SPDX-License-Identifier: Apache-2.0
#include "gam/many/fiber.hpp"

#include <sys/mman.h>
#include <unistd.h>

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

std::size_t guard_bytes() {
  static const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  return page;
}

}  // namespace

FiberStack::FiberStack() {
  memory_ = ::mmap(nullptr, guard_bytes() + bytes, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK | MAP_NORESERVE, -1, 0);
  if (memory_ == MAP_FAILED) throw std::bad_alloc();
  (void)::mprotect(memory_, guard_bytes(), PROT_NONE);
}

FiberStack::~FiberStack() {
  if (memory_ != nullptr) (void)::munmap(memory_, guard_bytes() + bytes);
}

void* FiberStack::lowest() const noexcept {
  return static_cast<std::byte*>(memory_) + guard_bytes();
}

Fiber::Fiber(const FiberStack& stack, std::function<void()> body)
    : body_(std::move(body)), stack_(stack.lowest()) {
  (void)getcontext(&own_);
  own_.uc_stack.ss_sp = stack.lowest();
  own_.uc_stack.ss_size = FiberStack::bytes;
  own_.uc_link = &caller_;
  // The pointer as two integers, because makecontext passes only integers.
  const auto self = reinterpret_cast<std::uintptr_t>(this);
  constexpr int half = 32;
  makecontext(&own_, reinterpret_cast<void (*)()>(&Fiber::enter), 2, static_cast<unsigned>(self >> half),
              static_cast<unsigned>(self));
#ifdef __SANITIZE_THREAD__
  own_shadow_ = __tsan_create_fiber(0);
#endif
}

Fiber::~Fiber() {
#ifdef __SANITIZE_THREAD__
  __tsan_destroy_fiber(own_shadow_);
#endif
}

// Not instrumented, because it is entered with the fiber's shadow stack and left with the caller's.
[[gnu::no_sanitize("thread")]] void Fiber::enter(unsigned high, unsigned low) {
  constexpr int half = 32;
  auto* const self = reinterpret_cast<Fiber*>(std::uintptr_t{high} << half | low);
  self->tell_sanitizer_of_entry();
  self->body_();
  self->has_ended_ = true;
#ifdef __SANITIZE_ADDRESS__
  __sanitizer_start_switch_fiber(nullptr, self->caller_stack_, self->caller_stack_bytes_);
#endif
#ifdef __SANITIZE_THREAD__
  __tsan_switch_to_fiber(self->caller_shadow_, 0);
#endif
}

void Fiber::tell_sanitizer_of_entry() {
#ifdef __SANITIZE_ADDRESS__
  __sanitizer_finish_switch_fiber(own_shadow_, &caller_stack_, &caller_stack_bytes_);
#endif
}

void Fiber::resume() {
#ifdef __SANITIZE_ADDRESS__
  __sanitizer_start_switch_fiber(&caller_shadow_, stack_, FiberStack::bytes);
#endif
#ifdef __SANITIZE_THREAD__
  caller_shadow_ = __tsan_get_current_fiber();
  __tsan_switch_to_fiber(own_shadow_, 0);
#endif
  (void)swapcontext(&caller_, &own_);
#ifdef __SANITIZE_ADDRESS__
  __sanitizer_finish_switch_fiber(caller_shadow_, nullptr, nullptr);
#endif
}

void Fiber::suspend() {
#ifdef __SANITIZE_ADDRESS__
  __sanitizer_start_switch_fiber(&own_shadow_, caller_stack_, caller_stack_bytes_);
#endif
#ifdef __SANITIZE_THREAD__
  __tsan_switch_to_fiber(caller_shadow_, 0);
#endif
  (void)swapcontext(&own_, &caller_);
  tell_sanitizer_of_entry();
}

}  // namespace TESSERA_NAMESPACE::gam

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <pthread.h>

#include <tessera/error.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>

namespace tessera::base {

namespace detail {

/// The bounds of this thread's stack; empty if unknown.
struct StackOfThread {
  std::uintptr_t low = 0, high = 0;

  StackOfThread() noexcept {
    pthread_attr_t attributes;
    if (pthread_getattr_np(pthread_self(), &attributes) != 0) return;
    void* begin = nullptr;
    std::size_t size = 0;
    if (pthread_attr_getstack(&attributes, &begin, &size) == 0) {
      low = reinterpret_cast<std::uintptr_t>(begin);
      high = low + size;
    }
    pthread_attr_destroy(&attributes);
  }
};

}  // namespace detail

/// Bytes left on this thread's stack; the largest number if its bounds are unknown, or if the thread runs a
/// fiber on another stack. Cost: some nanoseconds, and a few system calls once for each thread.
inline std::size_t stack_left() noexcept {
  static thread_local const detail::StackOfThread stack;
  const auto here = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
  return here > stack.low && here <= stack.high ? here - stack.low : std::numeric_limits<std::size_t>::max();
}

/// Stack that one call of the library needs. Kernels of dense products and triangular solves have local
/// arrays of 16 KiB each.
inline constexpr std::size_t kib_of_a_call = 160;

/// Throws `Error(job_fault)` unless `kib` KiB of stack are left: a stack overflow would end the process.
inline void require_stack(std::size_t kib, const char* what) {
  constexpr std::size_t bytes = 1024;
  if (const std::size_t left = stack_left() / bytes; left < kib)
    throw Error(ErrorCode::job_fault, std::string(what) + " needs " + std::to_string(kib) +
                                          " KiB of stack on this thread, but only " + std::to_string(left) +
                                          " KiB are left: start threads with a stack of 1 MiB (ulimit -s)");
}

}  // namespace tessera::base

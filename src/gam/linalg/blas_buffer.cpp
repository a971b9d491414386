// SPDX-License-Identifier: Apache-2.0
#include "gam/linalg/blas_buffer.hpp"

#include <pthread.h>
#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <new>
#include <utility>

// OpenBLAS only, which exports them without a header. The argument is unused.
extern "C" {
void* blas_memory_alloc(int) __attribute__((weak));
void blas_memory_free(void*) __attribute__((weak));
// NOLINTNEXTLINE(readability-redundant-declaration)
int openblas_get_parallel() __attribute__((weak));
// Set by the library's private copy of OpenBLAS, which gives each thread its own buffer: private_blas.cpp.
// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables)
__attribute__((visibility("hidden"))) bool tessera_private_blas_is_here = false;
}

namespace TESSERA_NAMESPACE::gam {
namespace {

/// A buffer has up to 128 MiB, most of it never touched; the remaining bytes are for other threads, which may
/// allocate between the test and the mapping.
constexpr std::size_t needed_bytes = std::size_t{192} << 20;

bool is_room_left() noexcept {
  void* const bytes = mmap(nullptr, needed_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return bytes != MAP_FAILED && munmap(bytes, needed_bytes) == 0;
}

/// Whether OpenBLAS is a serial build, which may give the same buffer to concurrent callers without an error.
bool is_for_one_thread() noexcept {
  return !tessera_private_blas_is_here && openblas_get_parallel != nullptr && openblas_get_parallel() == 0;
}

/// The buffers that OpenBLAS has mapped; each call uses one.
class Buffers {
 public:
  void take() {
    if (try_take()) return;
    std::unique_lock lock(mutex_);
    ++waiting_;
    while (!try_take()) {
      if (is_growing_ || (count_ > 0 && is_for_one_thread()))
        changed_.wait(lock);
      else if (grow(lock) == 0) {
        --waiting_;
        throw std::bad_alloc();
      }
    }
    --waiting_;
  }

  void give_back() noexcept {
    ++free_;
    if (waiting_ == 0) return;
    const std::lock_guard lock(mutex_);
    changed_.notify_all();
  }

 private:
  bool try_take() noexcept {
    int count = free_;
    while (count > 0) {
      if (free_.compare_exchange_weak(count, count - 1)) return true;
    }
    return false;
  }

  /// Maps a buffer for each waiting thread, as long as there is room; returns how many. OpenBLAS maps a new
  /// buffer only if none is free, so all mapped ones are held until the end.
  int grow(std::unique_lock<std::mutex>& lock) noexcept {
    is_growing_ = true;
    for (int taken = 0; (taken += free_.exchange(0)) < count_;) changed_.wait(lock);
    // Held buffers form a linked list through their first bytes. Writing to a buffer here shows whether there
    // is memory for it, before BLAS computes in it.
    void* held = nullptr;
    const int wanted = is_for_one_thread() ? 1 : count_ + waiting_;
    for (int i = 0; i < wanted && (i < count_ || is_room_left()); ++i) {
      void* const buffer = blas_memory_alloc(0);
      *static_cast<void**>(buffer) = std::exchange(held, buffer);
      count_ = std::max(count_, i + 1);
    }
    while (held != nullptr) blas_memory_free(std::exchange(held, *static_cast<void**>(held)));
    is_growing_ = false;
    free_ += count_;
    changed_.notify_all();
    return count_;
  }

  std::atomic<int> free_ = 0;
  std::atomic<int> waiting_ = 0;
  std::mutex mutex_;
  // Guarded by the mutex, which `grow` does not hold while it waits.
  std::condition_variable changed_;
  bool is_growing_ = false;
  int count_ = 0;
};

/// Never destroyed, since other threads may compute until the process ends. A forked child has its own, since
/// calls of the parent's other threads never end in the child.
Buffers& buffers() {
  static Buffers* const all = [] {
    static Buffers* const made = new Buffers;
    pthread_atfork(nullptr, nullptr, [] { ::new (static_cast<void*>(made)) Buffers; });
    return made;
  }();
  return *all;
}

bool is_openblas() noexcept {
  return blas_memory_alloc != nullptr && blas_memory_free != nullptr;
}

}  // namespace

BlasBuffer::BlasBuffer() {
  if (is_openblas()) buffers().take();
}

BlasBuffer::~BlasBuffer() {
  if (is_openblas()) buffers().give_back();
}

}  // namespace TESSERA_NAMESPACE::gam

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <memory>
#include <mutex>

namespace tessera::base {

/// An object constructed on first use. Concurrent users wait for the constructor; later accesses take no
/// lock. If the constructor throws, the next access tries again. Thread-safe.
template <typename T>
class Lazy {
 public:
  /// The object; `make()` returns a std::unique_ptr to it.
  template <typename Make>
  T& get(Make&& make) {
    if (T* const made = if_made()) return *made;
    const std::lock_guard lock(making_);
    if (!owned_) {
      owned_ = make();
      made_.store(owned_.get(), std::memory_order_release);
    }
    return *owned_;
  }
  [[nodiscard]] T* if_made() const noexcept { return made_.load(std::memory_order_acquire); }

 private:
  std::mutex making_;
  std::unique_ptr<T> owned_;
  std::atomic<T*> made_ = nullptr;  // `owned_`, visible to threads that do not hold `making_`
};

}  // namespace tessera::base

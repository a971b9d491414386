// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/version.hpp>

#include <atomic>
#include <cstdint>
#include <exception>
#include <limits>
#include <mutex>
#include <utility>

namespace TESSERA_NAMESPACE {

/// Keeps the exception of the failed part with the lowest index, so that the result does not depend on the
/// number of threads. Thread-safe.
class EarliestFailure {
 public:
  void add(std::int64_t part, std::exception_ptr thrown) {
    const std::lock_guard lock(mutex_);
    if (part < part_) {
      part_ = part;
      std::swap(thrown_, thrown);
    }
    any_ = true;
  }
  [[nodiscard]] bool any() const noexcept { return any_.load(std::memory_order_relaxed); }
  /// Call after all threads are done.
  void rethrow() const {
    if (thrown_) std::rethrow_exception(thrown_);
  }

 private:
  std::mutex mutex_;
  std::atomic<bool> any_ = false;
  std::int64_t part_ = std::numeric_limits<std::int64_t>::max();
  std::exception_ptr thrown_;
};

}  // namespace TESSERA_NAMESPACE

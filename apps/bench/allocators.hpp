// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/device/stream.hpp>

#include <cstddef>
#include <memory>
#include <string>

namespace tessera::bench {

/// One way to get device memory, bound to streams. A `take` that finds too little gives null.
class Allocator {
 public:
  Allocator() = default;
  virtual ~Allocator() = default;
  Allocator(const Allocator&) = delete;
  Allocator& operator=(const Allocator&) = delete;

  [[nodiscard]] virtual std::string name() const = 0;
  [[nodiscard]] virtual void* take(std::size_t bytes, StreamView stream) = 0;
  virtual void give_back(void* memory, StreamView stream) = 0;
  /// The most bytes that it had of the device at once; 0 if it does not tell.
  [[nodiscard]] virtual std::size_t peak_reserved_bytes() const = 0;
};

/// cudaMallocAsync on the current device, from a memory pool of its own. What is free stays in the pool if it
/// `keeps`; otherwise it goes back to the device whenever a stream is waited for, as CUDA would have it. Null
/// in a build without CUDA; so is the next one.
[[nodiscard]] std::unique_ptr<Allocator> cuda_malloc_async(bool keeps);
/// cub::CachingDeviceAllocator with a bin for each power of two to 2 GiB and no bound on what it keeps, so
/// that it too hits at every size.
[[nodiscard]] std::unique_ptr<Allocator> cub_caching();

/// Waits for all work of the current device.
void wait_for_device();

/// Work on the stream that writes the first `bytes`. Nothing in a build without CUDA. Throws
/// `Error(job_fault)`.
void touch(void* memory, std::size_t bytes, StreamView stream);

}  // namespace tessera::bench

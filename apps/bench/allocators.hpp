// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/device/stream.hpp>

#include <cstddef>
#include <memory>
#include <vector>

namespace tessera::bench {

/// One way to get device memory, bound to streams. A `take` that finds too little gives null.
class Allocator {
 public:
  Allocator() = default;
  virtual ~Allocator() = default;
  Allocator(const Allocator&) = delete;
  Allocator& operator=(const Allocator&) = delete;

  [[nodiscard]] virtual void* take(std::size_t bytes, StreamView stream) = 0;
  virtual void give_back(void* memory, StreamView stream) = 0;
  /// The most bytes that it had of the device at once; 0 if it does not tell.
  [[nodiscard]] virtual std::size_t peak_reserved_bytes() const = 0;
};

/// What the pools are measured beside. `make` gives one for the current device.
struct PeerAllocator {
  const char* name;
  std::unique_ptr<Allocator> (*make)();
};

/// None in a build without CUDA. They keep what is free:
/// - cudaMallocAsync, from a memory pool of its own;
/// - cub::CachingDeviceAllocator with a bin for each power of two to 2 GiB and no bound on what it keeps, so
///   that it too hits at every size;
/// - PyTorch's, as its environment variables set it, in a build that has it (`TESSERA_BENCH_TORCH`).
[[nodiscard]] std::vector<PeerAllocator> peers_that_keep();
/// Those that can fill a card: cudaMallocAsync, which gives back to the device whenever a stream is waited
/// for, as CUDA would have it, and PyTorch's.
[[nodiscard]] std::vector<PeerAllocator> peers_that_fill();

/// c10::cuda::CUDACachingAllocator; nothing in a build without it.
[[nodiscard]] std::vector<PeerAllocator> torch_caching();

/// Waits for all work of the current device.
void wait_for_device();

/// Work on the stream that writes the first `bytes`. Nothing in a build without CUDA. Throws
/// `Error(job_fault)`.
void touch(void* memory, std::size_t bytes, StreamView stream);

}  // namespace tessera::bench

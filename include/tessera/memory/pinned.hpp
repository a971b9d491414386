// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/topology/device_info.hpp>
#include <tessera/version.hpp>

#include <cstddef>
#include <limits>
#include <span>
#include <type_traits>
#include <utility>

namespace TESSERA_NAMESPACE {

class DeviceContext;

/// Pinned (page-locked) host memory on the NUMA node nearest to a device, for asynchronous copies at full
/// speed. Zeroed. Move-only.
///
/// For a simulated device it is pageable memory. If the device's NUMA node is unknown, or the process may not
/// bind memory (as in some containers), the system places the memory; see `near_device()`.
class TESSERA_EXPORT PinnedMemory {
 public:
  PinnedMemory() = default;
  /// Makes `context` current on the calling thread. Throws `Error(job_fault)` if memory cannot be allocated
  /// or pinned. Blocks. Cost: about a third of a second per GiB for touching and pinning.
  PinnedMemory(std::size_t bytes, const DeviceContext& context);
  /// Blocks until the memory is unpinned. Copies from or to it must be complete.
  ~PinnedMemory();
  PinnedMemory(PinnedMemory&& other) noexcept { swap(other); }
  PinnedMemory& operator=(PinnedMemory&& other) noexcept {
    PinnedMemory taken(std::move(other));
    swap(taken);
    return *this;
  }

  [[nodiscard]] void* data() const noexcept { return data_; }
  [[nodiscard]] std::size_t size_bytes() const noexcept { return size_bytes_; }
  /// Whether every page is on the device's NUMA node.
  [[nodiscard]] bool near_device() const noexcept { return near_device_; }
  [[nodiscard]] bool pinned() const noexcept { return pinned_; }

 private:
  void swap(PinnedMemory& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_bytes_, other.size_bytes_);
    std::swap(near_device_, other.near_device_);
    std::swap(pinned_, other.pinned_);
    std::swap(ordinal_, other.ordinal_);
  }

  void* data_ = nullptr;
  std::size_t size_bytes_ = 0;
  bool near_device_ = false;
  bool pinned_ = false;
  Ordinal ordinal_{-1};
};

/// `size` elements of pinned memory, as a contiguous range.
///
///     PinnedBuffer<double> rows(batch, context);
///     std::ranges::copy(read, rows.begin());
///     cudaMemcpyAsync(device.data(), rows.data(), rows.size_bytes(), cudaMemcpyHostToDevice, stream);
template <class T>
class PinnedBuffer {
  static_assert(std::is_trivially_copyable_v<T>, "devices copy byte by byte");

 public:
  PinnedBuffer() = default;
  /// Like the constructor of `PinnedMemory`.
  PinnedBuffer(std::size_t size, const DeviceContext& context)
      : memory_(size > std::numeric_limits<std::size_t>::max() / sizeof(T)
                    ? std::numeric_limits<std::size_t>::max()
                    : size * sizeof(T),
                context) {}

  [[nodiscard]] T* data() const noexcept { return static_cast<T*>(memory_.data()); }
  [[nodiscard]] std::size_t size() const noexcept { return memory_.size_bytes() / sizeof(T); }
  [[nodiscard]] std::size_t size_bytes() const noexcept { return memory_.size_bytes(); }
  [[nodiscard]] T* begin() const noexcept { return data(); }
  [[nodiscard]] T* end() const noexcept { return data() + size(); }
  [[nodiscard]] T& operator[](std::size_t i) const noexcept { return data()[i]; }
  [[nodiscard]] std::span<T> span() const noexcept { return {data(), size()}; }
  [[nodiscard]] const PinnedMemory& memory() const noexcept { return memory_; }

 private:
  PinnedMemory memory_;
};

}  // namespace TESSERA_NAMESPACE

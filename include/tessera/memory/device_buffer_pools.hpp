// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/device/pool.hpp>
#include <tessera/held.hpp>
#include <tessera/memory/buffer_pool.hpp>
#include <tessera/version.hpp>

#include <cstddef>
#include <memory>

namespace TESSERA_NAMESPACE {

/// A buffer pool for each of a rank's devices, by the device's index in its `DevicePool`, created at first
/// use.
///
///     DeviceBufferPools pools(devices);
///     auto sums = pools.pool_at(0).take<double>(1024, devices.context_at(0).stream());
///
/// The pools are independent. All members are thread-safe; pools of different devices can be created in
/// parallel.
class TESSERA_EXPORT DeviceBufferPools {
 public:
  /// `devices` must outlive this object.
  explicit DeviceBufferPools(DevicePool& devices, BufferPoolOptions options = {});
  ~DeviceBufferPools();
  DeviceBufferPools(DeviceBufferPools&&) noexcept;
  DeviceBufferPools& operator=(DeviceBufferPools&&) noexcept;

  [[nodiscard]] std::size_t size() const noexcept;
  /// The first call for a device opens it if necessary, which blocks, and makes it current on the calling
  /// thread. Throws `Error(usage)` for an index out of range, and `Error(job_fault)` if the device fails; the
  /// next call tries again.
  [[nodiscard]] BufferPool& pool_at(std::size_t index);
  /// Empties the cache of one device; does nothing if it has no pool yet. Throws `Error(usage)` for an index
  /// out of range.
  void empty_cache(std::size_t index);
  void empty_cache_all() noexcept;

 private:
  struct State;
  detail::Held<std::unique_ptr<State>, "DeviceBufferPools"> state_;
};

}  // namespace TESSERA_NAMESPACE

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/device/pool.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <thread>
#include <vector>

namespace tessera {

/// The threads that drive a rank's devices, one for each, parked between passes: waking one takes a tenth
/// of what starting and binding one takes (30 to 60 us each).
///
/// A thread is started when its device first has work. Woken threads wake others, as a binary tree, so that
/// eight devices begin three wakes after the caller, not eight. Not thread-safe.
class DeviceThreads {
 public:
  explicit DeviceThreads(std::size_t devices);
  ~DeviceThreads();
  DeviceThreads(const DeviceThreads&) = delete;
  DeviceThreads& operator=(const DeviceThreads&) = delete;

  /// Calls `work(device)` for each of `devices` (distinct, below the number given to the constructor), each
  /// on that device's own thread, and waits for all. `work` must not throw. Throws `std::system_error`, and
  /// calls nothing, if the system has no more threads. `meanwhile`, where it is given, is called on the
  /// calling thread again and again while it waits; the wait then takes up to a tenth of a millisecond
  /// longer.
  void run(std::span<const int> devices, const std::function<void(int)>& work,
           const std::function<void()>& meanwhile = {});

 private:
  struct Worker;

  void start(int device);
  void wake(std::size_t place);
  void serve(int device);

  std::vector<std::unique_ptr<Worker>> workers_;
  std::span<const int> devices_;                        ///< of the run in progress
  const std::function<void(int)>* work_ = nullptr;      ///< of the run in progress
  alignas(64) std::atomic<std::uint32_t> running_ = 0;  ///< devices of it that are not done
};

/// Binds the calling thread near the device. Throws `Error(job_fault)` if that cannot be done.
void bind_this_thread_near(const DeviceInfo& device);

/// Where the pool has a device of this rank, which counts the claimed ones.
[[nodiscard]] std::size_t pool_index_of_claimed(const DevicePool& pool, int device);
/// Its context; opens it if it is not open.
[[nodiscard]] inline DeviceContext& context_of_claimed(DevicePool& pool, int device) {
  return pool.context_at(pool_index_of_claimed(pool, device));
}

/// Waits for the stream of a device whose function failed: what it began must not write later on.
void drain(const DeviceContext& context) noexcept;

}  // namespace tessera

// SPDX-License-Identifier: Apache-2.0
#include "job/device_threads.hpp"

#include "mpi/pause.hpp"

#include <tessera/error.hpp>

#include <algorithm>
#include <string>

namespace tessera {

/// On cache lines of its own: its caller writes `turn` while other threads poll theirs.
struct alignas(64) DeviceThreads::Worker {
  std::atomic<std::uint32_t> turn = 0;  ///< counts the runs that it took part in, and its end
  std::size_t place = 0;                ///< in the run that begins with the next turn
  bool ending = false;
  std::jthread thread;
};

DeviceThreads::DeviceThreads(std::size_t devices) : workers_(devices) {}

DeviceThreads::~DeviceThreads() {
  for (const auto& worker : workers_) {
    if (!worker) continue;
    worker->ending = true;
    worker->turn.fetch_add(1, std::memory_order_release);
    worker->turn.notify_one();
  }
}

void DeviceThreads::start(int device) {
  auto& worker = workers_[static_cast<std::size_t>(device)];
  if (worker) return;
  auto started = std::make_unique<Worker>();
  Worker& its = *started;
  worker = std::move(started);
  try {
    its.thread = std::jthread([this, device] { serve(device); });
  } catch (...) {
    worker.reset();
    throw;
  }
}

void DeviceThreads::wake(std::size_t place) {
  if (place >= devices_.size()) return;
  Worker& worker = *workers_[static_cast<std::size_t>(devices_[place])];
  worker.turn.fetch_add(1, std::memory_order_release);
  worker.turn.notify_one();
}

void DeviceThreads::serve(int device) {
  Worker& me = *workers_[static_cast<std::size_t>(device)];
  for (std::uint32_t seen = 0;; ++seen) {
    me.turn.wait(seen, std::memory_order_acquire);
    if (me.ending) return;
    wake(2 * me.place + 1);
    wake(2 * me.place + 2);
    (*work_)(device);
    if (running_.fetch_sub(1, std::memory_order_acq_rel) == 1) running_.notify_one();
  }
}

void DeviceThreads::run(std::span<const int> devices, const std::function<void(int)>& work,
                        const std::function<void()>& meanwhile) {
  if (devices.empty()) return;
  for (const int device : devices) start(device);
  for (std::size_t place = 0; place < devices.size(); ++place)
    workers_[static_cast<std::size_t>(devices[place])]->place = place;
  devices_ = devices;
  work_ = &work;
  running_.store(static_cast<std::uint32_t>(devices.size()), std::memory_order_release);
  wake(0);
  for (mpi::Pause pause; meanwhile && running_.load(std::memory_order_acquire) != 0; pause()) meanwhile();
  for (std::uint32_t left = 0; (left = running_.load(std::memory_order_acquire)) != 0;)
    running_.wait(left, std::memory_order_acquire);
}

void bind_this_thread_near(const DeviceInfo& device) {
  if (!bind_thread_near(device.near_cpuset))
    throw Error(ErrorCode::job_fault,
                "the thread cannot be bound to the cores near the device (" + device.near_cpuset + ")");
}

std::size_t pool_index_of_claimed(const DevicePool& pool, int device) {
  const auto entries = pool.entries();
  const auto at = std::ranges::find(entries, device, &DevicePool::Entry::claim_index);
  return static_cast<std::size_t>(at - entries.begin());
}

void drain(const DeviceContext& context) noexcept {
  try {
    context.synchronize();
  } catch (const Error&) {
    // The device has failed already, for the reason that counts.
  }
}

}  // namespace tessera

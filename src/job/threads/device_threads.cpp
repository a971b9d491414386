// SPDX-License-Identifier: Apache-2.0
#include "job/threads/device_threads.hpp"

#include "device/affinity.hpp"
#include "device/context_access.hpp"
#include "device/cuda_calls.hpp"
#include "job/consensus/attempt.hpp"

#include <tessera/error.hpp>

#include <algorithm>
#include <cstring>

namespace TESSERA_NAMESPACE {

void bind_this_thread_near(const DeviceInfo& device) {
  if (!detail::bind_thread_near(device.near_cpuset))
    throw Error(ErrorCode::job_fault,
                "the thread cannot be bound to the cores near the device (" + device.near_cpuset + ")");
}

std::size_t pool_index_of_claimed(const DevicePool& pool, int device) {
  const auto entries = pool.entries();
  const auto at = std::ranges::find(entries, device, &DevicePool::Entry::claim_index);
  return static_cast<std::size_t>(at - entries.begin());
}

void copy_async(const DeviceContext& context, void* to, const void* from, std::size_t bytes) {
  if (context.info().has_host_memory())
    std::memcpy(to, from, bytes);
  else
    cuda::copy(to, from, bytes, context.stream());
}

void for_each_device(WorkerThreads& threads, Thrown& thrown, FunctionRef<void(std::size_t)> work,
                     FunctionRef<void()> progress) {
  std::vector<int> sound;
  for (std::size_t i = 0; i < thrown.size(); ++i)
    if (!thrown[i]) sound.push_back(static_cast<int>(i));
  try {
    const auto unfinished = std::make_exception_ptr(Misuse(thread_was_ended));
    for (const int device : sound) thrown[static_cast<std::size_t>(device)] = unfinished;
    threads.run(
        sound,
        [&](int device) {
          const auto i = static_cast<std::size_t>(device);
          try {
            work(i);
            thrown[i] = nullptr;
          } catch (...) {
            const std::exception_ptr now = std::current_exception();
            if (!now) throw;  // thread cancellation
            thrown[i] = now;
          }
        },
        progress);
  } catch (...) {  // threads cannot be started
    std::ranges::fill(thrown, std::current_exception());
  }
}

void drain(const DeviceContext& context, StreamView stream) noexcept {
  try {
    detail::ContextAccess::synchronize(context, stream);
  } catch (const Error&) {
    // The function's failure is reported instead.
  }
}

}  // namespace TESSERA_NAMESPACE

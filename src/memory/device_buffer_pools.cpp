// SPDX-License-Identifier: Apache-2.0
#include <tessera/memory/device_buffer_pools.hpp>

#include <atomic>
#include <mutex>

namespace tessera {
namespace {

/// A device's place where its pool goes once somebody asks for it.
struct Slot {
  std::mutex making;
  std::unique_ptr<BufferPool> pool;
  /// `pool`, visible to threads that do not hold `making`.
  std::atomic<BufferPool*> made = nullptr;
};

}  // namespace

struct DeviceBufferPools::State {
  DevicePool* devices = nullptr;
  BufferPoolOptions options;
  UpstreamKind kind{};
  std::unique_ptr<Slot[]> slots;
};

DeviceBufferPools::DeviceBufferPools(DevicePool& devices, BufferPoolOptions options, UpstreamKind kind)
    : state_(std::make_unique<State>()) {
  state_->devices = &devices;
  state_->options = options;
  state_->kind = kind;
  state_->slots = std::make_unique<Slot[]>(devices.size());
}

DeviceBufferPools::~DeviceBufferPools() = default;
DeviceBufferPools::DeviceBufferPools(DeviceBufferPools&&) noexcept = default;
DeviceBufferPools& DeviceBufferPools::operator=(DeviceBufferPools&&) noexcept = default;

std::size_t DeviceBufferPools::size() const noexcept {
  return state_->devices->size();
}

BufferPool& DeviceBufferPools::pool_at(std::size_t index) {
  (void)state_->devices->device_at(index);  // refuses an index that is not there
  Slot& slot = state_->slots[index];
  if (BufferPool* made = slot.made.load(std::memory_order_acquire)) return *made;
  const std::lock_guard lock(slot.making);
  if (!slot.pool) {
    slot.pool = std::make_unique<BufferPool>(make_upstream(state_->devices->context_at(index), state_->kind),
                                             state_->options);
    slot.made.store(slot.pool.get(), std::memory_order_release);
  }
  return *slot.pool;
}

void DeviceBufferPools::empty_cache(std::size_t index) {
  (void)state_->devices->device_at(index);
  if (BufferPool* made = state_->slots[index].made.load(std::memory_order_acquire)) made->empty_cache();
}

void DeviceBufferPools::empty_cache_all() noexcept {
  for (std::size_t index = 0; index < size(); ++index) {
    if (BufferPool* made = state_->slots[index].made.load(std::memory_order_acquire)) made->empty_cache();
  }
}

}  // namespace tessera

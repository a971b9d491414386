// SPDX-License-Identifier: Apache-2.0
#include "base/lazy.hpp"

#include <tessera/memory/device_buffer_pools.hpp>

namespace TESSERA_NAMESPACE {

struct DeviceBufferPools::State {
  DevicePool* devices = nullptr;
  BufferPoolOptions options;
  std::unique_ptr<base::Lazy<BufferPool>[]> pools;
};

DeviceBufferPools::DeviceBufferPools(DevicePool& devices, BufferPoolOptions options)
    : state_(std::make_unique<State>()) {
  state_->devices = &devices;
  state_->options = options;
  state_->pools = std::make_unique<base::Lazy<BufferPool>[]>(devices.size());
}

DeviceBufferPools::~DeviceBufferPools() = default;
DeviceBufferPools::DeviceBufferPools(DeviceBufferPools&&) noexcept = default;
DeviceBufferPools& DeviceBufferPools::operator=(DeviceBufferPools&&) noexcept = default;

std::size_t DeviceBufferPools::size() const noexcept {
  return state_ ? state_->devices->size() : 0;
}

BufferPool& DeviceBufferPools::pool_at(std::size_t index) {
  (void)state_->devices->device_at(index);  // throws for an index out of range
  return state_->pools[index].get([&] {
    return std::make_unique<BufferPool>(make_upstream(state_->devices->context_at(index)), state_->options);
  });
}

void DeviceBufferPools::empty_cache(std::size_t index) {
  (void)state_->devices->device_at(index);
  if (BufferPool* const made = state_->pools[index].if_made()) made->empty_cache();
}

void DeviceBufferPools::empty_cache_all() noexcept {
  for (std::size_t index = 0; index < size(); ++index) {
    if (BufferPool* const made = state_->pools[index].if_made()) made->empty_cache();
  }
}

}  // namespace TESSERA_NAMESPACE

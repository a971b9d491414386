// SPDX-License-Identifier: Apache-2.0
#include <tessera/device/context.hpp>

#include "device/cuda_calls.hpp"

#include <tessera/error.hpp>

#include <string>
#include <utility>

namespace tessera {
namespace {

/// Does `action`, and names the device if it fails.
template <class Action>
auto on_device(const DeviceInfo& info, const char* doing, Action&& action) {
  try {
    return action();
  } catch (const Error& error) {
    throw Error(ErrorCode::job_fault,
                "device " + to_string(info.uuid) + " (" + info.name + ") " + doing + ": " + error.what());
  }
}

}  // namespace

struct DeviceContext::State {
  State(DeviceInfo known, std::shared_ptr<ModuleCache> shared)
      : info(std::move(known)), modules(shared ? std::move(shared) : std::make_shared<ModuleCache>()) {
    if (info.simulated) return;
    on_device(info, "cannot be opened", [&] {
      ordinal = cuda::find_ordinal(info.uuid);
      cuda::bind(ordinal);
      cuda::fill_properties(ordinal, info);
      stream = cuda::create_stream();
    });
  }
  ~State() {
    if (stream.native() != nullptr) cuda::destroy_stream(stream);
  }
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  DeviceInfo info;
  Ordinal ordinal{-1};
  StreamView stream;
  std::shared_ptr<ModuleCache> modules;
};

DeviceContext::DeviceContext(DeviceInfo info, std::shared_ptr<ModuleCache> modules)
    : state_(std::make_unique<State>(std::move(info), std::move(modules))) {}
DeviceContext::~DeviceContext() = default;
DeviceContext::DeviceContext(DeviceContext&&) noexcept = default;
DeviceContext& DeviceContext::operator=(DeviceContext&&) noexcept = default;

const DeviceInfo& DeviceContext::info() const noexcept {
  return state_->info;
}
Ordinal DeviceContext::ordinal() const noexcept {
  return state_->ordinal;
}
StreamView DeviceContext::stream() const noexcept {
  return state_->stream;
}
ModuleCache& DeviceContext::modules() const noexcept {
  return *state_->modules;
}

void DeviceContext::bind() const {
  if (state_->info.simulated) return;
  on_device(state_->info, "cannot be made current", [&] { cuda::bind(state_->ordinal); });
}

void DeviceContext::synchronize() const {
  if (state_->info.simulated) return;
  on_device(state_->info, "failed", [&] { cuda::synchronize(state_->stream); });
}

std::int64_t DeviceContext::free_memory_bytes() const {
  if (state_->info.simulated) return state_->info.free_memory_bytes;
  return on_device(state_->info, "does not tell its free memory",
                   [&] { return cuda::free_memory_bytes(state_->ordinal); });
}

}  // namespace tessera

// SPDX-License-Identifier: Apache-2.0
#include <tessera/job/device_turn.hpp>

#include "job/array_state.hpp"
#include "job/state.hpp"
#include "topology/claim/process_claim.hpp"

#include <algorithm>

namespace TESSERA_NAMESPACE {

DeviceTurn::DeviceTurn(Job& job) : DeviceTurn(job.state()) {}
DeviceTurn::DeviceTurn(Job::State& state) noexcept : state_(state) {
  ++state_.turns_kept;
}
DeviceTurn::~DeviceTurn() {
  if (--state_.turns_kept == 0) state_.end_turn();
}

void DeviceTurn::begin() {
  state_.begin_turn();
}

void Job::State::begin_turn() {
  if (!claim || claim->has_turn()) return;
  claim->begin_turn([this] {
    if (options.stop == nullptr) return;
    options.stop->poll();
    if (options.stop->requested()) stop_pass();
  });
  // Data that other jobs keep on a device reduce this job's budget.
  const auto budget_of = [&](const InventoryDevice& device) {
    return device.host ? device.memory_budget_bytes : claim->budget_left(device.uuid);
  };
  if (std::ranges::all_of(inventory.devices(), [&](const InventoryDevice& device) {
        return device.memory_budget_bytes == budget_of(device);
      }))
    return;
  std::vector<InventoryDevice> devices(inventory.devices().begin(), inventory.devices().end());
  for (InventoryDevice& device : devices) device.memory_budget_bytes = budget_of(device);
  inventory = Inventory({inventory.ranks().begin(), inventory.ranks().end()}, std::move(devices));
  arrays.reset_unit_room();
}

bool Job::State::evict_arrays() noexcept {
  try {
    if (!arrays.evict_all()) return false;  // the next pass reports the failed device
    for (DeviceLane& lane : lanes) {
      lane.arena.reset();
      lane.workspaces.reset();
    }
    buffers.empty_cache_all();
  } catch (...) {
    return false;
  }
  return true;
}

void Job::State::end_turn() noexcept {
  if (!claim || !claim->has_turn()) return;
  const bool keeps = !claim->is_shared() && !on_host();
  claim->end_turn(keeps || !evict_arrays());
}

std::shared_ptr<const void> Job::State::turn_of_call() {
  std::shared_ptr<const DeviceTurn> turn(new DeviceTurn(*this));
  begin_turn();
  return turn;
}

}  // namespace TESSERA_NAMESPACE

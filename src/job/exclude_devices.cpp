// SPDX-License-Identifier: Apache-2.0
#include "job/array_state.hpp"
#include "job/state.hpp"
#include "topology/remaining_devices.hpp"

#include <tessera/error.hpp>

#include <algorithm>
#include <utility>

namespace TESSERA_NAMESPACE {
namespace {

/// Whether `failure` excludes `device`. A failure without a UUID excludes all GPUs of its rank.
bool is_hit_by(const InventoryDevice& device, const Verdict::Failure& failure) {
  return !device.host && device.rank == failure.rank &&
         (failure.uuid.empty() || to_string(device.uuid) == failure.uuid);
}

bool is_of_same_device(const Verdict::Failure& one, const Verdict::Failure& other) {
  return one.rank == other.rank && one.device == other.device && one.uuid == other.uuid;
}

}  // namespace

bool Job::State::exclude(const Attempt& attempt) {
  if (options.on_device_failure != OnDeviceFailure::exclude) return false;
  const auto failures = ballots.gather(attempt.device_failures(), inventory, "the exclusion of devices");
  std::vector<InventoryDevice> devices(inventory.devices().begin(), inventory.devices().end());
  for (InventoryDevice& device : devices)
    device.excluded = device.excluded || std::ranges::any_of(failures, [&](const Verdict::Failure& failure) {
                        return is_hit_by(device, failure);
                      });
  const auto is_left = [](const InventoryDevice& device) { return !device.host && !device.excluded; };
  const bool any_left = std::ranges::any_of(devices, is_left);
  Inventory marked({inventory.ranks().begin(), inventory.ranks().end()}, std::move(devices));
  std::swap(inventory, marked);
  if (!any_left) {
    planned_for = std::move(marked);
    return false;
  }
  remaining = detail::remaining_devices(inventory);
  // A device may have several failures, of different stages.
  for (const Verdict::Failure& failure : failures) {
    const bool known = std::ranges::any_of(
        excluded, [&](const Verdict::Failure& other) { return is_of_same_device(failure, other); });
    if (!known) excluded.push_back(failure);
  }
  if (collectives) collectives->exclude();
  exclude_from_pool();
  arrays.free_on_devices();  // tiles change devices
  return true;
}

void Job::State::exclude_from_pool() noexcept {
  for (const InventoryDevice& device : inventory.devices_of(comm.rank()))
    if (device.excluded) pool.leave_out(device.index);
}

bool Job::State::is_outdated(const Plan& plan) const {
  return !excluded.empty() && runs_on_devices(plan) && uses_excluded(plan, remaining);
}

std::optional<Plan> Job::State::substitute_for(const Plan& plan, const Pass& work) const {
  if (!is_outdated(plan)) return std::nullopt;
  const auto without_device = rank_without_device(plan, remaining);
  if (!without_device) return recut(plan, remaining);
  if (options.may_move_units && work.can_move) return replanned(plan, remaining);
  throw Error(ErrorCode::outdated_plan,
              "rank " + std::to_string(*without_device) + " (" +
                  inventory.ranks()[static_cast<std::size_t>(*without_device)].hostname +
                  ") has no device left for its units: create a new plan, move the data to the new plan, and "
                  "repeat the pass");
}

}  // namespace TESSERA_NAMESPACE

// SPDX-License-Identifier: Apache-2.0
#include "job/job_arrays.hpp"
#include "job/state.hpp"

#include <algorithm>
#include <limits>

namespace TESSERA_NAMESPACE::detail {
namespace {

/// The largest unit size in bytes at which every tile fits its device's memory budget.
double unit_room_of(const Plan& plan, const Inventory& inventory) {
  double room = std::numeric_limits<double>::infinity();
  for (const PlannedTile& tile : plan.tiles()) {
    const InventoryDevice& device = inventory.devices_of(tile.rank)[static_cast<std::size_t>(tile.device)];
    room = std::min(room,
                    static_cast<double>(device.memory_budget_bytes) / static_cast<double>(tile.units.size()));
  }
  return room;
}

bool is_used(std::span<const ArrayAccess> used, const ArrayState* array) {
  return std::ranges::find(used, array, &ArrayAccess::array) != used.end();
}

}  // namespace

// Every rank computes the same placement, because plans, budgets and arrays are equal on all ranks.

double JobArrays::share_of(ArrayState& array, int copies) const {
  if (copies == 0) return 0;
  if (!array.unit_room)
    array.unit_room = unit_room_of(
        job_.is_outdated(array.plan) ? recut(array.plan, job_.remaining) : array.plan, job_.inventory);
  return copies * static_cast<double>(array.unit_bytes) / *array.unit_room;
}

void JobArrays::place(std::span<const ArrayAccess> used) {
  for (ArrayState* array : all_) array->wanted = array->held;
  for (const ArrayAccess& access : used) {
    ArrayState::Held& wanted = access.array->wanted;
    wanted.current = wanted.current || access.use != ArrayUse::write;
    wanted.next = wanted.next || access.use != ArrayUse::read;
  }
  double taken = 0;
  double taken_by_others = 0;
  for (ArrayState* array : all_)
    (is_used(used, array) ? taken : taken_by_others) += share_of(*array, array->wanted.copies());
  streams_ = taken > 1;
  if (streams_) {
    for (ArrayState* array : all_) array->wanted = {};
    return;
  }
  std::vector<ArrayState*> others;
  std::ranges::copy_if(all_, std::back_inserter(others),
                       [&](const ArrayState* array) { return !is_used(used, array); });
  std::ranges::stable_sort(others, {}, &ArrayState::last_pass);
  for (ArrayState* array : others) {
    if (taken + taken_by_others <= 1) return;
    taken_by_others -= share_of(*array, array->wanted.copies());
    array->wanted = {};
  }
}

void JobArrays::make_room(const Plan& plan, const Job::Pass& work, const Attempt& attempt) {
  streams_ = false;
  if (work.arrays.empty() || !attempt.ok()) return;
  place(work.arrays);
  std::vector<ArrayState*> leaving;
  std::ranges::copy_if(all_, std::back_inserter(leaving), [](const ArrayState* array) {
    return array->held.copies() > 0 && array->wanted.copies() == 0;
  });
  if (leaving.empty()) return;
  job_.copy_to_hosts_in_pass(leaving, plan, work, attempt);
  for (ArrayState* array : leaving) array->free_on_devices();
}

void JobArrays::commit_places(std::span<const ArrayAccess> used) const {
  for (const ArrayAccess& access : used) {
    access.array->held = access.array->wanted;
    access.array->last_pass = job_.pass;
  }
}

}  // namespace TESSERA_NAMESPACE::detail

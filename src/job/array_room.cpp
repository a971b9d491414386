// SPDX-License-Identifier: Apache-2.0
#include "job/array_state.hpp"
#include "job/state.hpp"

#include <algorithm>
#include <limits>

namespace TESSERA_NAMESPACE {
namespace {

using detail::ArrayAccess;
using detail::ArrayState;
using detail::ArrayUse;

/// The largest size of a unit for which each device's memory budget holds its whole tile.
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

// All ranks compute the same from common knowledge: plans, budgets, and the existing arrays.

double Job::State::share_of(ArrayState& array, int copies) const {
  if (copies == 0) return 0;
  if (!array.unit_room)
    array.unit_room =
        unit_room_of(is_outdated(array.plan) ? recut(array.plan, remaining) : array.plan, inventory);
  return copies * static_cast<double>(array.unit_bytes) / *array.unit_room;
}

void Job::State::place_arrays(std::span<const ArrayAccess> used) {
  for (ArrayState* array : arrays) array->wanted = array->held;
  for (const ArrayAccess& access : used) {
    ArrayState::Held& wanted = access.array->wanted;
    wanted.current = wanted.current || access.use != ArrayUse::write;
    wanted.next = wanted.next || access.use != ArrayUse::read;
  }
  double taken = 0;
  double taken_by_others = 0;
  for (ArrayState* array : arrays)
    (is_used(used, array) ? taken : taken_by_others) += share_of(*array, array->wanted.copies());
  streams_arrays = taken > 1;
  if (streams_arrays) {
    for (ArrayState* array : arrays) array->wanted = {};
    return;
  }
  std::vector<ArrayState*> others;
  std::ranges::copy_if(arrays, std::back_inserter(others),
                       [&](const ArrayState* array) { return !is_used(used, array); });
  std::ranges::stable_sort(others, {}, &ArrayState::last_pass);
  for (ArrayState* array : others) {
    if (taken + taken_by_others <= 1) return;
    taken_by_others -= share_of(*array, array->wanted.copies());
    array->wanted = {};
  }
}

void Job::State::make_room(const Plan& plan, const Pass& work, const Attempt& attempt) {
  streams_arrays = false;
  if (work.arrays.empty() || !attempt.ok()) return;
  place_arrays(work.arrays);
  std::vector<ArrayState*> leaving;
  std::ranges::copy_if(arrays, std::back_inserter(leaving), [](const ArrayState* array) {
    return array->held.copies() > 0 && array->wanted.copies() == 0;
  });
  if (leaving.empty()) return;
  bring_home_in_pass(leaving, plan, work, attempt);
  for (ArrayState* array : leaving) array->forget_devices();
}

void Job::State::commit_places(std::span<const ArrayAccess> used) const {
  for (const ArrayAccess& access : used) {
    access.array->held = access.array->wanted;
    access.array->last_pass = pass;
  }
}

}  // namespace TESSERA_NAMESPACE

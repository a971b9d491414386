// SPDX-License-Identifier: Apache-2.0
#include "job/state.hpp"

#include <tessera/error.hpp>

#include <algorithm>
#include <numeric>
#include <set>

namespace TESSERA_NAMESPACE {

void Job::State::refuse_if_gpu_is_required() const {
  const bool required = options.policy == Policy::gpu;
  if (fallback_cause && (required || options.on_device_failure == OnDeviceFailure::error))
    throw Error(ErrorCode::job_fault,
                (required ? "a GPU is required, but " : "a device failed, and on-device-failure is error: ") +
                    tessera::to_string(*fallback_cause));
}

void Job::State::fall_back(const Verdict::Failure& first) {
  fallback_cause = first;
  verdict = no_verdict(tessera::to_string(first));
  device_threads.reset();
  tile_team.reset();
  if (collectives) collectives->close();
  end_turn();
  refuse_if_gpu_is_required();
}

Verdict Job::State::verdict_of_devices(int gpus, int shares, int hosts) const {
  Verdict done;
  done.ran = Verdict::Ran::devices;
  done.devices = gpus;
  done.shares = inventory.is_shared() ? shares : 0;
  done.hosts = hosts;
  done.excluded = excluded;
  done.simulated = std::ranges::any_of(inventory.devices(), &InventoryDevice::simulated);
  return done;
}

Verdict Job::State::verdict_of_tiles(std::span<const PlannedTile> tiles) const {
  const auto computed_by = [&](const PlannedTile& tile) -> const InventoryDevice& {
    return inventory.devices_of(tile.rank)[static_cast<std::size_t>(tile.device)];
  };
  const auto all = static_cast<int>(tiles.size());
  const auto is_of_host = [&](const PlannedTile& tile) { return computed_by(tile).host; };
  const bool with_hosts = pass_threads.host > 0;
  const int hosts = with_hosts ? static_cast<int>(std::ranges::count_if(tiles, is_of_host)) : 0;
  if (!inventory.is_shared()) return verdict_of_devices(all - hosts, 0, hosts);
  std::set<Uuid> gpus;
  for (const PlannedTile& tile : tiles)
    if (!is_of_host(tile)) gpus.insert(computed_by(tile).uuid);
  return verdict_of_devices(static_cast<int>(gpus.size()), all - hosts, hosts);
}

Verdict Job::State::verdict_of_host() const {
  Verdict done;
  if (fallback_cause) {
    done.ran = Verdict::Ran::fallback;
    done.failure = *fallback_cause;
  } else {
    done.absence = absence.empty() ? "the plan assigns all units to hosts" : absence;
  }
  return done;
}

Verdict Job::State::verdict_of_host(const Plan& plan, const Pass& work) const {
  Verdict done = verdict_of_host();
  if (work.host_only && !fallback_cause && absence.empty()) done.absence = "the pass runs only on hosts";
  if (!plan.on_devices() || plan.units() == 0) return done;
  const double all_threads = std::reduce(threads_of_ranks.begin(), threads_of_ranks.end(), 0.0);
  for (int rank = 0; rank < plan.ranks(); ++rank) {
    const double even = threads_of_ranks[static_cast<std::size_t>(rank)] / all_threads;
    if (plan.share_of(rank) / even <= done.imbalance) continue;
    done.imbalance = plan.share_of(rank) / even;
    done.busiest_rank = rank;
  }
  return done;
}

Verdict Job::State::no_verdict(std::string reason) {
  Verdict none;
  none.ran = Verdict::Ran::none;
  none.reason = std::move(reason);
  return none;
}

}  // namespace TESSERA_NAMESPACE

// SPDX-License-Identifier: Apache-2.0
#include "base/seconds_since.hpp"
#include "device/context_access.hpp"
#include "job/state.hpp"
#include "job/tile/checked_call.hpp"
#include "job/tile/host_pass.hpp"
#include "mpi/exception_message.hpp"

#include <tessera/device/trace.hpp>
#include <tessera/error.hpp>

#include <algorithm>

namespace TESSERA_NAMESPACE {
namespace {

void require_fitting_block(const TileCut& cut, std::int64_t block, std::int64_t bytes_per_unit) {
  if (cut.part_units == 0)
    throw Error(ErrorCode::job_fault, "a block of " + std::to_string(block) + " units with " +
                                          std::to_string(bytes_per_unit) +
                                          " bytes per unit exceeds the device memory limit of " +
                                          std::to_string(cut.budget_bytes) + " bytes: use smaller blocks");
}

}  // namespace

void Job::State::compute_on_devices(const Plan& plan, const Pass& work, Attempt& attempt) {
  const auto tiles = plan.tiles_of(comm.rank());
  try {
    std::vector<TileOutcome> ends(
        lanes.size(), {.failure = {}, .fatal = std::make_exception_ptr(Misuse(thread_was_ended))});
    seconds.assign(tiles.size(), 0);
    std::vector<std::optional<SharedTile>> tile_of(pool.size());
    std::vector<int> workers;
    for (const PlannedTile& planned : tiles) {
      auto& tile = tile_of[static_cast<std::size_t>(planned.device)];
      tile.emplace(planned, cut_of(plan, planned, work));
      for (int lane = 0; lane < tile->cut().lanes; ++lane) workers.push_back(worker_of(planned.device, lane));
    }
    const auto compute = [&](int worker) {
      SharedTile& tile = *tile_of[static_cast<std::size_t>(device_of(worker))];
      const auto start = std::chrono::steady_clock::now();
      TileOutcome end = compute_parts(plan, tile, worker, work);
      if (arrays.streams()) detail::JobArrays::free_parts(work, worker);
      if (!end.is_success()) tile.give_up();
      end.seconds = seconds_since(start);
      ends[static_cast<std::size_t>(worker)] = std::move(end);
    };
    device_threads->run(workers, compute, [&] { report_progress(); });
    detail::restore_once_cuda_has_started();
    bool cut_short = false;
    for (std::size_t i = 0; i < tiles.size(); ++i) {
      const int device = tiles[i].device;
      TileOutcome end;
      for (int lane = 0; lane < tile_of[static_cast<std::size_t>(device)]->cut().lanes; ++lane)
        end.add(std::move(ends[static_cast<std::size_t>(worker_of(device, lane))]));
      seconds[i] = end.seconds;
      if (end.fatal) return attempt.fatal(end.fatal);
      if (end.failure) attempt.device_failed(std::move(*end.failure));
      cut_short = cut_short || end.cut_short;
    }
    if (cut_short) attempt.cut_short();
  } catch (...) {  // too few threads or too little memory: no tile has started
    // Only GPUs can be excluded: if this rank has no tile on a GPU, the failure is fatal.
    const auto is_of_gpu = [&](const PlannedTile& tile) { return !known_device(tile.device).host; };
    if (std::ranges::none_of(tiles, is_of_gpu)) return attempt.fatal(std::current_exception());
    Verdict::Failure failure;  // without a UUID, because the failure is of the rank, not of a device
    failure.stage = "bind";
    failure.reason = reason_of(std::current_exception());
    attempt.device_failed(std::move(failure));
  }
}

DeviceContext& Job::State::bind_device(int worker) {
  const int device = device_of(worker);
  faults.throw_if_hit(fault::Stage::bind, device, pass);
  DeviceContext& context = context_of_claimed(pool, device);
  bool& is_near = lanes[static_cast<std::size_t>(worker)].thread_is_near;
  if (!is_near) bind_this_thread_near(context.info());
  is_near = true;
  context.bind();
  return context;
}

TileCut Job::State::cut_of(const Plan& plan, const PlannedTile& planned, const Pass& work) const {
  const InventoryDevice& known = known_device(planned.device);
  if (known.host) return {planned.units.size(), 1, known.memory_budget_bytes};
  TileCut cut = cut_of_tile(planned.units.size(), plan.block(), arrays.bytes_per_unit(work),
                            known.memory_budget_bytes, lanes_of(work));
  // The host computes the tiles of simulated devices, slowly: with smaller parts the pass can stop in time.
  if (known.simulated && options.stop != nullptr)
    cut.part_units = std::min(cut.part_units, stoppable_step(planned.units.size(), plan.block(), 1));
  return cut;
}

TileOutcome Job::State::compute_parts(const Plan& plan, SharedTile& shared, int worker, const Pass& work) {
  const PlannedTile& planned = shared.planned();
  const int device = planned.device;
  const InventoryDevice& known = known_device(device);
  const TraceRange range("tile", device);
  Verdict::Failure failure;
  failure.device = device;
  failure.stage = "bind";
  try {
    failure.uuid = tessera::to_string(known.uuid);
    DeviceContext& context = bind_device(worker);

    failure.stage = "allocate";
    faults.throw_if_hit(fault::Stage::allocate, device, pass);
    require_fitting_block(shared.cut(), plan.block(), arrays.bytes_per_unit(work));
    BufferPool& pooled = buffers.pool_at(pool_index_of_claimed(pool, device));
    DeviceLane& own = lanes[static_cast<std::size_t>(worker)];
    if (!arrays.streams()) arrays.allocate_and_load(work, planned.units, worker, context, failure.stage);

    if (known.host) return {.failure = {}, .cut_short = !compute_host_tile(plan, planned.units, work)};
    while (const auto part = shared.take_part()) {
      if (options.stop != nullptr && options.stop->requested()) return {.failure = {}, .cut_short = true};
      if (arrays.streams()) arrays.allocate_and_load(work, *part, worker, context, failure.stage);
      failure.stage = "tile";
      Tile tile = own.make_tile(*part, planned.units, device, context, pooled, shared.cut().budget_bytes,
                                options.stop);
      switch (compute_part(tile, context, work)) {
        case PartOutcome::done: break;
        case PartOutcome::stopped: return {.failure = {}, .cut_short = true};
        case PartOutcome::failed: failure.reason = tile.reason(); return {.failure = std::move(failure)};
      }
      if (!arrays.streams()) continue;
      failure.stage = "copy";
      arrays.store(work, *part, worker, context);
    }
    return {};
  } catch (...) {
    const std::exception_ptr thrown = std::current_exception();
    if (!thrown) throw;
    if (known.host || is_misuse(thrown)) return {.failure = {}, .fatal = thrown};
    failure.reason = reason_of(thrown);
    return {.failure = std::move(failure)};
  }
}

bool Job::State::compute_host_tile(const Plan& plan, Range units, const Pass& work) {
  if (arrays.streams()) detail::JobArrays::start_next_on_host(work, units);
  return compute_on_host(
      units, plan.block(), *tile_team,
      [&](const HostTile& part) {
        work.on_host(pass_threads.on_host(part.thread, lanes_of(work), part.range));
      },
      options.stop);
}

/// Calls the application's function for a part of a tile. The work that the function has submitted is
/// complete when the call returns or throws.
Job::State::PartOutcome Job::State::compute_part(Tile& tile, const DeviceContext& context,
                                                 const Pass& work) const {
  const int device = tile.device_index();
  try {
    checked_call([&] {
      if (context.info().simulated)
        work.on_host(pass_threads.on_simulated(device, tile.lane(), lanes_of(work), tile.range()));
      else
        work.on_device(tile);
    });
    faults.throw_if_hit(fault::Stage::throwing, device, pass);
    faults.throw_if_hit(fault::Stage::lost, device, pass);
  } catch (...) {
    drain(context, tile.stream());
    // There is no current exception during thread cancellation.
    if (tile.told_to_stop() && std::current_exception()) return PartOutcome::stopped;
    throw;
  }
  if (tile.told_to_stop()) {
    drain(context, tile.stream());
    return PartOutcome::stopped;
  }
  if (faults.hit(fault::Stage::failing, device, pass)) tile.fail("fault point \"fail\"");
  if (tile.failed()) {
    drain(context, tile.stream());
    return PartOutcome::failed;
  }
  detail::ContextAccess::synchronize(context, tile.stream());
  return PartOutcome::done;
}

}  // namespace TESSERA_NAMESPACE

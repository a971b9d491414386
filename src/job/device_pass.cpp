// SPDX-License-Identifier: Apache-2.0
#include "device/context_access.hpp"
#include "job/host_pass.hpp"
#include "job/state.hpp"
#include "mpi/reason.hpp"

#include <tessera/device/trace.hpp>
#include <tessera/error.hpp>

#include <algorithm>

namespace tessera::inline TESSERA_ABI {
namespace {

/// The number of units per call of the device function: whole blocks within the memory budget.
std::int64_t units_within_budget(const PlannedTile& tile, std::int64_t block, std::int64_t bytes_per_unit,
                                 std::int64_t budget_bytes) {
  if (bytes_per_unit == 0) return tile.units.size();
  const std::int64_t fitting = budget_bytes / bytes_per_unit;
  if (fitting >= tile.units.size()) return tile.units.size();
  if (fitting < block)
    throw Error(ErrorCode::job_fault, "a block of " + std::to_string(block) + " units at " +
                                          std::to_string(bytes_per_unit) +
                                          " bytes does not fit the budget of " +
                                          std::to_string(budget_bytes) + " bytes: use smaller blocks");
  return fitting - fitting % block;
}

}  // namespace

Tile DrivenDevice::make_tile(Range part, Range whole, int index, const DeviceContext& context,
                             BufferPool& buffers, std::int64_t budget_bytes, const StopRequest* stop) {
  if (!arena) {
    workspaces.emplace(make_upstream(context));
    arena.emplace(buffers, context.stream());
    detail::ContextAccess::set_arena(context, &*arena);
  }
  arena->reset();
  return {
      part, whole, index, context.info(), context.stream(), {&buffers, &*workspaces, &*arena, budget_bytes},
      stop};
}

void Job::State::compute_on_devices(const Plan& plan, const Pass& work, Attempt& attempt) {
  const auto tiles = plan.tiles_of(comm.rank());
  try {
    std::vector<TileOutcome> ends(
        tiles.size(), {.failure = {}, .fatal = std::make_exception_ptr(Misuse(thread_was_ended))});
    seconds.assign(tiles.size(), 0);
    std::vector<int> devices(tiles.size());
    std::vector<std::size_t> tile_of(pool.size());
    for (std::size_t i = 0; i < tiles.size(); ++i) {
      devices[i] = tiles[i].device;
      tile_of[static_cast<std::size_t>(devices[i])] = i;
    }
    const auto compute = [&](int device) {
      const std::size_t i = tile_of[static_cast<std::size_t>(device)];
      const auto start = std::chrono::steady_clock::now();
      ends[i] = compute_tile(plan, tiles[i], work);
      seconds[i] = seconds_since(start);
    };
    device_threads->run(devices, compute, [&] { report_progress(); });
    detail::restore_once_cuda_has_started();
    for (TileOutcome& end : ends) {
      if (end.fatal) return attempt.fatal(end.fatal);
      if (end.failure) attempt.device_failed(std::move(*end.failure));
    }
    if (std::ranges::any_of(ends, &TileOutcome::cut_short)) attempt.cut_short();
  } catch (...) {  // no more threads or memory: no tile was started
    // As on the CPU, where the rank has nothing that could be left out.
    const auto is_of_gpu = [&](const PlannedTile& tile) { return !known_device(tile.device).host; };
    if (std::ranges::none_of(tiles, is_of_gpu)) return attempt.fatal(std::current_exception());
    Verdict::Failure failure;  // without a UUID: of the rank
    failure.stage = "bind";
    failure.reason = reason_of(std::current_exception());
    attempt.device_failed(std::move(failure));
  }
}

/// Makes the context of a device current on this thread, and binds the thread near the device.
DeviceContext& Job::State::bind_device(int device) {
  faults.throw_if_hit(fault::Stage::bind, device, pass);
  DeviceContext& context = context_of_claimed(pool, device);
  bool& is_near = driven[static_cast<std::size_t>(device)].thread_is_near;
  if (!is_near) bind_this_thread_near(context.info());
  is_near = true;
  context.bind();
  return context;
}

/// The number of units per call of the function.
std::int64_t Job::State::units_per_call(const Plan& plan, const PlannedTile& planned,
                                        const Pass& work) const {
  const InventoryDevice& known = known_device(planned.device);
  if (known.host) return planned.units.size();
  const std::int64_t units =
      units_within_budget(planned, plan.block(), work.device_bytes_per_unit, known.memory_budget_bytes);
  // The host computes the tile of a simulated device, at the speed of a host.
  if (!known.simulated || options.stop == nullptr) return units;
  return std::min(units, stoppable_step(planned.units.size(), plan.block(), 1));
}

TileOutcome Job::State::compute_tile(const Plan& plan, const PlannedTile& planned, const Pass& work) {
  const int device = planned.device;
  const TraceRange range("tile", device);
  const InventoryDevice& known = known_device(device);
  Verdict::Failure failure;
  failure.device = device;
  failure.stage = "bind";
  try {
    failure.uuid = tessera::to_string(known.uuid);
    DeviceContext& context = bind_device(device);

    failure.stage = "allocate";
    faults.throw_if_hit(fault::Stage::allocate, device, pass);
    const std::int64_t step = units_per_call(plan, planned, work);
    allocate_arrays(work, planned, context);
    BufferPool& pooled = buffers.pool_at(pool_index_of_claimed(pool, device));
    DrivenDevice& own = driven[static_cast<std::size_t>(device)];

    failure.stage = "copy";
    load_arrays(work, planned, context);

    failure.stage = "tile";
    if (known.host) return {.failure = {}, .cut_short = !compute_host_tile(plan, planned.units, work)};
    for (Range part{planned.units.begin, planned.units.begin}; part.end < planned.units.end;) {
      if (options.stop != nullptr && options.stop->requested()) return {.failure = {}, .cut_short = true};
      part.begin = part.end;
      part.end = planned.units.end - part.begin > step ? part.begin + step : planned.units.end;
      Tile tile = own.make_tile(part, planned.units, device, context, pooled, known.memory_budget_bytes,
                                options.stop);
      switch (compute_part(tile, context, work)) {
        case PartOutcome::done: break;
        case PartOutcome::stopped: return {.failure = {}, .cut_short = true};
        case PartOutcome::failed: failure.reason = tile.reason(); return {.failure = std::move(failure)};
      }
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
  return compute_on_host(
      units, plan.block(), *tile_team,
      [&](const HostTile& part) { work.on_host(pass_threads.on_host(part.thread, part.range)); },
      options.stop);
}

/// Calls the application's function for a part of a tile. On return, and after an exception, the device has
/// finished the work that the function submitted.
Job::State::PartOutcome Job::State::compute_part(Tile& tile, DeviceContext& context, const Pass& work) const {
  const int device = tile.device_index();
  try {
    if (context.info().simulated)
      work.on_host(pass_threads.on_simulated(device, tile.range()));
    else
      work.on_device(tile);
    faults.throw_if_hit(fault::Stage::throwing, device, pass);
    faults.throw_if_hit(fault::Stage::lost, device, pass);
  } catch (...) {
    drain(context);
    // There is no current exception if the thread is being cancelled.
    if (tile.told_to_stop() && std::current_exception()) return PartOutcome::stopped;
    throw;
  }
  if (tile.told_to_stop()) {
    drain(context);
    return PartOutcome::stopped;
  }
  if (faults.hit(fault::Stage::failing, device, pass)) tile.fail("fault point \"fail\"");
  if (tile.failed()) {
    drain(context);
    return PartOutcome::failed;
  }
  context.synchronize();
  return PartOutcome::done;
}

}  // namespace tessera::inline TESSERA_ABI

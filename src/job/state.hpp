// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "job/collectives/device_collectives_state.hpp"
#include "job/consensus/attempt.hpp"
#include "job/consensus/vote.hpp"
#include "job/fault/fault.hpp"
#include "job/job_arrays.hpp"
#include "job/pass_timers.hpp"
#include "job/threads/device_threads.hpp"
#include "job/threads/worker_threads.hpp"
#include "job/tile/device_lane.hpp"
#include "job/tile/pass_threads.hpp"
#include "job/tile/shared_tile.hpp"
#include "mpi/communicator_access.hpp"
#include "mpi/fork.hpp"
#include "partition/replan.hpp"
#include "topology/driver/cuda_visibility.hpp"

#include <tessera/job/job.hpp>
#include <tessera/job/stop_request.hpp>
#include <tessera/memory/device_buffer_pools.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace TESSERA_NAMESPACE {

/// For each rank, the number of units that rank `of` sends to it when data moves from plan `from` to `to`.
[[nodiscard]] std::vector<std::size_t> counts_between(const Plan& from, const Plan& to, int of);

struct Job::State {
  State(const mpi::Communicator& from, JobOptions chosen)
      : comm(from.duplicate(chosen.collective_timeout)),
        options(std::move(chosen)),
        ballots(comm, options.stop),
        modules(std::make_shared<ModuleCache>(options.modules)) {
    if (options.stop != nullptr)
      mpi::detail::CommunicatorAccess::set_progress_callback(comm, [stop = options.stop] { stop->poll(); });
  }

  mpi::Communicator comm;
  JobOptions options;
  BallotBox ballots;
  std::shared_ptr<ModuleCache> modules;  ///< shared with the devices of the pool
  fault::Faults faults;
  Inventory inventory;
  std::optional<Inventory> planned_for;  ///< for plans after the last device failed: the inventory before
  std::optional<detail::CudaVisibility> visibility;
  // Declared before `pool`, so that the contexts are closed before the claim is released.
  std::shared_ptr<const void> device_locks;     ///< `Claim::locks`
  std::shared_ptr<detail::ProcessClaim> claim;  ///< `Claim::turns`
  int turns_kept = 0;                           ///< number of `DeviceTurn` objects
  DevicePool pool;
  DevicePool no_devices;  ///< empty; result of `Job::devices` after a fallback
  DeviceBufferPools buffers{pool};
  std::vector<DeviceLane> lanes;
  std::optional<WorkerThreads> device_threads;  ///< one per lane
  HostThreads threads;
  std::optional<HostTeam> host_team;  ///< for passes on the host; created on first use
  PassThreads pass_threads;           ///< for host functions in passes on devices
  std::optional<HostTeam> tile_team;  ///< for the host's tile in passes on devices (`JobOptions::hosts`)
  std::vector<int> threads_of_ranks;
  /// Whether `Job::plan` is over hosts, because set-up found no device or failed.
  bool plans_for_hosts = false;
  int forks = mpi::detail::forks();                ///< fork count at construction, to detect a forked child
  int number = 1;                                  ///< number of the job in messages
  int pass = 0;                                    ///< number of the current or last pass, from 1
  std::string absence;                             ///< why the job has no device; empty if it has one
  std::vector<std::string> broken;                 ///< `Probe::broken`
  std::optional<Verdict::Failure> fallback_cause;  ///< cause of the fallback to the CPU
  std::vector<Verdict::Failure> excluded;          ///< failures of the excluded devices
  detail::RemainingDevices remaining;              ///< set after an exclusion
  Verdict verdict;
  std::vector<double> seconds;  ///< times of this rank's tiles, or of its host, in the pass
  PassTimers timers;
  detail::JobArrays arrays{*this};
  std::optional<DeviceCollectives::State> collectives;

  /// *Collective.* Probes the hardware, claims devices, exchanges the inventory, and votes.
  void set_up();

  /// Throws `Error(usage)` if this thread must not make collective calls, for example in a function of a
  /// pass.
  void require_thread() const;
  [[nodiscard]] HostTeam& team();
  /// Progress callback of the MPI thread while other threads compute: replies to watchdogs, and polls for a
  /// stop request.
  void report_progress() const;

  /// Waits for the job's turn on its devices unless the job has it. The last `DeviceTurn` object ends the
  /// turn. Throws `Error(interrupted)` on a stop request.
  void begin_turn();
  void end_turn() noexcept;
  /// Begins a turn that ends when the last copy of the returned pointer is destroyed.
  [[nodiscard]] std::shared_ptr<const void> turn_of_call();
  /// Copies arrays to the host and frees device memory for other jobs. False if a device fails.
  [[nodiscard]] bool evict_arrays() noexcept;

  /// Throws `Error(usage)` unless `plan` is valid for this job and `work` for this rank's units.
  void check_call(const Plan& plan, const Pass& work, bool on_devices) const;

  /// *Collective.* Computes a pass on devices, and repeats it without failed devices if the options allow it.
  /// False after a fallback to the CPU; the input is then restored, and `attempt` reset.
  [[nodiscard]] bool run_on_devices(const Plan& plan, const Pass& work, Attempt& attempt);
  void compute_on_devices(const Plan& plan, const Pass& work, Attempt& attempt);
  /// Maximum number of lanes per tile in the pass.
  [[nodiscard]] int most_lanes(std::int64_t device_bytes_per_unit,
                               std::span<const detail::ArrayAccess> used) const {
    return device_bytes_per_unit > 0 || !used.empty() ? options.parts_in_flight : 1;
  }
  [[nodiscard]] int lanes_of(const Pass& work) const {
    return most_lanes(work.device_bytes_per_unit, work.arrays);
  }
  /// Whether the pass streams arrays and `device` is the host, whose functions then use `ArrayState::host`.
  [[nodiscard]] bool streams_on_host(int device) const {
    return arrays.streams() && device == pass_threads.gpus;
  }
  /// Index of a lane's thread in `device_threads`; the first lane of a device has the device's index.
  [[nodiscard]] int worker_of(int device, int lane) const {
    return lane * static_cast<int>(pool.size()) + device;
  }
  [[nodiscard]] int device_of(int worker) const { return worker % static_cast<int>(pool.size()); }
  [[nodiscard]] const InventoryDevice& known_device(int device) const {
    return inventory.devices_of(comm.rank())[static_cast<std::size_t>(device)];
  }
  /// On the worker's thread: makes the device's context current, and binds the thread to CPUs near the
  /// device.
  [[nodiscard]] DeviceContext& bind_device(int worker);

  /// *Collective.* `JobArrays::copy_to_hosts`. If a device fails, the job excludes it or falls back, and the
  /// call throws `Error(rolled_back)`.
  void copy_to_hosts_or_throw(std::span<detail::ArrayState* const> wanted);
  /// *Collective.* `copy_to_hosts_or_throw` during a pass, after a vote that ends the pass if a rank failed.
  void copy_to_hosts_in_pass(std::span<detail::ArrayState* const> wanted, const Plan& plan, const Pass& work,
                             const Attempt& attempt);
  /// *Collective.* Call before a host-only pass: copies the arrays of the pass to the hosts.
  void copy_to_hosts(const Plan& plan, const Pass& work, const Attempt& attempt);
  [[noreturn]] void throw_rolled_back(const Verdict::Failure& lost);
  /// *Collective.* `counts_between` for this rank. Throws `Error(usage)` unless plans and unit size are equal
  /// on all ranks, and `units` is the number of units of each rank under `from`.
  [[nodiscard]] std::vector<std::size_t> agreed_counts(std::int64_t units, std::size_t unit_bytes,
                                                       const Plan& from, const Plan& to) const;
  /// *Collective.* Takes this rank's `count` units under plan `from`; returns its units under plan `to`.
  /// Throws like `agreed_counts`.
  [[nodiscard]] std::vector<std::byte> moved_units(const std::byte* units, std::int64_t count,
                                                   std::size_t unit_bytes, const Plan& from,
                                                   const Plan& to) const;
  /// *Collective.* The vote on the running pass.
  [[nodiscard]] Ballot vote(const Attempt& attempt, const Plan& plan, const Pass& work);

  /// Throws `Error(interrupted)` if the ranks have agreed to stop.
  void stop_if_agreed() const;
  [[noreturn]] void throw_stopped() const;

  /// *Collective.* Throws `Error(interrupted)` after a stop request.
  [[noreturn]] void stop_pass();
  /// *Collective.* Throws what the vote decided.
  [[noreturn]] void end_pass(const Attempt& attempt, const Ballot& decided);

  /// Moves the job to the CPU permanently. Throws `Error(job_fault)` under `Policy::gpu`.
  void fall_back(const Verdict::Failure& first);
  void refuse_if_gpu_is_required() const;
  [[nodiscard]] bool on_host() const { return fallback_cause || inventory.devices().empty(); }
  /// Whether a pass over `plan` starts on devices, unless the pass is host-only.
  [[nodiscard]] bool runs_on_devices(const Plan& plan) const { return plan.on_devices() && !on_host(); }
  /// *Collective.* Excludes the devices that failed on any rank. False if no device remains, or if the
  /// options do not allow it.
  [[nodiscard]] bool exclude(const Attempt& attempt);
  void exclude_from_pool() noexcept;
  /// Whether `plan` has a tile on an excluded device.
  [[nodiscard]] bool is_outdated(const Plan& plan) const;

  /// `shares`: number of (rank, GPU) pairs.
  [[nodiscard]] Verdict verdict_of_devices(int gpus, int shares, int hosts) const;
  [[nodiscard]] Verdict verdict_of_tiles(std::span<const PlannedTile> tiles) const;
  [[nodiscard]] Verdict verdict_of_host() const;
  /// The same, with the imbalance of `plan`.
  [[nodiscard]] Verdict verdict_of_host(const Plan& plan, const Pass& work) const;
  [[nodiscard]] static Verdict no_verdict(std::string reason);

  /// "pass 3", or "pass 3 of job 2" for a further job of the program.
  [[nodiscard]] std::string pass_name() const {
    return "pass " + std::to_string(pass) + (number > 1 ? " of job " + std::to_string(number) : "");
  }

 private:
  /// A replacement of `plan` without excluded devices; empty if `plan` uses none. Throws
  /// `Error(outdated_plan)` if units would have to change ranks but the pass cannot move them.
  [[nodiscard]] std::optional<Plan> substitute_for(const Plan& plan, const Pass& work) const;

  /// Outcome of a part whose function did not throw.
  enum class PartOutcome { done, stopped, failed };

  [[nodiscard]] TileCut cut_of(const Plan& plan, const PlannedTile& planned, const Pass& work) const;
  /// On the worker's thread: takes and computes parts until none is left.
  [[nodiscard]] TileOutcome compute_parts(const Plan& plan, SharedTile& shared, int worker, const Pass& work);
  [[nodiscard]] PartOutcome compute_part(Tile& tile, const DeviceContext& context, const Pass& work) const;
  /// Computes the host's tile on all threads of `tile_team`. False if a stop request interrupted it.
  [[nodiscard]] bool compute_host_tile(const Plan& plan, Range units, const Pass& work);
};

}  // namespace TESSERA_NAMESPACE

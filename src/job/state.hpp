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

/// The number of units that rank `of` sends to each rank when data move from plan `from` to plan `to`.
[[nodiscard]] std::vector<std::size_t> counts_between(const Plan& from, const Plan& to, int of);

/// The state of a job, and the steps of its passes.
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
  std::optional<Inventory> planned_for;  ///< set once all devices are lost: the inventory before that
  std::optional<detail::CudaVisibility> visibility;
  // Declared before `pool`: the claim on the devices is released only after their contexts are closed.
  std::shared_ptr<const void> device_locks;     ///< `Claim::locks`
  std::shared_ptr<detail::ProcessClaim> claim;  ///< `Claim::turns`
  int turns_kept = 0;                           ///< number of existing `DeviceTurn` objects
  DevicePool pool;
  DevicePool no_devices;  ///< always empty: `Job::devices` returns it after a fallback
  DeviceBufferPools buffers{pool};
  std::vector<DeviceLane> lanes;                ///< lanes of all claimed devices; see `worker_of`
  std::optional<WorkerThreads> device_threads;  ///< a thread for each lane
  HostThreads threads;
  std::optional<HostTeam> host_team;  ///< computes passes on the host; created at first use
  PassThreads pass_threads;           ///< threads that call host functions in passes on devices
  std::optional<HostTeam> tile_team;  ///< computes the host's tile in passes on devices (`JobOptions::hosts`)
  std::vector<int> threads_of_ranks;
  /// Whether `Job::plan` distributes over hosts, for lack of devices or after a failed set-up.
  bool plans_for_hosts = false;
  int forks = mpi::detail::forks();                ///< fork count of the process with the job's threads
  int number = 1;                                  ///< distinguishes jobs of one program in messages
  int pass = 0;                                    ///< number of the last pass, from 1; 0 during the set-up
  std::string absence;                             ///< why the job uses no device; empty if it uses one
  std::vector<std::string> broken;                 ///< `Probe::broken`
  std::optional<Verdict::Failure> fallback_cause;  ///< the failure that moved the job to the CPU
  std::vector<Verdict::Failure> excluded;          ///< failures of the devices that were left out
  detail::RemainingDevices remaining;              ///< set once devices were left out
  Verdict verdict;
  std::vector<double> seconds;  ///< computing times of this rank's tiles, or of its host, in the pass
  PassTimers timers;
  detail::JobArrays arrays{*this};
  std::optional<DeviceCollectives::State> collectives;  ///< created at first use

  /// *Collective.* Probes the hardware, claims devices, exchanges the inventory, and votes.
  void set_up();

  /// Throws `Error(usage)` on a thread that must not make collective calls, as inside a function of a pass.
  void require_thread() const;
  [[nodiscard]] HostTeam& team();
  /// Progress callback of the thread that calls MPI, while other threads compute: replies to watchdogs, and
  /// polls for a stop request.
  void report_progress() const;

  /// Waits for the job's turn on its devices, unless the job has it. The turn ends with the last `DeviceTurn`
  /// object. Throws `Error(interrupted)` if a stop is requested meanwhile.
  void begin_turn();
  void end_turn() noexcept;
  /// Begins the job's turn on its devices, which ends when the last copy of the result is destroyed.
  [[nodiscard]] std::shared_ptr<const void> turn_of_call();
  /// Copies arrays to the host and frees all device memory, for another job. False if a device fails.
  [[nodiscard]] bool evict_arrays() noexcept;

  /// Throws `Error(usage)` unless `plan` fits this job and `work` fits this rank's part of the plan.
  void check_call(const Plan& plan, const Pass& work, bool on_devices) const;

  /// *Collective.* Computes a pass on devices; repeats it without devices that fail, if the options allow it.
  /// False if the job has fallen back to the CPU: the input is then restored, and `attempt` reset.
  [[nodiscard]] bool run_on_devices(const Plan& plan, const Pass& work, Attempt& attempt);
  /// Computes this rank's tiles, each on its device, by the threads of the device's lanes.
  void compute_on_devices(const Plan& plan, const Pass& work, Attempt& attempt);
  /// Upper limit of the number of lanes that compute a tile of the pass.
  [[nodiscard]] int most_lanes(std::int64_t device_bytes_per_unit,
                               std::span<const detail::ArrayAccess> used) const {
    return device_bytes_per_unit > 0 || !used.empty() ? options.parts_in_flight : 1;
  }
  [[nodiscard]] int lanes_of(const Pass& work) const {
    return most_lanes(work.device_bytes_per_unit, work.arrays);
  }
  /// Whether the pass streams its arrays and `device` is the host: host functions then use the host's memory
  /// of the arrays.
  [[nodiscard]] bool streams_on_host(int device) const {
    return arrays.streams() && device == pass_threads.gpus;
  }
  /// The index of a lane's thread among `device_threads`; the first lane of a device has the device's index.
  [[nodiscard]] int worker_of(int device, int lane) const {
    return lane * static_cast<int>(pool.size()) + device;
  }
  [[nodiscard]] int device_of(int worker) const { return worker % static_cast<int>(pool.size()); }
  [[nodiscard]] const InventoryDevice& known_device(int device) const {
    return inventory.devices_of(comm.rank())[static_cast<std::size_t>(device)];
  }
  /// Makes the context of the worker's device current on its thread, and binds the thread near the device.
  [[nodiscard]] DeviceContext& bind_device(int worker);

  /// *Collective.* `JobArrays::copy_to_hosts`. If a device fails, the job falls back or leaves the device
  /// out, and the call throws `Error(rolled_back)`.
  void copy_to_hosts_or_throw(std::span<detail::ArrayState* const> wanted);
  /// *Collective.* The same during a pass: ends the pass first if a rank has failed already.
  void copy_to_hosts_in_pass(std::span<detail::ArrayState* const> wanted, const Plan& plan, const Pass& work,
                             const Attempt& attempt);
  /// *Collective.* Call before a pass on hosts only: copies the arrays of the pass to the hosts.
  void copy_to_hosts(const Plan& plan, const Pass& work, const Attempt& attempt);
  [[noreturn]] void throw_rolled_back(const Verdict::Failure& lost);
  /// *Collective.* `counts_between` for this rank. Throws `Error(usage)` unless all ranks give the same plans
  /// and unit size, and each rank has as many `units` as `from` gives it.
  [[nodiscard]] std::vector<std::size_t> agreed_counts(std::int64_t units, std::size_t unit_bytes,
                                                       const Plan& from, const Plan& to) const;
  /// *Collective.* This rank's units under plan `to`, given its `count` units under plan `from`. Throws like
  /// `agreed_counts`.
  [[nodiscard]] std::vector<std::byte> moved_units(const std::byte* units, std::int64_t count,
                                                   std::size_t unit_bytes, const Plan& from,
                                                   const Plan& to) const;
  /// *Collective.* The vote on the running pass.
  [[nodiscard]] Ballot vote(const Attempt& attempt, const Plan& plan, const Pass& work);

  /// Throws `Error(interrupted)` if all ranks have agreed to stop.
  void stop_if_agreed() const;
  [[noreturn]] void throw_stopped() const;

  /// *Collective.* Ends the pass with `Error(interrupted)` after a stop request.
  [[noreturn]] void stop_pass();
  /// *Collective.* Ends the pass with the exception that the vote decided on.
  [[noreturn]] void end_pass(const Attempt& attempt, const Ballot& decided);

  /// Moves the job to the CPU permanently. Throws `Error(job_fault)` under `Policy::gpu`.
  void fall_back(const Verdict::Failure& first);
  void refuse_if_gpu_is_required() const;
  [[nodiscard]] bool on_host() const { return fallback_cause || inventory.devices().empty(); }
  /// Whether a pass over `plan` begins on devices. Host-only passes do not ask.
  [[nodiscard]] bool runs_on_devices(const Plan& plan) const { return plan.on_devices() && !on_host(); }
  /// *Collective.* Leaves out the devices that failed on any rank. False if no device would remain, or if the
  /// options forbid that.
  [[nodiscard]] bool exclude(const Attempt& attempt);
  /// Tells the pool which devices were left out.
  void leave_out_of_pool() noexcept;
  /// True if `plan` has a tile on a device that was left out.
  [[nodiscard]] bool is_outdated(const Plan& plan) const;

  /// The verdict of a pass computed by this many GPUs, shares of GPUs, and hosts.
  [[nodiscard]] Verdict verdict_of_devices(int gpus, int shares, int hosts) const;
  [[nodiscard]] Verdict verdict_of_tiles(std::span<const PlannedTile> tiles) const;
  [[nodiscard]] Verdict verdict_of_host() const;
  /// The verdict of a pass over `plan`, with its imbalance.
  [[nodiscard]] Verdict verdict_of_host(const Plan& plan, const Pass& work) const;
  [[nodiscard]] static Verdict no_verdict(std::string reason);

  /// "pass 3", or "pass 3 of job 2" if the program has constructed several jobs.
  [[nodiscard]] std::string pass_name() const {
    return "pass " + std::to_string(pass) + (number > 1 ? " of job " + std::to_string(number) : "");
  }

 private:
  /// A plan without the devices that were left out, in place of `plan`; none if `plan` uses none of them.
  /// Throws `Error(outdated_plan)` if units would have to change ranks in a pass that cannot move them.
  [[nodiscard]] std::optional<Plan> substitute_for(const Plan& plan, const Pass& work) const;

  /// The outcome of one part of a tile whose function did not throw.
  enum class PartOutcome { done, stopped, failed };

  [[nodiscard]] TileCut cut_of(const Plan& plan, const PlannedTile& planned, const Pass& work) const;
  /// On the worker's thread: computes parts of a tile until all are taken.
  [[nodiscard]] TileOutcome compute_parts(const Plan& plan, SharedTile& shared, int worker, const Pass& work);
  [[nodiscard]] PartOutcome compute_part(Tile& tile, const DeviceContext& context, const Pass& work) const;
  /// Computes the host's tile on all of its threads. False if a stop request cut it short.
  [[nodiscard]] bool compute_host_tile(const Plan& plan, Range units, const Pass& work);
};

}  // namespace TESSERA_NAMESPACE

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "job/collectives/device_collectives_state.hpp"
#include "job/consensus/attempt.hpp"
#include "job/consensus/vote.hpp"
#include "job/fault/fault.hpp"
#include "job/threads/device_threads.hpp"
#include "job/threads/worker_threads.hpp"
#include "mpi/communicator_access.hpp"
#include "topology/driver/cuda_visibility.hpp"

#include <tessera/job/job.hpp>
#include <tessera/job/stop_request.hpp>
#include <tessera/memory/arena.hpp>
#include <tessera/memory/device_buffer_pools.hpp>
#include <tessera/memory/workspace_pool.hpp>

#include <memory>
#include <optional>
#include <string>

namespace tessera::inline TESSERA_ABI {

/// What a job keeps of a device that it drives from pass to pass. Only the device's thread touches it.
struct DrivenDevice {
  bool thread_is_near = false;  ///< the thread is bound near the device
  std::optional<WorkspacePool> workspaces;
  std::optional<Arena> arena;

  /// What the function of a tile is given for its next call, with memory that is made at the first one. The
  /// device is current.
  [[nodiscard]] Tile next_call(Range part, Range whole, int index, const DeviceContext& context,
                               BufferPool& buffers, std::int64_t budget_bytes, const StopRequest* stop);
};

/// The outcome of a tile's work. Success: no failure, not cut short, no misuse.
struct TileEnd {
  std::optional<Verdict::Failure> failure;
  bool cut_short = false;       ///< the job is to stop
  std::exception_ptr misuse{};  ///< an error of the program, after which the CPU is not tried
};

/// What a job knows, and the steps that its passes are made of.
struct Job::State {
  State(const mpi::Communicator& from, JobOptions chosen)
      : comm(from.duplicate(chosen.collective_timeout)),
        options(std::move(chosen)),
        ballots(comm, options.stop),
        modules(std::make_shared<ModuleCache>(options.modules)) {
    if (options.stop != nullptr)
      mpi::detail::CommunicatorAccess::set_progress_callback(comm, [stop = options.stop] { stop->look(); });
  }

  mpi::Communicator comm;
  JobOptions options;
  BallotBox ballots;
  std::shared_ptr<ModuleCache> modules;  ///< shared with the devices of the pool
  fault::Faults faults;
  Inventory inventory;
  std::optional<detail::CudaVisibility> visibility;
  std::shared_ptr<const void> driving;  ///< tells other jobs of this rank's devices; outlives their contexts
  DevicePool pool;
  DevicePool no_devices;  ///< what `Job::devices` returns after a fallback
  DeviceBufferPools buffers{pool};
  std::vector<DrivenDevice> driven;             ///< by index among the claimed devices
  std::optional<WorkerThreads> device_threads;  ///< one for each of them
  HostThreads threads;
  std::optional<HostTeam> host_team;  ///< as many; from their first work on
  std::vector<int> threads_of_ranks;
  bool plans_for_hosts = false;          ///< the job never had a device
  int number = 1;                        ///< tells jobs of one program apart, in messages
  int pass = 0;                          ///< counts from 1; 0 while the job is set up
  std::string absence;                   ///< why no device of the job is used; empty if one is
  std::optional<Verdict::Failure> lost;  ///< the failure after which the job stays on the CPU
  Verdict verdict;
  std::optional<DeviceCollectives::State> collectives;  ///< once asked for; goes before `pool`

  /// Probe, claim, inventory, and a first vote. *Collective.*
  void set_up();

  /// Throws `Error(usage)` on a thread that may not make collective calls, such as inside a function of a
  /// pass.
  void require_thread() const;
  /// The threads of the host's work.
  [[nodiscard]] HostTeam& team();
  /// Progress callback of the thread that calls MPI while others compute: replies to watchdogs, polls for a
  /// stop.
  void report_progress() const;

  /// Throws `Error(usage)` if `plan` is not this job's, or `work` not this rank's part of it.
  void check_call(const Plan& plan, const Pass& work, bool on_devices) const;

  /// Computes this rank's tiles, each on its device and a thread of its own.
  void compute_on_devices(const Plan& plan, const Pass& work, Attempt& attempt);

  /// The vote of this pass. *Collective.*
  [[nodiscard]] Ballot vote(const Attempt& attempt, const Plan& plan, const Pass& work);

  /// Throws `Error(interrupted)` if all ranks have agreed to stop.
  void stop_if_agreed() const;

  /// Ends the pass with an exception, as the vote decided. *Collective.*
  [[noreturn]] void end_pass(const Attempt& attempt, const Ballot& decided);

  /// From here on the job is on the CPU. Throws `Error(job_fault)` under `Policy::gpu`.
  void fall_back(const Verdict::Failure& first);
  void refuse_if_gpu_is_required() const;

  [[nodiscard]] Verdict verdict_of_devices(int devices) const;
  [[nodiscard]] Verdict verdict_of_host() const;
  /// The same of a pass over `plan`, with its imbalance.
  [[nodiscard]] Verdict verdict_of_host(const Plan& plan) const;
  [[nodiscard]] static Verdict no_verdict(std::string reason);

  /// "pass 3", and of which job if the program has made more than one.
  [[nodiscard]] std::string pass_name() const {
    return "pass " + std::to_string(pass) + (number > 1 ? " of job " + std::to_string(number) : "");
  }

 private:
  /// How one part of a tile ended on its device, by itself or by `Tile::fail`.
  enum class PartEnd { done, stopped, failed };

  [[nodiscard]] TileEnd compute_tile(const Plan& plan, const PlannedTile& planned, const Pass& work);
  [[nodiscard]] DeviceContext& bind_device(int device);
  [[nodiscard]] std::int64_t part_of_tile(const Plan& plan, const PlannedTile& planned,
                                          const Pass& work) const;
  [[nodiscard]] PartEnd compute_part(Tile& tile, DeviceContext& context, const Pass& work) const;
  [[nodiscard]] const InventoryDevice& known_device(int device) const {
    return inventory.devices_of(comm.rank())[static_cast<std::size_t>(device)];
  }
};

}  // namespace tessera::inline TESSERA_ABI

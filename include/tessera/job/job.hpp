// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/device/pool.hpp>
#include <tessera/job/host_team.hpp>
#include <tessera/job/host_threads.hpp>
#include <tessera/job/reproducible_sum.hpp>
#include <tessera/job/tile.hpp>
#include <tessera/job/verdict.hpp>
#include <tessera/memory/device_buffer_pools.hpp>
#include <tessera/mpi/communicator.hpp>
#include <tessera/topology/inventory.hpp>
#include <tessera/version.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <typeinfo>
#include <vector>

namespace tessera::inline TESSERA_ABI {

class DeviceCollectives;
class StopRequest;

/// Which hardware a job may use.
enum class Policy {
  automatic,  ///< GPUs if there are any, else the CPU
  gpu,        ///< GPUs; none at all is an Error(device_absent), and one that fails an Error(job_fault)
  cpu,        ///< the CPU; no GPU is looked for
};

/// "auto", "gpu" or "cpu".
[[nodiscard]] TESSERA_EXPORT std::string_view to_string(Policy policy);

/// How a job is set up: the same on every rank.
struct JobOptions {
  Policy policy = Policy::automatic;
  ScoreModel score_model = ScoreModel::throughput;
  /// For `ScoreModel::measured`: does some of the caller's own work on the tile's device and returns how
  /// many units it did, 1 or more. It is run once to warm up and once timed, on a thread for each device; the
  /// tile's ranges are empty. The timed runs of all ranks begin together, so that ranks that share a device
  /// time it as shared. The fastest device of the job scores `measured_score_of_fastest`, the others in
  /// proportion. A function that throws, fails the tile or did no unit, on any rank, makes the job fall back
  /// to the CPU. One that makes a collective call or ends its thread is an `Error(usage)` on every rank, as
  /// in a pass. Its rank is alive, however long it takes.
  std::function<std::int64_t(Tile&)> measure;
  /// Does the same on the host for simulated devices, as host functions do the work of their tiles; its range
  /// is empty too. On every rank or on none. Without it a simulated device is as fast as its figures say
  /// (`ScoreModel::throughput`), which nothing that is timed can be compared with: a job that has devices of
  /// both kinds needs it, or throws `Error(usage)`.
  std::function<std::int64_t(const HostTile&)> measure_on_host;
  /// Ranks may drive one GPU together where a node has more ranks than GPUs.
  bool allow_sharing = false;
  /// Host threads of this rank for the CPU function; 0: as `choose_threads` has it.
  int threads = 0;
  /// How long a collective of the job may take, from when a rank comes to it, before the job is ended with
  /// the names of the ranks that are missing (see `mpi::Communicator`); 0: for ever. The making of the job,
  /// votes, sums and the caller's own collectives over `comm()` are bounded by it.
  std::chrono::milliseconds collective_timeout = std::chrono::minutes(30);
  /// Where kernels that are compiled at run time are kept, and who compiles them.
  ModuleCacheOptions modules;
  /// What may ask the job to stop (<tessera/job/stop_request.hpp>): null on every rank, or on none. Made over
  /// the job's ranks, or `Error(usage)` is thrown. Outlives the job. Passes are then cut into more parts, and
  /// ranks look after it between them.
  StopRequest* stop = nullptr;
};

/// What one kind of device of the job got out of `Job::compile`.
struct JobModule {
  ComputeCapability capability;
  CompileOutcome outcome;
};

/// The conductor: finds the hardware, agrees who drives what, cuts the work, runs it, takes the vote.
///
///     tessera::mpi::Session session(argc, argv);
///     tessera::Job job(session.world());                // probe, claim, inventory
///     auto plan = job.plan(n);                          // identical on every rank
///     auto mine = load(job.local_range(plan));          // this rank reads only its own part
///     auto squares = job.map<double>(plan, std::span<const double>(mine),
///         [](tessera::Tile& tile, std::span<const double> in, std::span<double> out) { launch(tile, in,
///         out); },
///         [](const tessera::HostTile&, std::span<const double> in, std::span<double> out) {
///           for (std::size_t i = 0; i < in.size(); ++i) out[i] = in[i] * in[i];
///         });
///     if (session.is_root()) std::cout << job.last_verdict() << '\n';
///
/// The constructor and the three verbs are *collective* over the communicator: every rank calls them in
/// the same order, with the same options, plan, types and width. Device functions run on one thread for each
/// of this rank's tiles, host functions on `threads()` threads, all of them the job's own; none may call MPI,
/// which the job does on the calling thread alone. That thread only waits in a pass, and answers other ranks:
/// however long a function takes, its rank is alive. A rank to which the system grants fewer threads makes do
/// with those; one that has none fails its passes. On a simulated device the host function does the tile's
/// work. A job object is not thread-safe, and every member of one that was moved from throws `Error(usage)`.
///
/// What happens when something goes wrong:
/// - A device function that throws or calls `tile.fail`, a device that cannot be opened, bound or
///   allocated on, a rank whose probe fails: the pass falls back. All ranks then run the host function over
///   their untouched input, each over its units of the plan, and the job stays on the CPU from there on.
///   Plans stay what they were: see `plan` and `plan_for_hosts`. Under `Policy::gpu` every rank
///   throws `Error(job_fault)` instead, in that pass and in any later one: another start of the job may have
///   better ones.
/// - An exception from a host function, or misuse on one rank (a span that is not the rank's part of the
///   plan): rethrown on its rank after all ranks have agreed that the pass failed; the other ranks
///   throw `Error(job_fault)` naming that rank.
/// - Ranks that do not make the same call (another verb, plan, width or type of unit or result): every rank
/// throws
///   `Error(usage)` that tells what differs.
/// - A verb, another collective call or a `Job` inside a function of a pass, and a function that ends its
/// thread
///   (pthread_exit): every rank throws `Error(usage)`, as soon as the pass has ended.
/// - A request to stop (`JobOptions::stop`), on any rank: host functions end with the part at hand, devices
///   with theirs or where they ask (`Tile::stopping`), and every rank throws `Error(interrupted)` with its
///   cause, then and in any later pass. A pass that every rank had completed is a result like any other.
/// - A rank that does not come to a vote or a sum within `JobOptions::collective_timeout`: a line on standard
///   error names it and its node, and the job is ended with status 6.
class TESSERA_EXPORT Job {
 public:
  /// Probes, claims and takes stock. *Collective.* Makes no CUDA call, unless the caller has initialised
  /// CUDA before or asks for `ScoreModel::measured`. Throws `Error(device_absent)` under `Policy::gpu` if no
  /// rank has a device, and `Error(usage)` for an unreadable environment variable or option. Cost: tens of
  /// milliseconds for the probe, and a few small collectives.
  explicit Job(const mpi::Communicator& comm, JobOptions options = {});
  ~Job();
  Job(Job&&) noexcept;
  Job& operator=(Job&&) noexcept;

  /// The job's own duplicate of the communicator that it was made with.
  [[nodiscard]] const mpi::Communicator& comm() const;
  /// What it was made with.
  [[nodiscard]] const JobOptions& options() const;
  [[nodiscard]] const Inventory& inventory() const;
  /// This rank's own devices. Empty on a rank that drives none, and after a fallback.
  [[nodiscard]] DevicePool& devices();
  /// Sums and broadcasts of data on the devices of all ranks: include <tessera/job/device_collectives.hpp>.
  /// Not collective itself. Valid as long as the job.
  [[nodiscard]] DeviceCollectives collectives();
  /// The buffer pools of `devices()`, by index there: to read their figures, and to empty them between
  /// phases. Tiles reach theirs by `Tile::buffers`. After a fallback they are still there, for what is left
  /// in them.
  [[nodiscard]] DeviceBufferPools& buffers();
  /// Host threads of this rank, at least 1.
  [[nodiscard]] int threads() const;
  /// The same, and why so many.
  [[nodiscard]] const HostThreads& host_threads() const;
  /// These threads, free between passes, for what is too little for a pass and too much for one thread. While
  /// it waits for them, the calling thread answers other ranks. To be used by the thread that makes the job's
  /// collective calls. Valid as long as the job.
  [[nodiscard]] HostTeam& host_team() const;

  /// This rank's kernels: the cache of its devices too.
  [[nodiscard]] ModuleCache& modules();

  /// *Collective.* Compiles `source` for the job's devices, once for each compute capability: by the lowest
  /// rank that drives such a device, or from its disk. Returns the outcomes, a failure with its log too,
  /// in order of capability, the same on every rank; `modules()` has them as well, so that a tile's
  /// `load` compiles nothing. Empty if the job is on the CPU. A compiler that throws is a failure like
  /// any other. Throws `Error(usage)` if the source has no text, or is not the same on every rank. Makes no
  /// CUDA call. Blocks. Cost: the slowest compilation (a second or so), a vote, and a broadcast for each
  /// capability.
  [[nodiscard]] std::vector<JobModule> compile(const ModuleSource& source);

  /// Units `0 … units-1` over the job's devices; over its hosts, as `plan_for_hosts`, if it had none from the
  /// beginning. The same call gives the same plan as long as the job lives, also after a fallback: data that
  /// a program has loaded by a plan stay where they are. No communication; identical on every rank. See
  /// `Plan` for `block`.
  [[nodiscard]] Plan plan(std::int64_t units, std::int64_t block = 1) const;
  /// The same over the job's hosts, in proportion to the host threads of each rank: for work that is done on
  /// the CPU alone, and for a program that, after a fallback, can load its data anew. A plan over devices
  /// leaves most of the work of a CPU to the ranks with the fastest devices. No communication; identical on
  /// every rank.
  [[nodiscard]] Plan plan_for_hosts(std::int64_t units, std::int64_t block = 1) const;
  /// This rank's part of `plan`.
  [[nodiscard]] Range local_range(const Plan& plan) const { return plan.range_of(comm().rank()); }

  /// True if the next pass runs on the CPU: no device, policy `cpu`, or an earlier fallback.
  [[nodiscard]] bool on_host() const;
  /// The verdict of the last pass, the same on every rank; before the first pass, what is known of the
  /// hardware. If the last pass ended with an exception, `Verdict::Ran::none` and why. Of an exception that
  /// is one rank's alone (`mpi::Failure`), only that rank knows.
  [[nodiscard]] const Verdict& last_verdict() const;

  /// Calls `work` on a thread of the job's and waits for it, while this one answers other ranks: a rank that
  /// computes for long between passes is alive to those that wait for it. Not collective. `work` may call no
  /// collective; what it throws is rethrown. Throws `Error(job_fault)` if the system grants no thread. Cost:
  /// waking a thread.
  void run_alive(const std::function<void()>& work);

  /// *Collective.* Results apart from inputs: `in` holds this rank's units of `plan`, and so does the
  /// result. `on_device(Tile&, std::span<const Unit>, std::span<Result>)` and
  /// `on_host(const HostTile&, std::span<const Unit>, std::span<Result>)` get the parts of `in` and of the
  /// result that belong to their range; results start as `Result{}`.
  ///
  /// A tile is given to its device in consecutive parts of whole blocks that need no more than the
  /// device's memory budget, at `device_bytes_per_unit` bytes a unit; 0: the whole tile at once. Blocks
  /// until the vote is done. Cost beside the functions: waking a thread for each tile, and one allreduce.
  template <class Result, class Unit, class DeviceFn, class HostFn>
  [[nodiscard]] std::vector<Result> map(const Plan& plan, std::span<const Unit> in, DeviceFn&& on_device,
                                        HostFn&& on_host, std::int64_t device_bytes_per_unit = 0) {
    static_assert(!std::is_same_v<Result, bool>, "std::vector<bool> has no span: use char");
    static const Call call = call_of<Result, Unit>("map");
    std::int64_t first = 0;
    std::vector<Result> out;
    const auto part = [&](auto span, Range range) {
      return span.subspan(static_cast<std::size_t>(range.begin - first),
                          static_cast<std::size_t>(range.size()));
    };
    run(plan,
        {.call = &call,
         .has_functions = is_callable(on_device) && is_callable(on_host),
         .local_units = static_cast<std::int64_t>(in.size()),
         .device_bytes_per_unit = device_bytes_per_unit,
         .prepare =
             [&] {
               first = local_range(plan).begin;
               out.assign(in.size(), Result{});
             },
         .on_device =
             [&](Tile& tile) { on_device(tile, part(in, tile.range()), part(std::span(out), tile.range())); },
         .on_host =
             [&](const HostTile& tile) {
               on_host(tile, part(in, tile.range), part(std::span(out), tile.range));
             },
         .restore = [&] { out.assign(in.size(), Result{}); }});
    return out;
  }

  /// *Collective.* In place: as `map`, but functions overwrite `units`. While devices work a copy is
  /// kept, and restored before a fallback or a throw. A pass on the host that ends with an exception
  /// leaves `units` as its functions left them.
  template <class Unit, class DeviceFn, class HostFn>
  void scatter(const Plan& plan, std::span<Unit> units, DeviceFn&& on_device, HostFn&& on_host,
               std::int64_t device_bytes_per_unit = 0) {
    static const Call call = call_of<void, Unit>("scatter");
    std::int64_t first = 0;
    std::vector<Unit> untouched;
    const auto part = [&](Range range) {
      return units.subspan(static_cast<std::size_t>(range.begin - first),
                           static_cast<std::size_t>(range.size()));
    };
    run(plan, {.call = &call,
               .has_functions = is_callable(on_device) && is_callable(on_host),
               .local_units = static_cast<std::int64_t>(units.size()),
               .device_bytes_per_unit = device_bytes_per_unit,
               .prepare =
                   [&] {
                     first = local_range(plan).begin;
                     if (runs_on_devices(plan)) untouched.assign(units.begin(), units.end());
                   },
               .on_device = [&](Tile& tile) { on_device(tile, part(tile.range())); },
               .on_host = [&](const HostTile& tile) { on_host(tile, part(tile.range)); },
               .restore = [&] { std::copy(untouched.begin(), untouched.end(), units.begin()); }});
  }

  /// A device function of `reduce`: adds one partial of `width` doubles for each block of
  /// `tile.range()`, which is whole blocks, to `sum`, in any order.
  using DeviceReduce = std::function<void(Tile& tile, ReproducibleSum& sum)>;
  /// A host function of `reduce`: adds the one block `tile.range` to `partial`, which starts as zeros.
  using HostReduce = std::function<void(const HostTile& tile, std::span<double> partial)>;

  /// *Collective.* The sum over all blocks of the job of a vector of `width` doubles, on every rank:
  /// bit-identical for any number of ranks, threads, and devices of one kind, given the same
  /// `plan.block()`. Units are the plan's; a block is `plan.block()` of them. Parts as in `map`. Blocks
  /// until the sum is known. Memory: 40 `width` bytes for each tile or host thread. A plan of more than 2^30
  /// blocks is refused before any work (`ReproducibleSum`).
  [[nodiscard]] std::vector<double> reduce(const Plan& plan, std::size_t width, const DeviceReduce& on_device,
                                           const HostReduce& on_host, std::int64_t device_bytes_per_unit = 0);

 private:
  /// Which verb of which types: the same on every rank.
  struct Call {
    const char* verb = "";
    std::string types;  ///< "of double (8 bytes) to float (4 bytes)"
    std::int64_t signature = 0;
  };
  [[nodiscard]] static Call call_of(const char* verb, std::initializer_list<const std::type_info*> types,
                                    std::initializer_list<std::size_t> bytes);
  template <class Result, class Unit>
  [[nodiscard]] static Call call_of(const char* verb) {
    if constexpr (std::is_void_v<Result>)
      return call_of(verb, {&typeid(Unit)}, {sizeof(Unit)});
    else
      return call_of(verb, {&typeid(Unit), &typeid(Result)}, {sizeof(Unit), sizeof(Result)});
  }
  /// False for a null pointer to a function, or an empty `std::function`.
  template <class Function>
  [[nodiscard]] static bool is_callable(const Function& function) noexcept {
    if constexpr (std::is_pointer_v<Function>)
      return function != nullptr;
    else if constexpr (requires { function.operator bool(); })
      return static_cast<bool>(function);
    else
      return true;
  }

  /// What the verbs are made of. Whatever can throw on one rank alone happens inside these functions, so
  /// that it is carried to the vote instead of leaving the other ranks waiting there.
  struct Pass {
    const Call* call = nullptr;
    bool has_functions = true;                ///< neither of the caller's is null
    std::optional<std::int64_t> local_units;  ///< units that the caller brought, to be checked
    std::int64_t width = 0;                   ///< doubles of a reduction; the same on every rank
    std::int64_t most_blocks = std::numeric_limits<std::int64_t>::max();
    std::int64_t device_bytes_per_unit = 0;
    std::function<void()> prepare;                 ///< before any work
    std::function<void(Tile&)> on_device;          ///< a part of a tile
    std::function<void(const HostTile&)> on_host;  ///< some whole blocks
    std::function<void()> restore;                 ///< undoes what device functions wrote
    std::function<void()> finish = [] {};          ///< after the work, before the vote
  };
  void run(const Plan& plan, const Pass& pass);
  /// True if a pass over `plan` begins on devices.
  [[nodiscard]] bool runs_on_devices(const Plan& plan) const { return plan.on_devices() && !on_host(); }

  struct State;
  /// Throws `Error(usage)` if the job was moved from.
  [[nodiscard]] State& state() const;

  std::unique_ptr<State> state_;
};

}  // namespace tessera::inline TESSERA_ABI

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/device/pool.hpp>
#include <tessera/function.hpp>
#include <tessera/held.hpp>
#include <tessera/job/host_team.hpp>
#include <tessera/job/host_threads.hpp>
#include <tessera/job/reducer.hpp>
#include <tessera/job/reproducible_sum.hpp>
#include <tessera/job/tile.hpp>
#include <tessera/job/verdict.hpp>
#include <tessera/memory/device_buffer_pools.hpp>
#include <tessera/mpi/communicator.hpp>
#include <tessera/topology/inventory.hpp>
#include <tessera/version.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <typeinfo>
#include <utility>
#include <vector>

namespace TESSERA_NAMESPACE {

class ArrayBase;
class DeviceCollectives;
class DeviceTurn;
class StopRequest;
template <class T>
class Array;
template <class... Elements>
struct Arrays;

/// Which hardware a job may use.
enum class Policy {
  automatic,  ///< GPUs if there are any, else the CPU
  gpu,        ///< GPUs; throws Error(device_absent) without a GPU, and Error(job_fault) instead of a fallback
  cpu,        ///< the CPU, without looking for GPUs
};

/// "auto", "gpu" or "cpu".
[[nodiscard]] TESSERA_EXPORT std::string_view to_string(Policy policy);

/// The reaction of a job to a failed device, in a pass or in the constructor. An exception of a device
/// function counts as a failure of its device. Misuse of the library, and exceptions of host functions, cause
/// no fallback: every rank throws.
enum class OnDeviceFailure {
  cpu,    ///< the job falls back: host functions compute the pass, and all later ones
  error,  ///< every rank throws `Error(job_fault)`, in this pass and any later one: restart the job on
          ///< working devices
  /// The job excludes the device: the other devices compute the pass again from the unchanged input, and all
  /// later passes. If no device is left, the job falls back.
  exclude,
};

/// "cpu", "error" or "exclude".
[[nodiscard]] TESSERA_EXPORT std::string_view to_string(OnDeviceFailure action);

/// How a job is set up. The options must be the same on every rank.
struct JobOptions {
  Policy policy = Policy::automatic;
  /// Under `Policy::gpu` a job never falls back: `cpu` acts as `error`, and so does `exclude` once no device
  /// is left.
  OnDeviceFailure on_device_failure = OnDeviceFailure::cpu;
  /// For `OnDeviceFailure::exclude`: a promise that functions of `map` and `scatter` use only their
  /// arguments, and no other data of their rank. If a rank then loses all of its devices, other ranks compute
  /// its units.
  bool may_move_units = false;
  ScoreModel score_model = ScoreModel::throughput;
  /// For `ScoreModel::measured`: a sample of the application's work, run on the tile's device; returns the
  /// number of units done, at least 1. Called twice for each device, on the device's thread: once to warm up,
  /// once timed. The ranges of the tile are empty. The timed runs of all ranks start together, so that a
  /// shared device is timed as shared. The fastest device of the job gets the score
  /// `measured_score_of_fastest`, other devices a proportional score. If the function throws, fails the tile
  /// or returns less than 1, its device has failed: see `on_device_failure`. If the function makes a
  /// collective call or calls pthread_exit, every rank throws `Error(usage)`, as in a pass. The rank counts
  /// as alive however long the function takes.
  SharedFunction<std::int64_t(Tile&)> measure;
  /// Like `measure`, for simulated devices and for `hosts`: runs on the host, also with an empty range. Set
  /// it on every rank or on none. Without it simulated devices are scored by their specification
  /// (`ScoreModel::throughput`), which cannot be compared with timed scores: a job with real and simulated
  /// devices throws `Error(usage)`.
  SharedFunction<std::int64_t(const HostTile&)> measure_on_host;
  /// Use of CPUs in addition to GPUs. In a job that has a GPU, the host of every rank, also of a rank without
  /// a GPU, is one more device, the last of its rank (`InventoryDevice::host`). Plans give it a tile by its
  /// score. The host function computes this tile while the GPUs compute theirs. It runs on `threads` minus
  /// one thread for each GPU of the rank, at least 1. The host's copy of an `Array` is in host memory; its
  /// memory budget is `memory_fraction` of the rank's share of host memory (`share_memory`).
  ///
  /// Scores are measured: `hosts` needs `ScoreModel::measured` and `measure_on_host`, else `Error(usage)`.
  /// `measure_on_host` runs on all threads of the tile at once, while the GPUs are measured. A slow host has
  /// a small tile, or none.
  ///
  /// *Reproducibility*: only this option mixes kinds of hardware in a pass. A host function and a device
  /// function may differ in the last bits, and measured times decide which of them computes a unit: results
  /// may differ between runs, and between numbers of ranks. If both functions give the same bits, so do all
  /// passes, because sums of their results are reproducible (`ReproducibleSum`).
  ///
  /// An exception of the host function ends the pass without a fallback, as in a job on the CPU; an exception
  /// of `measure_on_host` is rethrown by the constructor of the job. If no rank has a GPU, or under
  /// `Policy::cpu`, the job computes on the CPU, as without this option. `Policy::gpu` still requires GPUs.
  bool hosts = false;
  /// Lets several ranks drive one GPU (oversubscription) if a node has more ranks than GPUs.
  bool allow_sharing = false;
  /// Fraction of a device's memory that the job may use, above 0 and up to 1, divided equally among the ranks
  /// that share the device (`Tile::memory_budget_bytes`). The budget never exceeds the memory that is free
  /// when the job is constructed: leave room for allocations of the program and its libraries.
  double memory_fraction = 0.5;
  /// Maximum number of concurrent parts, 1 to 8, of a tile that exceeds the memory budget (`Tile`). Each part
  /// has an equal share of the budget. With 2 or more, copies of one part overlap with the computation
  /// of another.
  int parts_in_flight = 2;
  /// Number of threads of this rank for host functions; 0: chosen by `choose_threads`.
  int threads = 0;
  /// Timeout of the job's collectives, measured from a rank's own call; 0: none. When it expires, the job
  /// ends with a message that names the missing ranks (see `mpi::Communicator`). Applies to the construction
  /// of the job, votes, sums, and the application's collectives over `comm()`.
  std::chrono::milliseconds collective_timeout = std::chrono::minutes(30);
  /// Compiler and cache of the kernels that are compiled at run time.
  ModuleCacheOptions modules;
  /// Stop request that interrupts the job's passes (<tessera/job/stop_request.hpp>): null on every rank, or
  /// on none. Must outlive the job and be constructed over the same ranks, else `Error(usage)` is thrown.
  /// With a stop request, passes are cut into more parts, and ranks check for it between parts.
  StopRequest* stop = nullptr;
};

/// The type of `host_only`, which replaces the device function of a pass.
struct HostOnly {
  /// Never called.
  void operator()(const Tile&, const auto&...) const noexcept {}
};
/// Takes the place of the device function of `map`, `scatter` or `reduce`: the pass runs the host function on
/// the host threads of every rank, over any plan, also in a job with devices. This is not a fallback: later
/// passes use the devices. Give it on every rank, or on none.
///
///     job.scatter(plan, ages, tessera::host_only, [](const tessera::HostTile&, std::span<int> part) { … });
///
/// `Policy::gpu` allows such passes. Results of host functions and device functions may differ in the last
/// bits: a caller that mixes them is responsible for the difference.
inline constexpr HostOnly host_only;

namespace detail {
class ArrayState;
class JobArrays;
struct ArrayAccess;
struct JobAccess;

/// A type-erased `Reducer`, with the functions of its pass.
struct BlockReduction {
  std::size_t value_bytes = 0;
  const void* identity = nullptr;
  FunctionRef<void(void* left, const void* right)> combine{};
  bool has_functions = true;
  bool host_only = false;
  /// `values` is device memory for one value per block of the tile.
  FunctionRef<void(Tile&, void* values, std::size_t blocks)> on_device{};
  FunctionRef<void(const HostTile&, void* value)> on_host{};
  std::int64_t device_bytes_per_unit = 0;
};

template <class Function>
inline constexpr bool is_host_only = std::is_same_v<std::remove_cvref_t<Function>, HostOnly>;

template <class Units>
concept ContiguousUnits = requires(Units& units) {
  std::span(units);
};
template <ContiguousUnits Units>
using UnitOf = typename decltype(std::span(std::declval<Units&>()))::value_type;
}  // namespace detail

/// The result of `Job::compile` for the job's devices of one compute capability.
struct JobModule {
  ComputeCapability capability;
  CompileOutcome outcome;
};

/// Runs work on all devices of an MPI job. A job probes the hardware, assigns devices to ranks, and
/// partitions the *units* (items of the data, numbered from 0) by a *plan*, which gives each device a
/// contiguous *tile*. A *pass* is one call of `map`, `scatter`, `reduce` or `update`. It computes all units,
/// and ends with a *vote*: an allreduce by which all ranks agree whether the pass has succeeded.
///
///     tessera::mpi::Session session(argc, argv);
///     tessera::Job job(session.world());                // probe, claim, inventory
///     auto plan = job.plan(n);                          // identical on every rank
///     auto mine = load(job.local_range(plan));          // this rank reads only its own part
///     auto squares = job.map<double>(plan, mine,
///         [](tessera::Tile& tile, std::span<const double> in, std::span<double> out) {
///           launch(tile, in, out);
///         },
///         [](const tessera::HostTile&, std::span<const double> in, std::span<double> out) {
///           for (std::size_t i = 0; i < in.size(); ++i) out[i] = in[i] * in[i];
///         });
///     if (session.is_root()) std::cout << job.last_verdict() << '\n';
///
/// The constructor and the passes are *collective* over the communicator: every rank calls them in the same
/// order, with the same options, plan, types and width. Device functions run on one thread for each of this
/// rank's tiles, or on `JobOptions::parts_in_flight` threads if the tile is computed in parts; host functions
/// run on `threads()` threads. All these threads belong to the job. Functions must not call MPI: only the
/// calling thread does. During a pass the calling thread waits and replies to other ranks, so that its rank
/// counts as alive however long a function takes. If the system cannot start all threads, the job uses the
/// started ones; if it can start none, passes fail. The host function computes the tiles of simulated
/// devices. A job is not thread-safe.
///
/// Jobs over serial communicators in one process claim the same devices and take turns on them: a pass may
/// wait for its turn (<tessera/job/device_turn.hpp>). Any other two jobs, even of one process, never have the
/// same device, unless both allow sharing.
///
/// Errors:
/// - A device function throws or calls `tile.fail`, a device cannot be opened, bound or allocated on, or a
///   rank's probe fails: the pass *falls back*. All ranks run the host function over their unchanged input,
///   each over its units of the plan, and all later passes run on the CPU. Plans do not change: see `plan`
///   and `plan_for_hosts`. Under `OnDeviceFailure::error`, and under `Policy::gpu`, every rank throws
///   `Error(job_fault)` instead.
/// - Under `OnDeviceFailure::exclude`, failed devices are excluded: inputs are restored, and the remaining
///   devices compute the pass again, as often as others fail. Later plans are over the remaining devices.
///   Earlier plans stay valid: the other devices of its rank compute the units of an excluded device. If the
///   rank has no device left, every rank throws `Error(outdated_plan)`: make a new plan, move the data
///   (`move`), and repeat the pass. With `JobOptions::may_move_units`, `map` and `scatter` do not throw in
///   this case: in every pass over such a plan, they move units of trivially copyable types to other ranks,
///   and the results back. Results have the same bits as without the failure if all devices are of one kind.
///   The verdict names the excluded devices.
/// - A host function throws, or one rank misuses the call (a span whose size is not that of the rank's part
///   of the plan): after the vote the exception is rethrown on that rank, and the other ranks throw
///   `Error(job_fault)`, which names the rank.
/// - The ranks do not make the same call (with the same function, plan, width, and types of units and
///   results): every rank throws `Error(usage)`, which names the difference.
/// - A device or host function makes a collective call, constructs a `Job`, or ends its thread
///   (pthread_exit): every rank throws `Error(usage)`, as soon as the pass has ended.
/// - A stop is requested on any rank (`JobOptions::stop`): each thread finishes its current part (a device
///   function may return earlier if it checks `Tile::stopping`), and every rank throws `Error(interrupted)`
///   with the cause, in this pass and any later one. A pass that every rank has completed returns its result.
/// - A rank does not reach a vote or a sum within `JobOptions::collective_timeout`: the job ends with status
///   6 and a line on standard error that names the rank and its node.
class TESSERA_EXPORT Job {
 public:
  /// Probes the hardware, claims devices and gathers the inventory. *Collective.* Makes no CUDA call unless
  /// CUDA is already initialised or `ScoreModel::measured` is chosen. Throws `Error(device_absent)` under
  /// `Policy::gpu` if no rank has a device, and `Error(usage)` for an invalid environment variable or option.
  /// Except under `Policy::cpu`, also throws `Error(usage)` in a forked child that sees a GPU, if its parent
  /// has used one. Cost: tens of milliseconds for the probe, and a few small collectives.
  explicit Job(const mpi::Communicator& comm, JobOptions options = {});
  ~Job();
  Job(Job&&) noexcept;
  Job& operator=(Job&&) noexcept;

  /// The job's own duplicate of the constructor's communicator.
  [[nodiscard]] const mpi::Communicator& comm() const;
  [[nodiscard]] const JobOptions& options() const;
  [[nodiscard]] const Inventory& inventory() const;
  /// The devices that this rank drives. Empty if it drives none, and after a fallback. Excluded devices
  /// (`InventoryDevice::excluded`) stay in the pool, so that indices do not change. With `JobOptions::hosts`
  /// one of the devices is the host (`DeviceInfo::host`).
  [[nodiscard]] DevicePool& devices();
  /// Sums and broadcasts of device data over all ranks: include <tessera/job/device_collectives.hpp>. This
  /// function is not collective. Valid as long as the job.
  [[nodiscard]] DeviceCollectives collectives();
  /// The buffer pools of `devices()`, by the same index: for statistics, and to empty the pools between
  /// phases. A device function uses `Tile::buffers`. After a fallback the pools stay valid, so that leases
  /// can be returned.
  [[nodiscard]] DeviceBufferPools& buffers();
  /// Host threads of this rank, at least 1.
  [[nodiscard]] int threads() const;
  /// `threads()`, with the source of the number.
  [[nodiscard]] const HostThreads& host_threads() const;
  /// The host threads, for parallel work between passes. Use it on the thread of the job's collective calls,
  /// which waits for the work and replies to other ranks meanwhile. Valid as long as the job.
  [[nodiscard]] HostTeam& host_team() const;

  /// The cache of compiled kernels, shared with this rank's devices.
  [[nodiscard]] ModuleCache& modules();

  /// *Collective.* Compiles `source` once for each compute capability among the job's devices; for each, the
  /// lowest rank that drives such a device compiles the source, or loads the module from its disk cache.
  /// Returns the outcomes in order of capability, failures with their logs included, the same on every rank.
  /// All outcomes are added to `modules()`, so that `ModuleCache::load` in a device function compiles
  /// nothing. Empty if the job is on the CPU. An exception of the compiler counts as a failed compilation.
  /// Throws `Error(usage)` if the source has no text or differs between ranks. Makes no CUDA call. Blocks.
  /// Cost: the slowest compilation (about a second), a vote, and a broadcast for each capability.
  [[nodiscard]] std::vector<JobModule> compile(const ModuleSource& source);

  /// Partitions units `0 … units-1` over the job's devices, or over its hosts (like `plan_for_hosts`) if the
  /// constructor found no device or fell back. Equal arguments give equal plans for the lifetime of the job,
  /// also after a fallback: data that was loaded by a plan need not move. Only the exclusion of a device
  /// changes later plans. No communication; identical on every rank. See `Plan` for blocks and weights.
  ///
  ///     const Plan plan = job.plan(n, {.block = 64, .weights = nonzeros_of_row});
  [[nodiscard]] Plan plan(std::int64_t units, const PlanOptions& options) const;
  [[nodiscard]] Plan plan(std::int64_t units, std::int64_t block = 1) const {
    return plan(units, PlanOptions{.block = block});
  }
  /// *Collective.* Moves units between ranks, from one plan to another of the same units: `units` are this
  /// rank's units under plan `from`, and the result its units under plan `to`, in order. For host data of a
  /// trivially copyable type. Throws `Error(usage)`, on every rank, for plans of other jobs or units, and for
  /// a wrong number of units on a rank. Cost: a few small collectives, and an exchange of the units.
  template <detail::ContiguousUnits Units>
  [[nodiscard]] auto move(const Units& units, const Plan& from, const Plan& to) const {
    const std::span<const detail::UnitOf<const Units>> mine(units);
    const std::vector<std::size_t> counts = units_for_ranks(static_cast<std::int64_t>(mine.size()),
                                                            sizeof(detail::UnitOf<const Units>), from, to);
    return comm().alltoallv(mine, counts);
  }

  /// Partitions units over the job's hosts, in proportion to the host threads of each rank: for work that
  /// runs on the CPU only, and for a program that can reload its data after a fallback. (On the CPU, a plan
  /// over devices would give most work to the ranks with the fastest devices.) No communication; identical on
  /// every rank.
  [[nodiscard]] Plan plan_for_hosts(std::int64_t units, const PlanOptions& options) const;
  [[nodiscard]] Plan plan_for_hosts(std::int64_t units, std::int64_t block = 1) const {
    return plan_for_hosts(units, PlanOptions{.block = block});
  }
  /// This rank's part of `plan`.
  [[nodiscard]] Range local_range(const Plan& plan) const { return plan.range_of(comm().rank()); }

  /// True if the job computes on the CPU: it found no device, its policy is `cpu`, or it has fallen back.
  [[nodiscard]] bool on_host() const;
  /// The verdict of the last pass, the same on every rank; before the first pass, the outcome of the
  /// constructor. After an exception, `Verdict::ran` is `none`, and the verdict has the reason. An exception
  /// that is local to one rank (`mpi::Failure`) appears only in the verdict of that rank.
  [[nodiscard]] const Verdict& last_verdict() const;

  /// Runs `work` on a host thread of the job and waits for it, replying to other ranks meanwhile: for long
  /// computations between passes. Not collective. `work` must not make collective calls; its exception is
  /// rethrown. Throws `Error(job_fault)` if no thread can be started. Cost: waking a thread.
  void run_alive(FunctionRef<void()> work);

  /// *Collective.* Computes one result for each unit, out of place. `units`, any contiguous range, holds this
  /// rank's units of `plan`; the returned vector has one result for each of them. `on_device(Tile&,
  /// std::span<const Unit>, std::span<Result>)` and `on_host(const HostTile&, std::span<const Unit>,
  /// std::span<Result>)` get the parts of `units` and of the result that belong to their range; results start
  /// as `Result{}`.
  ///
  /// A tile whose units, at `device_bytes_per_unit` bytes each, exceed the device's memory budget is
  /// processed in parts of whole blocks. `JobOptions::parts_in_flight` parts fit the budget together, and are
  /// computed concurrently: see `Tile`. If `device_bytes_per_unit` is 0, the whole tile is computed at once.
  /// Blocks until the vote. Cost without the functions: waking a thread for each tile, and one allreduce.
  template <class Result, detail::ContiguousUnits Units, class DeviceFn, class HostFn>
  [[nodiscard]] std::vector<Result> map(const Plan& plan, const Units& units, DeviceFn&& on_device,
                                        HostFn&& on_host, std::int64_t device_bytes_per_unit = 0) {
    static_assert(!std::is_same_v<Result, bool>, "std::vector<bool> has no span: use char");
    using Unit = detail::UnitOf<const Units>;
    const std::span<const Unit> mine(units);
    static const Call call = call_of<Result, Unit>("map");
    std::int64_t first = 0;
    std::span<const Unit> in;
    std::vector<Unit> brought;
    std::vector<Result> out;
    const auto begin = [&](const Plan& used, std::span<const Unit> input) {
      first = local_range(used).begin;
      in = input;
      out.assign(in.size(), Result{});
    };
    const auto part = [&](auto span, Range range) {
      return span.subspan(static_cast<std::size_t>(range.begin - first),
                          static_cast<std::size_t>(range.size()));
    };
    run(plan,
        {.call = &call,
         .has_functions = !detail::is_null(on_device) && !detail::is_null(on_host),
         .host_only = detail::is_host_only<DeviceFn>,
         .local_units = static_cast<std::int64_t>(mine.size()),
         .device_bytes_per_unit = device_bytes_per_unit,
         .prepare =
             [&] {
               out.reserve(mine.size());
               prefer_huge_pages(out.data(), mine.size() * sizeof(Result));
               begin(plan, mine);
             },
         .on_device =
             [&](Tile& tile) { on_device(tile, part(in, tile.range()), part(std::span(out), tile.range())); },
         .on_host =
             [&](const HostTile& tile) {
               on_host(tile, part(in, tile.range), part(std::span(out), tile.range));
             },
         .restore = [&] { begin(plan, mine); },
         .can_move = can_move<Unit> && can_move<Result>,
         .bring =
             [&](const Plan& other) {
               if constexpr (can_move<Unit>) brought = moved(mine, plan, other);
               begin(other, brought);
             },
         .take_back =
             [&](const Plan& other) {
               if constexpr (can_move<Result>) out = moved(std::span<const Result>(out), other, plan);
             }});
    return out;
  }

  /// *Collective.* Like `map`, but in place: the functions overwrite `units`, a contiguous range whose
  /// elements are not const: `on_device(Tile&, std::span<Unit>)`, `on_host(const HostTile&,
  /// std::span<Unit>)`. A pass on devices keeps a copy of the units, and restores `units` before it
  /// falls back or throws. A pass on the host that throws leaves `units` partly overwritten.
  template <detail::ContiguousUnits Units, class DeviceFn, class HostFn>
  void scatter(const Plan& plan, Units&& units, DeviceFn&& on_device, HostFn&& on_host,
               std::int64_t device_bytes_per_unit = 0) {
    using Unit = detail::UnitOf<Units>;
    // Forwards `units`, so that a call with a temporary vector, whose span would dangle, does not compile.
    const std::span<Unit> mine(std::forward<Units>(units));
    constexpr bool on_hosts_alone = detail::is_host_only<DeviceFn>;
    static const Call call = call_of<void, Unit>("scatter");
    std::int64_t first = 0;
    std::span<Unit> in_place;
    std::vector<Unit> untouched;
    std::vector<Unit> brought;
    const auto begin = [&](const Plan& used, std::span<Unit> input) {
      first = local_range(used).begin;
      in_place = input;
    };
    const auto part = [&](Range range) {
      return in_place.subspan(static_cast<std::size_t>(range.begin - first),
                              static_cast<std::size_t>(range.size()));
    };
    run(plan, {.call = &call,
               .has_functions = !detail::is_null(on_device) && !detail::is_null(on_host),
               .host_only = on_hosts_alone,
               .local_units = static_cast<std::int64_t>(mine.size()),
               .device_bytes_per_unit = device_bytes_per_unit,
               .prepare =
                   [&] {
                     begin(plan, mine);
                     if (!on_hosts_alone && runs_on_devices(plan)) untouched.assign(mine.begin(), mine.end());
                   },
               .on_device = [&](Tile& tile) { on_device(tile, part(tile.range())); },
               .on_host = [&](const HostTile& tile) { on_host(tile, part(tile.range)); },
               .restore =
                   [&] {
                     begin(plan, mine);
                     overwrite(mine, untouched);
                   },
               .can_move = can_move<Unit>,
               .bring =
                   [&](const Plan& other) {
                     if constexpr (can_move<Unit>) brought = moved(std::span<const Unit>(mine), plan, other);
                     begin(other, brought);
                   },
               .take_back =
                   [&](const Plan& other) {
                     if constexpr (can_move<Unit>)
                       overwrite(mine, moved(std::span<const Unit>(brought), other, plan));
                   }});
  }

  /// *Collective.* Sums one vector of `width` doubles per block over all blocks of `plan`, and returns the
  /// sum on every rank: bit-identical for any number of ranks, threads, and devices of one kind, given the
  /// same `plan.block()`. `on_device` adds one vector to `sum` for each block of `tile.range()`, in any
  /// order; the range consists of whole blocks. `on_host` adds the vector of the single block `tile.range` to
  /// `partial`, which starts as zeros. A tile is processed in parts as in `map`; no two concurrent calls have
  /// the same `sum`. Blocks until the sum is known. Memory: 40 `width` bytes for each part of a tile that is
  /// computed at a time, or 48 `width` for each host thread; in a pass that starts on hosts, with a `width`
  /// of `ReproducibleSum::shared_width` or more, 40 `width` for all threads together and 8 `width` for each.
  /// The sum over ranks takes another 36 `width` bytes. Throws `Error(usage)`, before any work, for a plan of
  /// more than 2^30 blocks (`ReproducibleSum`).
  [[nodiscard]] std::vector<double> reduce(
      const Plan& plan, std::size_t width, FunctionRef<void(Tile& tile, ReproducibleSum& sum)> on_device,
      FunctionRef<void(const HostTile& tile, std::span<double> partial)> on_host,
      std::int64_t device_bytes_per_unit = 0);
  /// `reduce` on hosts only.
  [[nodiscard]] std::vector<double> reduce(
      const Plan& plan, std::size_t width, HostOnly,
      FunctionRef<void(const HostTile& tile, std::span<double> partial)> on_host);
  /// *Collective.* Combines one value per block over all blocks of `plan`, for example by a minimum, and
  /// returns the result on every rank: bit-identical for any number of ranks, threads, and devices of one
  /// kind, given the same `plan.block()`. `reducer` is `Minimum<T>{}`, `MaximumAt<T>{}`, `Sum<T>{}`,
  /// `Fields<…>{}` or a reducer of the application: see `Reducer` (<tessera/job/reducer.hpp>) for the order
  /// of combination.
  ///
  ///     const double step = job.reduce(plan, tessera::Minimum<double>{}, steps_on_device,
  ///         [&](const tessera::HostTile& tile, double& least) {
  ///           for (auto unit = tile.range.begin; unit < tile.range.end; ++unit)
  ///             least = tessera::Minimum<double>::combine(least, step_of(unit));
  ///         });
  ///
  /// `on_device(Tile&, std::span<Value> values)` gets device memory, from the tile's arena, with one element
  /// for each block of `tile.range()`, in order. It must write all elements by work on `Tile::stream`.
  /// `on_host(const HostTile&, Value& value)` combines the single block `tile.range` into `value`, which
  /// starts as the identity. Processes parts and throws like `map`. Blocks until the result is known. Cost
  /// without the functions: that of `map`, and an allgather of a few values for each rank, at most twice the
  /// logarithm of its number of blocks.
  template <Reducer R, class DeviceFn, class HostFn>
  [[nodiscard]] typename R::Value reduce(const Plan& plan, const R& reducer, DeviceFn&& on_device,
                                         HostFn&& on_host, std::int64_t device_bytes_per_unit = 0) {
    static const Call call = call_of("reduce", {&typeid(R)}, {sizeof(typename R::Value)});
    return reduce_by(plan, reducer, on_device, on_host, device_bytes_per_unit, call, {});
  }

  // Passes over arrays that stay on the devices: include <tessera/job/array.hpp>.

  /// *Collective.* Runs the functions over the units of `arrays`, the result of `tessera::arrays`. All arrays
  /// must have the same plan, by which the pass is distributed. `on_device(Tile&, std::span<Element>...)`
  /// gets the elements of the units `tile.range()` in device memory; `on_host(const HostTile&,
  /// std::span<Element>...)` gets those of `tile.range` in host memory. Elements of an array that is only
  /// read are const. Before the functions of a tile run, arrays that are not on its device are copied there
  /// on `Tile::stream`. If the memory budget does not hold the arrays, they are copied and computed in parts,
  /// several at a time (`Array`, `Tile`). Throws like `map`, and `Error(rolled_back)` (`Array`). Throws
  /// `Error(usage)` for arrays of several plans or of another job, or an array that is written twice. Blocks
  /// until the vote.
  template <class DeviceFn, class HostFn, class... Elements>
  void update(const Arrays<Elements...>& arrays, DeviceFn&& on_device, HostFn&& on_host);
  /// *Collective.* Like `update`, with a sum over blocks, as `reduce` above: `on_device(Tile&,
  /// ReproducibleSum&, std::span<Element>...)`, `on_host(const HostTile&, std::span<double> partial,
  /// std::span<Element>...)`.
  template <class DeviceFn, class HostFn, class... Elements>
  [[nodiscard]] std::vector<double> reduce(const Arrays<Elements...>& arrays, std::size_t width,
                                           DeviceFn&& on_device, HostFn&& on_host);
  /// *Collective.* Like `update`, with a `Reducer`: `on_device(Tile&, std::span<Value>,
  /// std::span<Element>...)`,
  /// `on_host(const HostTile&, Value&, std::span<Element>...)`.
  template <Reducer R, class DeviceFn, class HostFn, class... Elements>
  [[nodiscard]] typename R::Value reduce(const Arrays<Elements...>& arrays, const R& reducer,
                                         DeviceFn&& on_device, HostFn&& on_host);
  /// *Collective.* Copies the last versions of the arrays to the hosts: either of all arrays or of none. If a
  /// device fails, the job falls back or excludes the device, and every rank throws `Error(rolled_back)`.
  template <class... Elements>
  void download(Array<Elements>&... arrays);

 private:
  friend class ArrayBase;
  friend class DeviceTurn;
  friend class detail::ArrayState;
  friend class detail::JobArrays;

  /// The function of a pass and its element types, which must be the same on every rank.
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
  /// The `Call` of a `reduce` that has neither arrays nor a reducer, and thus no element types.
  [[nodiscard]] static const Call& plain_call();
  /// The steps of a pass. Code that can throw on a single rank runs inside these functions: the failure then
  /// reaches the vote, and other ranks do not wait there for ever.
  struct Pass {
    const Call* call = nullptr;
    bool has_functions = true;                ///< neither function of the caller is null
    bool host_only = false;                   ///< the same on every rank
    std::optional<std::int64_t> local_units;  ///< number of units from the caller, checked against the plan
    std::int64_t width = 0;                   ///< width of a reduction; the same on every rank
    std::int64_t max_blocks = std::numeric_limits<std::int64_t>::max();
    std::int64_t device_bytes_per_unit = 0;
    FunctionRef<void()> prepare;                 ///< runs before any work
    FunctionRef<void(Tile&)> on_device;          ///< computes a part of a tile
    FunctionRef<void(const HostTile&)> on_host;  ///< computes whole blocks of units on a host
    FunctionRef<void()> restore;                 ///< restores the input after device functions have failed
    FunctionRef<void()> finish{};                ///< runs after the work, before the vote; may be empty
    /// Whether the data of the pass can move to the ranks of another plan, and back: equal on every rank.
    bool can_move = false;
    /// *Collective.* Moves the data from the ranks of the pass's plan to those of `other`, before the work.
    FunctionRef<void(const Plan& other)> bring{};
    /// *Collective.* Moves the results from the ranks of `other` back, after the vote.
    FunctionRef<void(const Plan& other)> take_back{};
    std::span<const detail::ArrayAccess> arrays{};
  };
  /// The common plan of `arrays`, which must not be empty.
  [[nodiscard]] const Plan& plan_of(std::span<const detail::ArrayAccess> arrays) const;
  void download_together(std::span<ArrayBase* const> arrays);
  void run(const Plan& plan, const Pass& pass);
  /// *Collective.* For each rank r, the number of this rank's units under plan `from` that belong to rank r
  /// under plan `to`.
  [[nodiscard]] std::vector<std::size_t> units_for_ranks(std::int64_t units, std::size_t unit_bytes,
                                                         const Plan& from, const Plan& to) const;
  template <class T>
  static constexpr bool can_move = std::is_trivially_copyable_v<T> && !std::is_const_v<T>;
  /// *Collective.* Takes this rank's units under plan `from`; returns its units under plan `to`.
  template <class T>
  [[nodiscard]] std::vector<T> moved(std::span<const T> units, const Plan& from, const Plan& to) const {
    return comm().alltoallv(units, counts_for_ranks(from, to));
  }
  /// Like `units_for_ranks`, but not collective and without checks.
  [[nodiscard]] std::vector<std::size_t> counts_for_ranks(const Plan& from, const Plan& to) const;
  /// `on_device` is null in a host-only pass.
  [[nodiscard]] std::vector<double> sum_blocks(const Plan& plan, std::size_t width,
                                               const FunctionRef<void(Tile&, ReproducibleSum&)>* on_device,
                                               FunctionRef<void(const HostTile&, std::span<double>)> on_host,
                                               std::int64_t device_bytes_per_unit, const Call& call,
                                               std::span<const detail::ArrayAccess> arrays = {});
  template <class R, class DeviceFn, class HostFn, class... Accesses>
  [[nodiscard]] typename R::Value reduce_by(const Plan& plan, const R& reducer, DeviceFn& on_device,
                                            HostFn& on_host, std::int64_t device_bytes_per_unit,
                                            const Call& call, std::span<const detail::ArrayAccess> list,
                                            const Accesses&... accesses) {
    using Value = typename R::Value;
    static_assert(alignof(Value) <= alignof(std::max_align_t));
    Value result = reducer.identity();
    const Value identity = result;
    const auto combine = [&](void* left, const void* right) {
      auto& value = *static_cast<Value*>(left);
      value = reducer.combine(value, *static_cast<const Value*>(right));
    };
    const auto of_tile = [&](Tile& tile, void* values, std::size_t blocks) {
      on_device(tile, std::span(static_cast<Value*>(values), blocks), accesses.on_device(tile)...);
    };
    const auto of_block = [&](const HostTile& tile, void* value) {
      on_host(tile, *static_cast<Value*>(value), accesses.on_host(tile)...);
    };
    combine_blocks(plan,
                   {.value_bytes = sizeof(Value),
                    .identity = &identity,
                    .combine = combine,
                    .has_functions = !detail::is_null(on_device) && !detail::is_null(on_host),
                    .host_only = detail::is_host_only<DeviceFn>,
                    .on_device = of_tile,
                    .on_host = of_block,
                    .device_bytes_per_unit = device_bytes_per_unit},
                   call, list, &result);
    return result;
  }
  /// On entry `result` is the identity; it is unchanged if there are no blocks.
  void combine_blocks(const Plan& plan, const detail::BlockReduction& reduction, const Call& call,
                      std::span<const detail::ArrayAccess> arrays, void* result);
  /// Copies `by` to `units`. Used instead of std::copy, whose header takes long to compile.
  template <class Unit>
  static void overwrite(std::span<Unit> units, const std::vector<Unit>& by) {
    for (std::size_t i = 0; i < by.size(); ++i) units[i] = by[i];
  }
  /// Advises the system to use huge pages for `memory`, which must not have been written yet.
  static void prefer_huge_pages(void* memory, std::size_t bytes) noexcept;
  /// True if a pass over `plan` begins on devices.
  [[nodiscard]] bool runs_on_devices(const Plan& plan) const;

  friend class Balancer;
  friend struct detail::JobAccess;
  struct State;
  /// Throws `Error(usage)` if the job was moved from.
  [[nodiscard]] State& state() const;

  detail::Held<std::unique_ptr<State>, "Job"> state_;
};

}  // namespace TESSERA_NAMESPACE

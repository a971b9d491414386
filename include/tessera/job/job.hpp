// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/device/pool.hpp>
#include <tessera/job/reproducible_sum.hpp>
#include <tessera/job/tile.hpp>
#include <tessera/job/verdict.hpp>
#include <tessera/mpi/communicator.hpp>
#include <tessera/topology/inventory.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

namespace tessera {

/// Which hardware a job may use.
enum class Policy {
  automatic,  ///< GPUs if there are any, else the CPU
  gpu,        ///< GPUs; a job that has none, or loses one, is an Error(device_absent)
  cpu,        ///< the CPU; no GPU is looked for
};

[[nodiscard]] std::string_view to_string(Policy policy);

struct JobOptions {
  Policy policy = Policy::automatic;
  ScoreModel score_model = ScoreModel::throughput;
  /// For `ScoreModel::measured`: does some of the caller's own work on the tile's device and returns how
  /// many units it did. It is run once to warm up and once timed.
  std::function<std::int64_t(Tile&)> measure;
  /// Ranks may drive one GPU together where a node has more ranks than GPUs.
  bool allow_sharing = false;
  /// Host threads of this rank for the CPU function; 0: as many as the rank may use, shared fairly with
  /// the other ranks of its node where they are allowed the same cores.
  int threads = 0;
  /// How long a vote may take before the job is ended with the names of the missing ranks; 0: for ever.
  std::chrono::milliseconds vote_timeout = std::chrono::minutes(30);
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
/// The constructor and the three verbs are *collective* over the communicator: every rank calls them
/// in the same order with the same plan. Device functions run on one thread for each of this rank's
/// devices, host functions on `threads()` threads; neither may call MPI. On a simulated device the
/// host function does the tile's work. A device function that throws or calls `tile.fail` fails the job's
/// device pass: all ranks then run the host function over their untouched input, and the job stays on
/// the CPU from there on. An exception from a host function is rethrown on its rank after all ranks
/// have agreed that the pass failed; the other ranks throw `Error(job_fault)` naming that rank.
class Job {
 public:
  explicit Job(const mpi::Communicator& comm, JobOptions options = {});
  ~Job();
  Job(Job&&) noexcept;
  Job& operator=(Job&&) noexcept;

  [[nodiscard]] const mpi::Communicator& comm() const noexcept;
  [[nodiscard]] const Inventory& inventory() const noexcept;
  /// This rank's own devices. Empty on a rank that drives none, and after a fallback.
  [[nodiscard]] DevicePool& devices() noexcept;
  [[nodiscard]] int threads() const noexcept;

  /// Units `0 … units-1` over the job's devices, or over its hosts if the job runs on the CPU. No
  /// communication; identical on every rank. See `Plan` for `block`.
  [[nodiscard]] Plan plan(std::int64_t units, std::int64_t block = 1) const;
  /// This rank's part of `plan`.
  [[nodiscard]] Range local_range(const Plan& plan) const { return plan.range_of(comm().rank()); }

  /// True if the next pass runs on the CPU: no device, policy `cpu`, or an earlier fallback.
  [[nodiscard]] bool on_host() const noexcept;
  /// The verdict of the last pass; before the first pass, what is known of the hardware.
  [[nodiscard]] const Verdict& last_verdict() const noexcept;

  /// *Collective.* Results apart from inputs: `in` holds this rank's units of `plan`, and so does the
  /// result. Functions get the parts of `in` and of the result that belong to their range.
  template <class Result, class Unit, class DeviceFn, class HostFn>
  [[nodiscard]] std::vector<Result> map(const Plan& plan, std::span<const Unit> in, DeviceFn&& on_device,
                                        HostFn&& on_host, std::int64_t device_bytes_per_unit = 0) {
    const Range mine = local_range(plan);
    check_local_size(mine, static_cast<std::int64_t>(in.size()));
    std::vector<Result> out(in.size());
    const auto part = [&](auto span, Range range) {
      return span.subspan(static_cast<std::size_t>(range.begin - mine.begin),
                          static_cast<std::size_t>(range.size()));
    };
    run(
        plan, device_bytes_per_unit,
        [&](Tile& tile) { on_device(tile, part(in, tile.range()), part(std::span(out), tile.range())); },
        [&](const HostTile& tile) { on_host(tile, part(in, tile.range), part(std::span(out), tile.range)); },
        [&] { out.assign(in.size(), Result{}); });
    return out;
  }

  /// *Collective.* In place: as `map`, but functions overwrite `units`. A copy is kept until the vote,
  /// and restored before a fallback.
  template <class Unit, class DeviceFn, class HostFn>
  void scatter(const Plan& plan, std::span<Unit> units, DeviceFn&& on_device, HostFn&& on_host,
               std::int64_t device_bytes_per_unit = 0) {
    const Range mine = local_range(plan);
    check_local_size(mine, static_cast<std::int64_t>(units.size()));
    std::vector<Unit> untouched;
    if (plan.on_devices() && !this->on_host()) untouched.assign(units.begin(), units.end());
    const auto part = [&](Range range) {
      return units.subspan(static_cast<std::size_t>(range.begin - mine.begin),
                           static_cast<std::size_t>(range.size()));
    };
    run(
        plan, device_bytes_per_unit, [&](Tile& tile) { on_device(tile, part(tile.range())); },
        [&](const HostTile& tile) { on_host(tile, part(tile.range)); },
        [&] { std::copy(untouched.begin(), untouched.end(), units.begin()); });
  }

  /// A device function of `reduce`: adds one partial of `width` doubles for each block of
  /// `tile.range()`, which is whole blocks, to `sum`, in any order.
  using DeviceReduce = std::function<void(Tile& tile, ReproducibleSum& sum)>;
  /// A host function of `reduce`: adds the one block `tile.range` to `partial`, which starts as zeros.
  using HostReduce = std::function<void(const HostTile& tile, std::span<double> partial)>;

  /// *Collective.* The sum over all blocks of the job of a vector of `width` doubles, on every rank:
  /// bit-identical for any number of ranks, threads, and devices of one kind, given the same
  /// `plan.block()`. Units are the plan's; a block is `plan.block()` of them.
  [[nodiscard]] std::vector<double> reduce(const Plan& plan, std::size_t width, const DeviceReduce& on_device,
                                           const HostReduce& on_host, std::int64_t device_bytes_per_unit = 0);

 private:
  /// The pass that `map` and `scatter` are made of. `restore` undoes what device functions wrote.
  void run(const Plan& plan, std::int64_t device_bytes_per_unit, const std::function<void(Tile&)>& on_device,
           const std::function<void(const HostTile&)>& on_host, const std::function<void()>& restore);
  void check_local_size(Range mine, std::int64_t size) const;

  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace tessera

// SPDX-License-Identifier: Apache-2.0
#include "job/score/measured_scores.hpp"

#include "base/seconds_since.hpp"
#include "job/threads/device_threads.hpp"
#include "job/threads/worker_threads.hpp"
#include "job/tile/checked_call.hpp"
#include "job/tile/device_lane.hpp"
#include "mpi/exception_message.hpp"
#include "topology/driver/cuda_visibility.hpp"
#include "topology/measured_score.hpp"

#include <tessera/error.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <deque>
#include <exception>
#include <limits>

namespace TESSERA_NAMESPACE {
namespace {

/// A timed device. Only its own thread accesses it between warm-up and end.
struct Timed {
  explicit Timed(const DeviceInfo& info) : context(info), buffers(make_upstream(context)) {}

  DeviceContext context;
  BufferPool buffers;
  DeviceLane own;
};

class TimedRun {
 public:
  TimedRun(const ClaimedDevice& claimed, int index, PassThreads threads, const JobOptions& options)
      : claimed_(claimed), index_(index), threads_(threads), options_(options) {}

  void warm_up() {
    if (claimed_.info.host) {
      team_.emplace(threads_.host);
    } else if (!claimed_.info.simulated) {
      bind_this_thread_near(claimed_.info);
      timed_.emplace(claimed_.info);
      timed_->context.bind();
    }
    if (runs()) (void)run();
  }

  /// Runs the work once. Returns seconds per unit.
  double time() {
    if (!runs()) return simulated_seconds();
    const auto start = std::chrono::steady_clock::now();
    const std::int64_t units = run();
    // The clock may not advance during a short run.
    return std::max(seconds_since(start), 1e-9) / static_cast<double>(units);
  }

 private:
  [[nodiscard]] bool runs() const { return !claimed_.info.simulated || options_.measure_on_host; }

  /// Time per unit by the specification, in arbitrary units, multiplied by the number of sharers.
  [[nodiscard]] double simulated_seconds() const {
    return claimed_.sharers / static_cast<double>(score(claimed_.info, ScoreModel::throughput));
  }

  std::int64_t run() {
    if (claimed_.info.host) return run_on_host_threads();
    return checked(claimed_.info.simulated ? run_on_host(threads_.on_simulated(index_, 0, 1, {}))
                                           : run_on_device());
  }

  [[nodiscard]] static std::int64_t checked(std::int64_t units) {
    if (units <= 0)
      throw Error(ErrorCode::job_fault, "the timed run reports " + std::to_string(units) +
                                            " units: JobOptions::measure must compute 1 unit or more");
    return units;
  }

  /// Runs the work once on each host thread. Returns the total number of units.
  std::int64_t run_on_host_threads() {
    std::atomic<std::int64_t> units = 0;
    (void)team_->for_each_block({0, threads_.host}, 1, [&](int thread, Range) {
      units += checked(run_on_host(threads_.on_host(thread, 1, {})));
    });
    return units;
  }

  [[nodiscard]] std::int64_t run_on_host(const HostTile& tile) const {
    std::int64_t units = 0;
    checked_call([&] { units = options_.measure_on_host(tile); });
    return units;
  }

  std::int64_t run_on_device() {
    const DeviceContext& context = timed_->context;
    Tile tile = timed_->own.make_tile({}, {}, index_, context, timed_->buffers,
                                      claimed_.memory_budget_bytes(), nullptr);
    std::int64_t units = 0;
    try {
      checked_call([&] { units = options_.measure(tile); });
    } catch (...) {
      drain(context, tile.stream());
      throw;
    }
    context.synchronize();
    if (tile.failed()) throw Error(ErrorCode::job_fault, tile.reason());
    return units;
  }

  const ClaimedDevice& claimed_;
  int index_;
  PassThreads threads_;
  const JobOptions& options_;
  std::optional<Timed> timed_;
  std::optional<HostTeam> team_;
};

/// Records a device's failure for the vote. A host's failure is fatal, because a job cannot exclude hosts.
void record_failure(Attempt& attempt, const ClaimedDevice& claimed, int device,
                    const std::exception_ptr& thrown) {
  if (claimed.info.host || is_misuse(thrown)) return attempt.fatal(thrown);
  attempt.run([&] {
    Verdict::Failure failure;
    failure.device = device;
    failure.uuid = to_string(claimed.info.uuid);
    failure.stage = "score";
    failure.reason = reason_of(thrown);
    attempt.device_failed(std::move(failure));
  });
}

}  // namespace

Measurable measurable(const mpi::Communicator& comm, const std::vector<ClaimedDevice>& devices,
                      const JobOptions& options) {
  const auto is_scored_by_specification = [&](const ClaimedDevice& device) {
    return device.info.simulated && !options.measure_on_host;
  };
  const auto by_specification = std::ranges::count_if(devices, is_scored_by_specification);
  const bool has_work = options.score_model == ScoreModel::measured && options.measure;
  std::array<std::int32_t, 3> found = {has_work ? 0 : 1, by_specification > 0 ? 1 : 0,
                                       by_specification < std::ssize(devices) ? 1 : 0};
  comm.allreduce(std::span<std::int32_t>(found), mpi::Reduction::max);
  if (found[0] != 0) return Measurable::no;
  return found[1] != 0 && found[2] != 0 ? Measurable::mixed : Measurable::yes;
}

Thrown run_timed(const mpi::Communicator& comm, std::size_t devices, FunctionRef<void(std::size_t)> warm_up,
                 FunctionRef<void(std::size_t)> timed, FunctionRef<void()> progress) {
  Thrown thrown(devices);
  WorkerThreads threads(devices, ParkedThread::host_patience);
  for_each_device(threads, thrown, warm_up, progress);
  const mpi::Purpose purpose(comm, "the beginning of the timed runs");
  comm.barrier();
  for_each_device(threads, thrown, timed, progress);
  return thrown;
}

std::vector<std::uint64_t> measure(const mpi::Communicator& comm, const std::vector<ClaimedDevice>& devices,
                                   PassThreads threads, const JobOptions& options,
                                   const fault::Faults& faults, Attempt& attempt,
                                   FunctionRef<void()> progress) {
  Thrown thrown;
  std::vector<double> seconds(devices.size());
  {
    std::deque<TimedRun> runs;
    for (std::size_t i = 0; i < devices.size(); ++i)
      runs.emplace_back(devices[i], static_cast<int>(i), threads, options);
    thrown = run_timed(
        comm, devices.size(),
        [&](std::size_t i) {
          faults.throw_if_hit(fault::Stage::score, static_cast<int>(i), 0);
          runs[i].warm_up();
        },
        [&](std::size_t i) { seconds[i] = runs[i].time(); }, progress);
  }
  detail::restore_once_cuda_has_started();
  for (std::size_t i = 0; i < devices.size(); ++i)
    if (thrown[i]) record_failure(attempt, devices[i], static_cast<int>(i), thrown[i]);
  auto scores = scores_of(comm, seconds);
  for (std::size_t i = 0; i < devices.size(); ++i)
    scores[i] *= static_cast<std::uint64_t>(std::max(devices[i].sharers, 1));
  return scores;
}

std::vector<std::uint64_t> scores_of(const mpi::Communicator& comm,
                                     std::span<const double> seconds_per_unit) {
  constexpr double never = std::numeric_limits<double>::infinity();
  double fastest = never;
  for (const double seconds : seconds_per_unit)
    if (seconds > 0) fastest = std::min(fastest, seconds);
  fastest = comm.allreduce(fastest, mpi::Reduction::min);
  std::vector<std::uint64_t> scores(seconds_per_unit.size());
  std::ranges::transform(seconds_per_unit, scores.begin(), [&](double seconds) {
    return seconds > 0 ? detail::measured_score(seconds, fastest) : 0;
  });
  return scores;
}

}  // namespace TESSERA_NAMESPACE

// SPDX-License-Identifier: Apache-2.0
#include <tessera/job/balancer.hpp>

#include "job/balance/replan_schedule.hpp"
#include "job/balance/work_estimate.hpp"
#include "job/state.hpp"
#include "mpi/abort.hpp"
#include "topology/remaining_devices.hpp"

#include <tessera/error.hpp>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

namespace TESSERA_NAMESPACE {
namespace {

Speeds speeds_of(const Inventory& inventory, bool on_devices, const std::vector<int>& threads) {
  detail::RemainingDevices devices = detail::remaining_devices(inventory);
  return {.on_devices = on_devices,
          .scores = detail::remaining_scores(devices.scores, devices.excluded),
          .rank_offsets = std::move(devices.rank_offsets),
          .threads = threads};
}

/// Reports that the blocks are too few to balance the devices.
void say_coarse(const CoarsePart& part, const Speeds& speeds, std::int64_t block) {
  std::string who = "rank " + std::to_string(part.device);
  if (speeds.on_devices) {
    const auto next = std::ranges::upper_bound(speeds.rank_offsets, static_cast<std::int64_t>(part.device));
    const auto rank = next - speeds.rank_offsets.begin() - 1;
    who = "device " + std::to_string(static_cast<std::int64_t>(part.device) - *(next - 1)) + " of rank " +
          std::to_string(rank);
  }
  const auto percent = std::lround(100 * (part.imbalance - 1));
  mpi::detail::say("the Balancer has too few blocks to measure the speeds of devices: " + who + " has " +
                   std::to_string(part.blocks) + " of " + std::to_string(block) +
                   (block == 1 ? " unit" : " units") + ", and the slowest takes " + std::to_string(percent) +
                   " % longer than the mean: plan at least " + std::to_string(WorkEstimate::enough_blocks) +
                   " blocks per device");
}

}  // namespace

struct Balancer::State {
  Job::State& job;
  Plan plan;
  BalancerOptions options;
  ReplanSchedule schedule{options.iterations, options.gain};
  std::shared_ptr<PassTimes> times{};
  WorkEstimate work{};
  std::vector<double> shortest{};  ///< shortest times of this rank's parts over the iterations of `schedule`
  bool on_devices = false;         ///< whether `shortest` has times of devices
  bool said = false;               ///< whether `say_coarse` was called

  /// Makes `other` the plan; returns the old plan.
  Plan replace(Plan other) {
    std::swap(plan, other);
    schedule.begin_next();
    times = job.timers.watch(plan);
    return other;
  }

  [[nodiscard]] Speeds speeds() const { return speeds_of(job.inventory, on_devices, job.threads_of_ranks); }

  /// Records the times of an iteration. True if a better plan is to be sought. False if no pass was measured.
  bool take_iteration() {
    if (std::exchange(times->passes, 0) == 0) return false;
    if (std::exchange(on_devices, times->on_devices) != times->on_devices) {
      schedule = {options.iterations, options.gain};
      work = {};
    }
    const std::vector<double>& seconds = times->seconds;
    if (schedule.measured() == 0) shortest = seconds;
    for (std::size_t i = 0; i < seconds.size(); ++i) shortest[i] = std::min(shortest[i], seconds[i]);
    return schedule.take_iteration();
  }
};

Balancer::Balancer(Job& job, Plan plan, BalancerOptions options) {
  if (options.iterations < 1 || !(options.gain >= 1))
    throw Error(ErrorCode::usage, "a Balancer cannot have " + std::to_string(options.iterations) +
                                      " iterations and a gain of " + std::to_string(options.gain) +
                                      ": give 1 or more of each");
  // NOLINTNEXTLINE(modernize-make-unique): Clang 14 cannot make_unique an aggregate
  state_.reset(new State{job.state(), std::move(plan), options});
  state_->times = state_->job.timers.watch(state_->plan);
}
Balancer::~Balancer() = default;

const Plan& Balancer::plan() const noexcept {
  return state_->plan;
}

std::optional<Plan> Balancer::rebalance() {
  State& its = *state_;
  its.job.require_thread();
  if (its.job.is_outdated(its.plan)) {
    std::optional<Plan> other = its.on_devices ? its.work.plan_over(its.speeds(), its.plan) : std::nullopt;
    return its.replace(other ? std::move(*other) : replanned(its.plan, its.job.remaining));
  }
  if (!its.take_iteration()) return std::nullopt;
  if (its.on_devices != its.job.runs_on_devices(its.plan)) {  // the job has fallen back to the CPU
    its.schedule = {its.options.iterations, its.options.gain};
    return std::nullopt;
  }
  const mpi::Purpose purpose(its.job.comm, "the balancing of a plan");
  const auto seconds = its.job.comm.allgatherv(std::span<const double>(its.shortest));
  const Speeds speeds = its.speeds();
  BalancedPlan better = its.work.balance(its.plan, speeds, seconds);
  if (its.schedule.replaces(better) && better.plan.fingerprint() != its.plan.fingerprint())
    return its.replace(std::move(better.plan));
  if (its.schedule.measured() == 0 && !its.said && its.job.comm.rank() == 0 &&
      mpi::detail::CommunicatorAccess::owns_process(its.job.comm)) {
    const auto coarse =
        WorkEstimate::coarse_part(its.plan, speeds, seconds, its.options.gain * its.options.gain);
    if (coarse) say_coarse(*coarse, speeds, its.plan.block());
    its.said = coarse.has_value();
  }
  return std::nullopt;
}

}  // namespace TESSERA_NAMESPACE

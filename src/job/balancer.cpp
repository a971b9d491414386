// SPDX-License-Identifier: Apache-2.0
#include <tessera/job/balancer.hpp>

#include "job/balance/work_estimate.hpp"
#include "job/state.hpp"
#include "topology/remaining_devices.hpp"

#include <tessera/error.hpp>

#include <algorithm>
#include <utility>

namespace tessera::inline TESSERA_ABI {
namespace {

Speeds speeds_of(const Inventory& inventory, bool on_devices, const std::vector<int>& threads) {
  detail::RemainingDevices devices = detail::remaining_devices(inventory);
  return {.on_devices = on_devices,
          .scores = detail::remaining_scores(devices.scores, devices.excluded),
          .rank_offsets = std::move(devices.rank_offsets),
          .threads = threads};
}

}  // namespace

struct Balancer::State {
  Job::State& job;
  Plan plan;
  BalancerOptions options;
  std::shared_ptr<PassTimes> times{};
  WorkEstimate work{};
  std::vector<double> shortest{};  ///< of this rank's parts, over the iterations since the last judgement
  int iterations = 0;
  bool on_devices = false;  ///< where they were computed

  void watch() {
    times = std::make_shared<PassTimes>();
    times->plan = plan.fingerprint();
    job.watched.push_back(times);
  }

  /// Returns the plan that was left.
  Plan leave_for(Plan other) {
    std::swap(plan, other);
    iterations = 0;
    watch();
    return other;
  }

  /// Takes the times of an iteration. False if it had no pass.
  bool take_iteration() {
    if (std::exchange(times->passes, 0) == 0) return false;
    if (std::exchange(on_devices, times->on_devices) != times->on_devices) {
      iterations = 0;
      work = {};
    }
    const std::vector<double>& seconds = times->seconds;
    if (iterations++ == 0) shortest = seconds;
    for (std::size_t i = 0; i < seconds.size(); ++i) shortest[i] = std::min(shortest[i], seconds[i]);
    return true;
  }
};

Balancer::Balancer(Job& job, Plan plan, BalancerOptions options) {
  if (options.iterations < 1 || !(options.gain >= 1))
    throw Error(ErrorCode::usage, "a balancer of " + std::to_string(options.iterations) +
                                      " iterations and a gain of " + std::to_string(options.gain) +
                                      ": give 1 or more of each");
  // NOLINTNEXTLINE(modernize-make-unique): an aggregate, which Clang 14 does not make so
  state_.reset(new State{job.state(), std::move(plan), options});
  state_->watch();
}
Balancer::~Balancer() = default;

const Plan& Balancer::plan() const noexcept {
  return state_->plan;
}

std::optional<Plan> Balancer::rebalance() {
  State& its = *state_;
  its.job.require_thread();
  if (its.job.is_outdated(its.plan)) return its.leave_for(replanned(its.plan, its.job.remaining));
  if (!its.take_iteration() || its.iterations < its.options.iterations) return std::nullopt;
  its.iterations = 0;
  if (its.on_devices != its.job.runs_on_devices(its.plan)) return std::nullopt;  // a fallback since then
  const mpi::Purpose purpose(its.job.comm, "the balancing of a plan");
  const auto seconds = its.job.comm.allgatherv(std::span<const double>(its.shortest));
  BalancedPlan better = its.work.balance(
      its.plan, speeds_of(its.job.inventory, its.on_devices, its.job.threads_of_ranks), seconds);
  if (better.gain < its.options.gain || better.plan.fingerprint() == its.plan.fingerprint())
    return std::nullopt;
  return its.leave_for(std::move(better.plan));
}

}  // namespace tessera::inline TESSERA_ABI

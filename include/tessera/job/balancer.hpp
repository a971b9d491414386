// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/job/job.hpp>
#include <tessera/partition/plan.hpp>
#include <tessera/version.hpp>

#include <memory>
#include <optional>

namespace TESSERA_NAMESPACE {

/// When a `Balancer` leaves a plan: the same on every rank.
struct BalancerOptions {
  /// Iterations that are measured before a plan is judged, at least 1. The shortest time of each device
  /// counts, since noise, and a device's start in its first pass, only add to times. Until a plan has passed
  /// such a judgement, plans are judged after fewer iterations, from the second iteration on, so that a large
  /// first step does not wait.
  int iterations = 3;
  /// The plan is left if the new one is expected to reduce the time of the slowest device, or its ratio to
  /// the mean of all devices, by this factor: a smaller gain does not pay for moving the data, and may be
  /// noise. If the new plan might be worse, because the work of the units that move is not well known, the
  /// gain must exceed 1 by 1.5 times as much, and after a single iteration of several by 3 times as much.
  double gain = 1.05;
};

/// Balances the work of a loop by the measured times of its passes.
///
///     tessera::Balancer balancer(job, job.plan(n, 64));
///     std::vector<double> state = load(job.local_range(balancer.plan()));
///     while (!done) {
///       job.scatter(balancer.plan(), state, on_device, on_host);
///       if (const auto left = balancer.rebalance()) state = job.move(state, *left, balancer.plan());
///     }
///
/// The times under the last plans determine the work of units and the speeds of devices together: a slow part
/// may be due to the device or to heavy units, and blocks that change devices tell which. The first step
/// assumes equal units and wrong scores, and later ones correct that. If work changes, it is estimated anew.
///
/// If the work does not change between passes and each device ends up with at least 200 blocks, the longest
/// time of a device divided by the mean is at most 1.05 after five passes if units are alike, and 1.10 after
/// ten if not, for scores that are wrong by up to a factor of ten each; later it rises by no more than noise
/// and 0.02. This held in all but some thousandths of simulated jobs of up to 16 devices, with noise up to 5
/// %. If the work of neighbouring units jumps by a factor of a hundred, one job in twenty takes more passes.
/// With fewer blocks times may stay uneven: the job's first rank then says so once, on standard error.
///
/// After a fallback the hosts are balanced in the same way. A plan with a device that the job has left out
/// (`OnDeviceFailure::exclude`) is left at once, without a measurement, by the estimates for the others.
/// Results have the same bits under any plan, as always; the plans themselves differ from run to run, since
/// times do.
///
/// Passes over other plans are not measured, nor are those only on hosts in a job with devices. The job must
/// outlive its balancers. Not thread-safe.
class TESSERA_EXPORT Balancer {
 public:
  /// Throws `Error(usage)` unless `iterations` is at least 1 and `gain` is 1 or more.
  Balancer(Job& job, Plan plan, BalancerOptions options = {});
  ~Balancer();
  Balancer(const Balancer&) = delete;
  Balancer& operator=(const Balancer&) = delete;

  /// The plan to use now; the same on every rank.
  [[nodiscard]] const Plan& plan() const noexcept;

  /// *Collective.* Ends an iteration, of any number of passes over `plan()`. If another plan pays, it becomes
  /// `plan()`, and the old one is returned: move the data, by `Job::move`. Cost: nothing in most iterations;
  /// one allgather in each that judges, and, unless the times are those of the last judgement, arithmetic of
  /// O(devices): some milliseconds for ten devices, half a second for a thousand.
  [[nodiscard]] std::optional<Plan> rebalance();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace TESSERA_NAMESPACE

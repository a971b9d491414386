// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/job/job.hpp>
#include <tessera/partition/plan.hpp>
#include <tessera/version.hpp>

#include <memory>
#include <optional>

namespace TESSERA_NAMESPACE {

/// When a `Balancer` replaces its plan. The options must be the same on every rank.
struct BalancerOptions {
  /// Number of iterations after which the current plan is compared with a better one, at least 1. For each
  /// device the shortest time counts, because noise and start-up only add to times. The first plan is also
  /// compared after its second and each further early iteration, later plans after each early iteration, so
  /// that a large imbalance is corrected early.
  int iterations = 3;
  /// Minimum gain of a new plan, 1 or more: the factor by which it is expected to reduce the time of the
  /// slowest device, or the ratio of that time to the mean over all devices. A smaller gain may be noise, and
  /// does not pay for moving the data. If the work of the units that move is uncertain, the minimum is
  /// 1 + 1.5 (gain - 1); if only one of several iterations has been measured, it is 1 + 3 (gain - 1).
  double gain = 1.05;
};

/// Dynamic load balancing: repartitions the units of a loop by the measured times of its passes.
///
///     tessera::Balancer balancer(job, job.plan(n, 64));
///     std::vector<double> state = load(job.local_range(balancer.plan()));
///     while (!done) {
///       job.scatter(balancer.plan(), state, on_device, on_host);
///       if (const auto left = balancer.rebalance()) state = job.move(state, *left, balancer.plan());
///     }
///
/// The speed of each device and the work of each unit are estimated together, from the times under the last
/// plans. A tile is slow because of its device or because its units need more work; the times of blocks that
/// move to another device distinguish the two causes. The first new plan assumes units of equal work and
/// wrong scores; later plans correct this. If the work of units changes, it is estimated anew.
///
/// *Accuracy*: the imbalance is the longest time of a device divided by the mean time. If the work is
/// constant and each device has at least 200 blocks, the imbalance is at most 1.05 after five passes over
/// units of equal work, and 1.10 after ten passes otherwise, for scores that are wrong by up to a factor of
/// ten. Later the imbalance exceeds these limits by at most 0.02 plus the noise. This held in all but some
/// thousandths of simulated jobs of up to 16 devices, with noise up to 5 %. If the work of neighbouring units
/// differs by a factor of a hundred, one job in twenty takes more passes. With fewer blocks an imbalance may
/// remain: rank 0 then says so once, on standard error.
///
/// After a fallback the hosts are balanced in the same way. A plan with an excluded device
/// (`OnDeviceFailure::exclude`) is replaced at once, by the estimates for the remaining devices, without a
/// measurement. Plans differ from run to run, because times do; results have the same bits under any plan.
///
/// Passes over other plans are not measured, and neither are host-only passes over a plan for devices, unless
/// the job has fallen back. The job must outlive its balancers. Not thread-safe.
class TESSERA_EXPORT Balancer {
 public:
  /// Throws `Error(usage)` unless `iterations` is at least 1 and `gain` is 1 or more.
  Balancer(Job& job, Plan plan, BalancerOptions options = {});
  ~Balancer();
  Balancer(const Balancer&) = delete;
  Balancer& operator=(const Balancer&) = delete;

  /// The plan to use now; the same on every rank.
  [[nodiscard]] const Plan& plan() const noexcept;

  /// *Collective.* Ends an iteration, which may consist of any number of passes over `plan()`. If a new plan
  /// has enough gain (`BalancerOptions::gain`), it becomes `plan()`, and the old plan is returned: move the
  /// data from the old plan to the new one by `Job::move`. Cost: nothing in most iterations; a comparison of
  /// plans costs one allgather and, if times have changed since the last comparison, O(devices) arithmetic:
  /// some milliseconds for ten devices, half a second for a thousand.
  [[nodiscard]] std::optional<Plan> rebalance();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace TESSERA_NAMESPACE

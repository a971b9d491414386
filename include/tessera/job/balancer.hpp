// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/job/job.hpp>
#include <tessera/partition/plan.hpp>
#include <tessera/version.hpp>

#include <memory>
#include <optional>

namespace tessera::inline TESSERA_ABI {

/// When a `Balancer` leaves a plan: the same on every rank.
struct BalancerOptions {
  /// Iterations that are measured before a plan is judged, at least 1. Of each device the shortest time
  /// counts: noise, and the start of a device in its first pass, only add to times.
  int iterations = 3;
  /// The plan is left if the slowest device is expected to take less time by this factor under the new one: a
  /// smaller gain does not pay the movement of data, and may be noise.
  double gain = 1.1;
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
/// A device that took t seconds for its tile is taken to have done work of t times its score, in equal parts
/// by the units of the tile; the plan by these weights (`Plan`) gives every device the same time. Where units
/// of a tile differ, or scores are wrong by a factor of two, a few steps get there; scores that are more
/// wrong beside work that grows steeply may not settle: measure them (`ScoreModel::measured`). After a
/// fallback the hosts are balanced in the same way. A plan with a device that the job has left out
/// (`OnDeviceFailure::exclude`) is left at once, without a measurement. Results have the same bits under any
/// plan, as always; the plans themselves differ from run to run, since times do.
///
/// Passes over other plans are not measured, nor those on hosts alone in a job with devices. The job must
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

  /// *Collective.* Ends an iteration, of any number of passes over `plan()`. Where another plan pays,
  /// `plan()` becomes that one, and the plan that was left is returned: move the data, by `Job::move`. Cost:
  /// nothing in most iterations; one allgather, and arithmetic of O(devices), in each that judges.
  [[nodiscard]] std::optional<Plan> rebalance();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace tessera::inline TESSERA_ABI

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/job/job.hpp>
#include <tessera/partition/plan.hpp>
#include <tessera/version.hpp>

#include <memory>
#include <optional>

namespace TESSERA_NAMESPACE {

/// When a `Balancer` replaces its plan: the same on every rank.
struct BalancerOptions {
  /// Iterations that are measured before a plan is judged, at least 1. The shortest time of each device
  /// counts, since noise and the start of a device only add to times. Until a first plan is kept after such a
  /// judgement, plans are judged from the second iteration on, so that a large first correction comes early.
  int iterations = 3;
  /// The plan is replaced if a new one is expected to reduce the time of the slowest device, or the ratio of
  /// that time to the mean of all devices, by this factor: a smaller gain may be noise, and does not pay for
  /// moving the data. More is demanded of a plan that might be worse because the work of the units that move
  /// is not well known: the factor 1 + 1.5 (gain - 1); and if only one of several iterations was measured
  /// yet, 1 + 3 (gain - 1).
  double gain = 1.05;
};

/// Load balancing: divides the work of a loop by the measured times of its passes.
///
///     tessera::Balancer balancer(job, job.plan(n, 64));
///     std::vector<double> state = load(job.local_range(balancer.plan()));
///     while (!done) {
///       job.scatter(balancer.plan(), state, on_device, on_host);
///       if (const auto left = balancer.rebalance()) state = job.move(state, *left, balancer.plan());
///     }
///
/// The times under the last plans determine the work of units and the speeds of devices together: a tile is
/// slow because of its device or because of heavy units, and the times of blocks that move to another device
/// tell which. The first new plan assumes equal units and wrong scores; later plans correct this. If the
/// work of units changes, it is estimated anew.
///
/// If the work does not change between passes and each device ends up with at least 200 blocks, the longest
/// time of a device divided by the mean is at most 1.05 after five passes if units are alike, and 1.10 after
/// ten if not, for scores that are wrong by up to a factor of ten each; later it rises by no more than noise
/// and 0.02. This held in all but some thousandths of simulated jobs of up to 16 devices, with noise up to 5
/// %. If the work of neighbouring units jumps by a factor of a hundred, one job in twenty takes more passes.
/// With fewer blocks times may stay uneven: the job's first rank then says so once, on standard error.
///
/// After a fallback the hosts are balanced in the same way. A plan with a device that the job has left out
/// (`OnDeviceFailure::exclude`) is replaced at once, by the estimates for the remaining devices, without a
/// measurement. Results have the same bits under any plan, as always; the plans themselves differ from run to
/// run, since times do.
///
/// Passes over other plans are not measured, and neither are host-only passes of a job with devices. The job
/// must outlive its balancers. Not thread-safe.
class TESSERA_EXPORT Balancer {
 public:
  /// Throws `Error(usage)` unless `iterations` is at least 1 and `gain` is 1 or more.
  Balancer(Job& job, Plan plan, BalancerOptions options = {});
  ~Balancer();
  Balancer(const Balancer&) = delete;
  Balancer& operator=(const Balancer&) = delete;

  /// The plan to use now; the same on every rank.
  [[nodiscard]] const Plan& plan() const noexcept;

  /// *Collective.* Ends an iteration, of any number of passes over `plan()`. If another plan pays
  /// (`BalancerOptions::gain`), it becomes `plan()`, and the old plan is returned: move the data from the
  /// old plan to the new one by `Job::move`. Cost: nothing in most iterations; an iteration that judges the
  /// plan costs one allgather and, if times have changed since the last judgement, O(devices) arithmetic:
  /// some milliseconds for ten devices, half a second for a thousand.
  [[nodiscard]] std::optional<Plan> rebalance();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace TESSERA_NAMESPACE

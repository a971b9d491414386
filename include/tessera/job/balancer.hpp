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
  /// Iterations that are measured before a plan is judged, at least 1. Of each device the shortest time
  /// counts: noise, and the start of a device in its first pass, only add to times. A plan that has not
  /// passed such a judgement yet is judged after fewer iterations too, from the second of all on: a first
  /// large step does not wait.
  int iterations = 3;
  /// The plan is left if the slowest device is expected to take less time by this factor under the new one,
  /// or less by it in proportion to the mean of all: a smaller gain does not pay the movement of data, and
  /// may be noise. Where the new plan might be worse, because the work of units that move is not known
  /// well, 1.5 times what is above 1 is required, and after a single iteration of several 3 times.
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
/// The times of the last plans determine the work of units and the speeds of devices together: a device that
/// takes long may be slow, or have heavy units, and blocks that change devices tell which. The first step
/// takes units to be alike and the scores to be wrong; if that is not so, it shows. Work that changes is
/// learned anew.
///
/// If work does not change between passes and each device has 200 blocks or more in the end, the longest time
/// of a device by the mean of all is 1.05 or less after five passes where units are alike, and 1.10 after ten
/// where they are not, for scores that are wrong by up to ten times each, and does not rise after that by
/// more than noise and 0.02. So it was in all but some thousandths of simulated jobs of up to 16 devices,
/// with noise up to 5 %. Where the work of neighbouring units jumps by a factor of a hundred, one job in
/// twenty takes more passes. With fewer blocks times may stay uneven: then the job's first rank says so on
/// standard error, once.
///
/// After a fallback the hosts are balanced in the same way. A plan with a device that the job has left out
/// (`OnDeviceFailure::exclude`) is left at once, without a measurement, by what is known of the others.
/// Results have the same bits under any plan, as always; the plans themselves differ from run to run, since
/// times do.
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
  /// nothing in most iterations; one allgather in each that judges, and, unless the times are those of the
  /// last judgement, arithmetic of O(devices): some milliseconds for ten devices, half a second for a
  /// thousand.
  [[nodiscard]] std::optional<Plan> rebalance();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace TESSERA_NAMESPACE

// SPDX-License-Identifier: Apache-2.0
#include <tessera/job/balancer.hpp>

#include "job/job_access.hpp"
#include "job/state.hpp"
#include "mpi/job/job_testing.hpp"

#include <tessera/error.hpp>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

namespace tessera::testing {
namespace {

/// The value of each unit of this rank after a number of steps.
std::vector<std::int64_t> units_after(int steps, const Job& job, const Plan& plan) {
  std::vector<std::int64_t> units;
  const Range mine = job.local_range(plan);
  for (std::int64_t unit = mine.begin; unit < mine.end; ++unit) units.push_back(7 * unit + steps);
  return units;
}

/// Work of a unit: the first tenth of all is a thousand times the rest.
void spin(std::int64_t unit, std::int64_t units) {
  volatile double sum = 0;
  for (int i = 0; i < (unit < units / 10 ? 100'000 : 100); ++i) sum = sum + i;
}

/// Iterates over units that move, and fails if one is wrong. Returns the number of moves.
int iterate(Job& job, Balancer& balancer, int iterations) {
  const std::int64_t units = balancer.plan().units();
  auto mine = units_after(0, job, balancer.plan());
  int moves = 0;
  for (int step = 1; step <= iterations; ++step) {
    job.scatter(balancer.plan(), mine, no_real_device,
                [&](const HostTile& tile, std::span<std::int64_t> part) {
                  for (std::int64_t unit = tile.range.begin; unit < tile.range.end; ++unit) spin(unit, units);
                  for (std::int64_t& value : part) ++value;
                });
    if (const auto left = balancer.rebalance()) {
      ++moves;
      EXPECT_NE(left->fingerprint(), balancer.plan().fingerprint());
      mine = job.move(mine, *left, balancer.plan());
    }
    expect_same_on_all_ranks(job.comm(), std::to_string(balancer.plan().fingerprint()));
    EXPECT_EQ(mine, units_after(step, job, balancer.plan()));
  }
  return moves;
}

TEST(Balancer, MovesUnevenWorkAndKeepsEveryUnit) {
  const ScopedVariable simulate("TESSERA_SIMULATE", "*:2xH200");
  Job job(world(), with_threads(1));
  Balancer balancer(job, job.plan(2000, 10), {.iterations = 2});
  EXPECT_GE(iterate(job, balancer, 8), 1);
  EXPECT_TRUE(balancer.plan().on_devices());
  EXPECT_EQ(job.last_verdict().ran, Verdict::Ran::devices);
}

TEST(Balancer, LeavesNoPlanForASmallerGainThanAskedFor) {
  const ScopedVariable simulate("TESSERA_SIMULATE", "*:2xH200");
  Job job(world(), with_threads(1));
  Balancer balancer(job, job.plan(2000, 10), {.iterations = 1, .gain = 1e9});
  EXPECT_EQ(iterate(job, balancer, 3), 0);
}

TEST(Balancer, GoesOnWithTheHostsAfterAFallback) {
  const ScopedVariable simulate("TESSERA_SIMULATE", "*:H200");
  const ScopedVariable fault("TESSERA_FAULT", "throw@rank0.device0:pass4");
  Job job(world(), with_threads(1));
  Balancer balancer(job, job.plan(2000), {.iterations = 1, .gain = 1});
  (void)iterate(job, balancer, 8);
  EXPECT_EQ(job.last_verdict().ran, Verdict::Ran::fallback);
}

/// Iterates over equal units on equal devices, whatever their declared speeds; times come from a model.
/// Returns the longest time of a device divided by the mean, for each pass.
std::vector<double> iterate_by_model(Job& job, Balancer& balancer, int iterations) {
  std::vector<double> ratios;
  const auto units_on_each = [&] {
    std::vector<double> seconds;
    for (const PlannedTile& tile : balancer.plan().tiles())
      seconds.push_back(1e-3 * static_cast<double>(tile.units.size()));
    return seconds;
  };
  for (int step = 1; step <= iterations; ++step) {
    (void)reduce_units(job, balancer.plan());
    const auto all = units_on_each();
    ratios.push_back(*std::ranges::max_element(all) * static_cast<double>(job.inventory().devices().size()) /
                     std::reduce(all.begin(), all.end()));
    for (const auto& times : detail::JobAccess::state(job).timers.of(balancer.plan())) {
      times->seconds.clear();
      for (const PlannedTile& tile : balancer.plan().tiles_of(job.comm().rank()))
        times->seconds.push_back(1e-3 * static_cast<double>(tile.units.size()));
    }
    (void)balancer.rebalance();
    expect_same_on_all_ranks(job.comm(), std::to_string(balancer.plan().fingerprint()));
  }
  return ratios;
}

TEST(Balancer, LearnsThatDevicesAreNotAsFastAsDeclared) {
  for (const char* declared : {"*:H200+T4", "*:A100+T4", "*:H200+L40S", "*:H200+V100", "*:T4+H200+A100"}) {
    SCOPED_TRACE(declared);
    const ScopedVariable simulate("TESSERA_SIMULATE", declared);
    Job job(world(), with_threads(1));
    const auto devices = std::ssize(job.inventory().devices());
    Balancer balancer(job, job.plan(4 * 200 * devices, 4));
    const std::vector<double> ratios = iterate_by_model(job, balancer, 12);
    EXPECT_GT(ratios[0], 1.2);
    for (std::size_t pass = 4; pass < ratios.size(); ++pass) EXPECT_LE(ratios[pass], 1.05);
  }
}

TEST(Balancer, SaysOnceThatBlocksAreTooFew) {
  const ScopedVariable simulate("TESSERA_SIMULATE", "*:H200+T4");
  Job job(world(), with_threads(1));
  const auto devices = std::ssize(job.inventory().devices());
  Balancer balancer(job, job.plan(1000 * devices - 500, 1000));  // fewer blocks than would be even
  ::testing::internal::CaptureStderr();
  (void)iterate_by_model(job, balancer, 12);
  const std::string said = ::testing::internal::GetCapturedStderr();
  const auto lines = std::ranges::count(said, '\n');
  EXPECT_EQ(lines, job.comm().rank() == 0 ? 1 : 0) << said;
  if (job.comm().rank() == 0) {
    EXPECT_NE(said.find("too few blocks"), std::string::npos) << said;
  }
}

TEST(Balancer, JudgesOnlyWhatItWasAskedToMeasure) {
  const ScopedVariable simulate("TESSERA_SIMULATE", "*:2xH200");
  Job job(world(), with_threads(1));
  const Plan plan = job.plan(1000);
  Balancer balancer(job, plan, {.iterations = 1, .gain = 1});
  EXPECT_FALSE(balancer.rebalance()) << "there was no pass";
  (void)reduce_units(job, job.plan(999));
  EXPECT_FALSE(balancer.rebalance()) << "a pass over another plan";
  (void)job.reduce(plan, 1, host_only,
                   [](const HostTile& tile, std::span<double>) { spin(tile.range.begin, 1000); });
  EXPECT_FALSE(balancer.rebalance()) << "a pass on hosts alone";
  EXPECT_EQ(balancer.plan().fingerprint(), plan.fingerprint());
  EXPECT_THROW(Balancer(job, plan, {.iterations = 0}), Error);
  EXPECT_THROW(Balancer(job, plan, {.gain = 0.9}), Error);
}

}  // namespace
}  // namespace tessera::testing

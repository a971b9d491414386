// SPDX-License-Identifier: Apache-2.0
// Rebalancing against a model of the work: times are computed, none is measured.
#include "job/balance/work_estimate.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

namespace tessera {
namespace {

Speeds devices(std::vector<std::uint64_t> scores) {
  Speeds speeds{.on_devices = true, .scores = std::move(scores), .rank_offsets = {}, .threads = {}};
  speeds.rank_offsets.resize(speeds.scores.size() + 1);  // one device a rank
  std::iota(speeds.rank_offsets.begin(), speeds.rank_offsets.end(), 0);
  return speeds;
}

Plan first_plan(std::int64_t units, const Speeds& speeds, std::int64_t block = 1) {
  return speeds.on_devices ? Plan::over_devices(units, speeds.scores, speeds.rank_offsets, block)
                           : Plan::over_hosts(units, speeds.threads, block);
}

/// What a unit costs, and how fast each part's device or host really is.
struct Truth {
  std::vector<double> costs;
  std::vector<double> speeds;

  [[nodiscard]] std::vector<double> seconds(const Plan& plan, const Speeds& believed) const {
    std::vector<double> seconds;
    for (const PlanPart& part : parts_of(plan, believed))
      seconds.push_back(std::reduce(costs.begin() + part.units.begin, costs.begin() + part.units.end) /
                        speeds[seconds.size()]);
    return seconds;
  }
};

double max_to_mean(const std::vector<double>& seconds) {
  const double mean = std::reduce(seconds.begin(), seconds.end()) / static_cast<double>(seconds.size());
  return *std::ranges::max_element(seconds) / mean;
}

/// Costs that grow with the fourth power of the unit: of five equal shares the last has 3.4 times the mean.
std::vector<double> growing_costs(std::int64_t units) {
  std::vector<double> costs;
  for (std::int64_t unit = 0; unit < units; ++unit)
    costs.push_back(0.01 + std::pow(static_cast<double>(unit) / static_cast<double>(units), 4));
  return costs;
}

struct Balance {
  int moves = 0;
  double max_to_mean = 0;  ///< under the plan that is not left any more
};

/// Leaves plans as long as that makes the slowest part faster by 1.1, as a `Balancer` does.
Balance balance(const Truth& truth, const Speeds& believed, Plan plan) {
  WorkEstimate work;
  for (int moves = 0;; ++moves) {
    const auto seconds = truth.seconds(plan, believed);
    BalancedPlan better = work.balance(plan, believed, seconds);
    if (better.gain < 1.1 || moves == 20) return {moves, max_to_mean(seconds)};
    plan = std::move(better.plan);
  }
}

TEST(WorkEstimate, UnevenWorkIsEvenAfterAFewMoves) {
  const Truth truth{growing_costs(10'000), {1, 1, 1, 1, 1}};
  const Speeds equal = devices({1, 1, 1, 1, 1});
  for (const std::int64_t block : {1, 16}) {
    const Plan by_counts = first_plan(10'000, equal, block);
    EXPECT_GT(max_to_mean(truth.seconds(by_counts, equal)), 2.9);
    const Balance even = balance(truth, equal, by_counts);
    EXPECT_LE(even.max_to_mean, 1.15) << "blocks of " << block;
    EXPECT_LE(even.moves, 4) << "blocks of " << block;
  }
}

TEST(WorkEstimate, WrongScoresAreMadeUpFor) {
  const Truth slow_second{std::vector<double>(10'000, 1), {1, 0.4, 1, 1, 1}};
  const Speeds equal = devices({1, 1, 1, 1, 1});
  const Balance even = balance(slow_second, equal, first_plan(10'000, equal));
  EXPECT_LE(even.max_to_mean, 1.15);
  EXPECT_LE(even.moves, 6);
  const Truth both{growing_costs(10'000), {1, 2, 3, 1, 1.2}};
  const Speeds rough = devices({1, 2, 2, 1, 1});
  const Balance rough_even = balance(both, rough, first_plan(10'000, rough));
  EXPECT_LE(rough_even.max_to_mean, 1.15);
  EXPECT_LE(rough_even.moves, 8);
}

TEST(WorkEstimate, DoesNotSwingWhereScoresAreWrongByAFactorOfTwo) {
  std::mt19937_64 random(7);
  for (int round = 0; round < 300; ++round) {
    Truth truth{{}, {}};
    std::vector<std::uint64_t> scores;
    for (std::uint64_t device = 0; device < 2 + random() % 15; ++device) {
      scores.push_back(100 * (1 + random() % 4));
      const double wrong = std::exp2(static_cast<double>(random() % 2001) / 1000 - 1);  // 0.5 to 2
      truth.speeds.push_back(static_cast<double>(scores.back()) * wrong);
    }
    const auto slope = static_cast<double>(random() % 6);
    for (int unit = 1; unit <= 20'000; ++unit) truth.costs.push_back(0.01 + std::pow(unit / 20'000.0, slope));
    if (random() % 2 == 0) std::ranges::reverse(truth.costs);
    const Speeds speeds = devices(scores);
    const Balance even = balance(truth, speeds, first_plan(20'000, speeds));
    EXPECT_LE(even.moves, 15) << "round " << round;
    EXPECT_LE(even.max_to_mean, 1.35) << "round " << round;
  }
}

TEST(WorkEstimate, HostsAreBalancedByTheirThreads) {
  const Speeds hosts{.on_devices = false, .scores = {}, .rank_offsets = {}, .threads = {4, 1, 2}};
  const Truth truth{growing_costs(5'000), {4, 1, 2}};
  const Plan plan = first_plan(5'000, hosts);
  EXPECT_GT(max_to_mean(truth.seconds(plan, hosts)), 1.5);
  const Balance even = balance(truth, hosts, plan);
  EXPECT_LE(even.max_to_mean, 1.15);
  EXPECT_LE(even.moves, 4);
  EXPECT_FALSE(WorkEstimate().balance(plan, hosts, truth.seconds(plan, hosts)).plan.on_devices());
}

TEST(WorkEstimate, NoiseOfAFewPerCentIsNoGain) {
  const Speeds speeds = devices({3, 1, 2, 2, 5});
  const Plan plan = first_plan(100'000, speeds);
  std::mt19937_64 random(3);
  for (int round = 0; round < 1000; ++round) {
    std::vector<double> seconds;
    for (std::size_t part = 0; part < plan.tiles().size(); ++part)
      seconds.push_back(1 + 0.08 * static_cast<double>(random() % 1000) / 1000);
    EXPECT_LT(WorkEstimate().balance(plan, speeds, seconds).gain, 1.1);
  }
}

TEST(WorkEstimate, TheGainIsThatOfTheModel) {
  const Speeds speeds = devices({1, 1});
  const Plan plan = first_plan(1200, speeds);
  // The first half took 3 s, the second 1 s: 800 units at the second's end take as long as 400 of the first.
  const BalancedPlan better = WorkEstimate().balance(plan, speeds, std::vector<double>{3, 1});
  EXPECT_EQ(better.plan.range_of(0), (Range{0, 400}));
  EXPECT_DOUBLE_EQ(better.gain, 1.5);
  // One block can not be cut, whatever it costs.
  const Plan coarse = first_plan(1200, speeds, 600);
  EXPECT_EQ(WorkEstimate().balance(coarse, speeds, std::vector<double>{1.5, 1}).gain, 1);
}

TEST(WorkEstimate, AClockThatStoodStillIsNoWork) {
  const Speeds speeds = devices({1, 1, 1});
  const Plan plan = first_plan(9, speeds);
  EXPECT_EQ(WorkEstimate().balance(plan, speeds, std::vector<double>{0, 0, 0}).plan.fingerprint(),
            plan.fingerprint());
}

}  // namespace
}  // namespace tessera

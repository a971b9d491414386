// SPDX-License-Identifier: Apache-2.0
// Rebalancing with a model of the work: times are computed, not measured.
#include "job/balance/work_estimate.hpp"
#include "job/balance/replan_schedule.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <numeric>
#include <optional>
#include <random>
#include <string>

namespace tessera {
namespace {

/// `of_rank` devices on each rank, except the last.
Speeds devices(std::vector<std::uint64_t> scores, std::size_t of_rank = 1) {
  Speeds speeds{.on_devices = true, .scores = std::move(scores), .rank_offsets = {0}, .threads = {}};
  for (std::size_t device = 0; device < speeds.scores.size();)
    speeds.rank_offsets.push_back(
        static_cast<std::int64_t>(device = std::min(device + of_rank, speeds.scores.size())));
  return speeds;
}

Plan first_plan(std::int64_t units, const Speeds& speeds, std::int64_t block = 1) {
  return speeds.on_devices ? Plan::over_devices(units, speeds.scores, speeds.rank_offsets, block)
                           : Plan::over_hosts(units, speeds.threads, block);
}

/// The cost of each unit, and the true speed of each device or host.
struct Truth {
  std::vector<double> costs;
  std::vector<double> speeds;

  [[nodiscard]] std::vector<double> seconds(const Plan& plan, const Speeds& believed) const {
    std::vector<double> seconds;
    for (const PlanPart& part : parts_of(plan, believed))
      seconds.push_back(std::reduce(costs.begin() + part.units.begin, costs.begin() + part.units.end) /
                        speeds[part.device]);
    return seconds;
  }
};

double max_to_mean(const std::vector<double>& seconds) {
  const double mean = std::reduce(seconds.begin(), seconds.end()) / static_cast<double>(seconds.size());
  return *std::ranges::max_element(seconds) / mean;
}

/// Costs that grow with the fourth power of the unit: the last of five equal shares has 3.4 times the mean.
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

/// Changes plans as long as that makes the slowest part faster by 1.1.
Balance balance(const Truth& truth, const Speeds& believed, Plan plan) {
  WorkEstimate work;
  for (int moves = 0;; ++moves) {
    const auto seconds = truth.seconds(plan, believed);
    BalancedPlan better = work.balance(plan, believed, seconds);
    if (better.gain < 1.1 || moves == 20) return {moves, max_to_mean(seconds)};
    plan = std::move(better.plan);
  }
}

/// A loop of passes with a `Balancer`: its estimate and its schedule, with times from `truth` and noise.
class Loop {
 public:
  Loop(Speeds believed, Plan plan, int iterations, double gain = 1.05)
      : believed_(std::move(believed)), plan_(std::move(plan)), schedule_(iterations, gain) {}

  /// Returns the longest time divided by the mean of all devices, without noise.
  double pass(const Truth& truth, double noise, std::mt19937_64& random) {
    std::vector<double> seconds = truth.seconds(plan_, believed_);
    const double mean =
        std::reduce(seconds.begin(), seconds.end()) / static_cast<double>(believed_.declared().size());
    const double imbalance = *std::ranges::max_element(seconds) / mean;
    for (double& time : seconds) time *= 1 + noise * std::uniform_real_distribution<>()(random);
    if (schedule_.measured() == 0) shortest_ = seconds;
    for (std::size_t i = 0; i < seconds.size(); ++i) shortest_[i] = std::min(shortest_[i], seconds[i]);
    if (schedule_.take_iteration()) {
      BalancedPlan better = work_.balance(plan_, believed_, shortest_);
      if (schedule_.replaces(better) && better.plan.fingerprint() != plan_.fingerprint()) {
        plan_ = std::move(better.plan);
        schedule_.begin_next();
        ++moves_;
      }
    }
    return imbalance;
  }

  [[nodiscard]] int moves() const { return moves_; }
  [[nodiscard]] const Plan& plan() const { return plan_; }
  [[nodiscard]] const WorkEstimate& work() const { return work_; }

 private:
  Speeds believed_;
  Plan plan_;
  ReplanSchedule schedule_;
  WorkEstimate work_;
  std::vector<double> shortest_;
  int moves_ = 0;
};

/// Approximate scores of H200, H100, A100, L40S, V100 and T4.
constexpr std::array<std::uint64_t, 6> scores_of_models{1000, 900, 480, 230, 190, 36};

/// A job of up to 16 devices, each up to ten times faster or slower than declared, with enough units for 200
/// blocks on each if all take the same time. None if these are too many for a test.
struct Case {
  Speeds believed;
  Truth truth;
};
std::optional<Case> random_case(std::mt19937_64& random, const std::function<double(double)>& cost_at) {
  const auto uniform = [&](double from, double to) {
    return std::uniform_real_distribution<>(from, to)(random);
  };
  constexpr std::array<std::size_t, 6> counts{2, 3, 4, 5, 8, 16};
  const std::size_t count = counts[random() % counts.size()];
  const auto wrong = random() % 4;
  const bool equal = random() % 3 == 0;
  std::vector<std::uint64_t> scores;
  Truth truth;
  for (std::size_t device = 0; device < count; ++device) {
    scores.push_back(equal ? 100 : scores_of_models[random() % scores_of_models.size()]);
    double factor = std::pow(10, uniform(-1, 1));
    if (wrong == 1) factor = random() % 2 == 0 ? 10 : 0.1;
    if (wrong == 2 && device > 0) factor = 1;
    if (wrong == 3) factor = std::exp2(uniform(-1, 1));
    truth.speeds.push_back(factor * static_cast<double>(scores.back()));
  }
  Case made{devices(std::move(scores), 1 + random() % 4), std::move(truth)};
  constexpr int points = 4000;
  std::vector<double> before{0};
  for (int i = 0; i < points; ++i) before.push_back(before.back() + cost_at((i + 0.5) / points));
  const double all = std::reduce(made.truth.speeds.begin(), made.truth.speeds.end());
  double speed = 0;
  double from = 0;
  double least = 1;
  for (const PlanPart& part : parts_of(first_plan(1'000'000, made.believed), made.believed)) {
    speed += made.truth.speeds[part.device];
    const double target = before.back() * std::min(1.0, speed / all);
    const auto after = std::ranges::lower_bound(before, target * (1 - 1e-12));
    const double to = (static_cast<double>(after - before.begin() - 1) +
                       (target - *(after - 1)) / (*after - *(after - 1))) /
                      points;
    least = std::min(least, to - from);
    from = to;
  }
  const double units = std::max(500.0, 200 / least * uniform(1, 2));
  if (units > 100'000) return std::nullopt;
  for (int unit = 0; unit < static_cast<int>(units); ++unit)
    made.truth.costs.push_back(cost_at((unit + 0.5) / std::floor(units)));
  return made;
}

using CostsOf = std::function<std::function<double(double)>(std::mt19937_64&)>;

/// Random cases reach `bound` in pass `in`; from then on the ratio never rises by more than the noise and
/// 0.02.
void expect_balance(const std::string& what, const CostsOf& costs_of, int in, double bound) {
  int cases = 0;
  for (std::uint64_t seed = 1; cases < 40; ++seed) {
    std::mt19937_64 random(seed);
    const auto made = random_case(random, costs_of(random));
    if (!made) continue;
    ++cases;
    for (const double noise : {0.0, 0.02, 0.05}) {
      const int iterations = seed % 3 == 0 ? 1 : 3;
      SCOPED_TRACE(what + ", seed " + std::to_string(seed) + ", noise " + std::to_string(noise) + ", " +
                   std::to_string(iterations) + " iterations");
      const auto units = static_cast<std::int64_t>(made->truth.costs.size());
      Loop loop(made->believed, first_plan(units, made->believed), iterations);
      double least = 0;
      for (int pass = 1; pass <= 30; ++pass) {
        const double ratio = loop.pass(made->truth, noise, random);
        if (pass == in) {
          EXPECT_LE(least = ratio, bound);
        } else if (pass > in) {
          EXPECT_LE(ratio, least + noise + 0.02) << "pass " << pass;
        }
        least = std::min(least, ratio);
      }
    }
  }
}

TEST(WorkEstimate, UniformUnitsAreBalancedInFivePasses) {
  expect_balance(
      "equal", [](auto&) { return [](double) { return 1.0; }; }, 5, 1.05);
}

TEST(WorkEstimate, UnequalUnitsAreBalancedInTenPasses) {
  const auto between = [](std::mt19937_64& random, double from, double to) {
    return std::uniform_real_distribution<>(from, to)(random);
  };
  const auto powers = [&](std::mt19937_64& random) {
    return [power = between(random, 1, 5)](double x) { return 0.01 + std::pow(x, power); };
  };
  expect_balance(
      "linear", [](auto&) { return [](double x) { return 0.2 + x; }; }, 10, 1.10);
  expect_balance("growing", powers, 10, 1.10);
  expect_balance(
      "falling",
      [&](std::mt19937_64& random) { return [cost = powers(random)](double x) { return cost(1 - x); }; }, 10,
      1.10);
  expect_balance(
      "waves",
      [&](std::mt19937_64& random) {
        return [waves = between(random, 1, 4), phase = between(random, 0, 6.28)](double x) {
          return 1.2 + std::sin(6.28 * waves * x + phase);
        };
      },
      10, 1.10);
  expect_balance(
      "a step by ten",
      [&](std::mt19937_64& random) {
        return [at = between(random, 0.1, 0.9), up = random() % 2 == 0](double x) {
          return (x < at) == up ? 1.0 : 10.0;
        };
      },
      10, 1.10);
  expect_balance(
      "random",
      [&](std::mt19937_64& random) {
        return [units = std::mt19937_64(random())](double) mutable {
          return std::uniform_real_distribution<>(0, 2)(units);
        };
      },
      10, 1.10);
  expect_balance(
      "log-normal",
      [&](std::mt19937_64& random) {
        return [units = std::mt19937_64(random())](double) mutable {
          return std::exp(std::normal_distribution<>()(units));
        };
      },
      10, 1.10);
}

TEST(WorkEstimate, DevicesOfOneSpeedAreFoundOutWhateverTheyAreDeclared) {
  for (const std::uint64_t fast : scores_of_models) {
    for (const std::uint64_t slow : scores_of_models) {
      for (const std::int64_t units : {std::int64_t{500}, std::int64_t{100'000}}) {
        SCOPED_TRACE(std::to_string(fast) + " and " + std::to_string(slow));
        const Truth truth{std::vector<double>(static_cast<std::size_t>(units), 1), {7, 7}};
        const Speeds believed = devices({fast, slow});
        Loop loop(believed, first_plan(units, believed), 3);
        std::mt19937_64 random(1);
        double ratio = 0;
        for (int pass = 1; pass <= 5; ++pass) ratio = loop.pass(truth, 0, random);
        EXPECT_LE(ratio, 1.05);
        EXPECT_LE(loop.moves(), 2);
      }
    }
  }
}

TEST(WorkEstimate, WorkThatChangesIsBalancedAnew) {
  const Speeds believed = devices({4, 1, 2, 1});
  Truth truth{growing_costs(20'000), {1, 1, 2, 3}};
  Loop loop(believed, first_plan(20'000, believed), 3);
  std::mt19937_64 random(5);
  for (int change = 0; change < 4; ++change) {
    double ratio = 0;
    for (int pass = 1; pass <= 15; ++pass) ratio = loop.pass(truth, 0.02, random);
    EXPECT_LE(ratio, 1.12) << "change " << change;
    std::ranges::reverse(truth.costs);
  }
}

TEST(WorkEstimate, DevicesOfARankKeepTheirOrder) {
  const Speeds believed = devices({1000, 500, 100, 100}, 2);
  const Truth truth{std::vector<double>(10'000, 1), {1, 5, 2, 2.1}};
  Loop loop(believed, first_plan(10'000, believed), 1);
  std::mt19937_64 random(2);
  for (int pass = 1; pass <= 5; ++pass) (void)loop.pass(truth, 0.02, random);
  EXPECT_GE(loop.moves(), 1);
  for (std::size_t tile = 0; tile < 4; ++tile)
    EXPECT_EQ(loop.plan().tiles()[tile].device, static_cast<std::int32_t>(tile % 2));
}

TEST(WorkEstimate, WhatIsKnownOfDevicesIsKeptWhenOneIsLost) {
  Speeds believed = devices({100, 100, 100, 100});
  const Truth truth{growing_costs(20'000), {1, 3, 9, 2}};
  Loop loop(believed, first_plan(20'000, believed), 1);
  EXPECT_FALSE(loop.work().plan_over(believed, loop.plan())) << "nothing is known yet";
  std::mt19937_64 random(2);
  for (int pass = 1; pass <= 12; ++pass) (void)loop.pass(truth, 0, random);
  believed.scores[1] = 0;
  const auto without = loop.work().plan_over(believed, loop.plan());
  ASSERT_TRUE(without);
  EXPECT_TRUE(without->range_of(1).empty());
  EXPECT_LE(max_to_mean(truth.seconds(*without, believed)), 1.15);
}

TEST(WorkEstimate, TellsOfADeviceThatHasTooFewBlocksToBeBalanced) {
  const Speeds speeds = devices({100, 10, 0});
  const Plan plan = first_plan(1100, speeds, 10);
  const auto coarse = WorkEstimate::coarse_part(plan, speeds, std::vector<double>{1, 3}, 1.1);
  ASSERT_TRUE(coarse);
  EXPECT_EQ(coarse->device, 1U);
  EXPECT_EQ(coarse->blocks, 10);
  EXPECT_DOUBLE_EQ(coarse->imbalance, 1.5);
  EXPECT_FALSE(WorkEstimate::coarse_part(plan, speeds, std::vector<double>{1, 1.1}, 1.1)) << "balanced";
  const Plan fine = first_plan(2200, speeds, 1);
  EXPECT_FALSE(WorkEstimate::coarse_part(fine, speeds, std::vector<double>{1, 3}, 1.1)) << "enough blocks";
  const Plan one = first_plan(10, speeds, 10);
  const auto idle = WorkEstimate::coarse_part(one, speeds, std::vector<double>{1}, 1.1);
  ASSERT_TRUE(idle) << "a device without a block";
  EXPECT_EQ(idle->device, 1U);
  EXPECT_EQ(idle->blocks, 0);
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
  // The first half took 3 s, the second 1 s: by these times the second device is three times faster.
  const BalancedPlan better = WorkEstimate().balance(plan, speeds, std::vector<double>{3, 1});
  EXPECT_NEAR(static_cast<double>(better.plan.range_of(0).end), 300, 3);
  EXPECT_NEAR(better.gain, 2, 0.02);
  // One block cannot be cut, whatever its cost.
  const Plan coarse = first_plan(1200, speeds, 600);
  EXPECT_NEAR(WorkEstimate().balance(coarse, speeds, std::vector<double>{1.5, 1}).gain, 1, 1e-3);
}

TEST(WorkEstimate, AClockThatStoodStillIsNoWork) {
  const Speeds speeds = devices({1, 1, 1});
  const Plan plan = first_plan(9, speeds);
  EXPECT_EQ(WorkEstimate().balance(plan, speeds, std::vector<double>{0, 0, 0}).plan.fingerprint(),
            plan.fingerprint());
}

}  // namespace
}  // namespace tessera

// SPDX-License-Identifier: Apache-2.0
// Weighted plans agree with the definition in exact arithmetic.
#include <gtest/gtest.h>
#include <tessera/error.hpp>
#include <tessera/partition/plan.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "partition/apportion.hpp"
#include "support/errors.hpp"

namespace tessera {
namespace {

using Scores = std::vector<std::uint64_t>;
using Offsets = std::vector<std::int64_t>;
using Weights = std::vector<std::int64_t>;

/// A split of the sum of `weights` over `scores`: the sums before each cut.
std::vector<std::int64_t> exact_cuts(const Weights& weights, const Scores& scores) {
  std::vector<std::int64_t> shares(scores.size());
  detail::ApportionWorkspace workspace;
  detail::apportion(std::reduce(weights.begin(), weights.end()), scores, shares, workspace);
  std::partial_sum(shares.begin(), shares.end(), shares.begin());
  return shares;
}

/// The fault of cuts of blocks of `weights` by `scores`, by brute force: no other cut may be nearer to its
/// exact position, nor equally near and later; empty if there is none.
std::string wrong_with_cuts(const Weights& weights, const Scores& scores, const std::vector<Range>& shares) {
  const auto targets = exact_cuts(weights, scores);
  const std::int64_t total = targets.back();
  std::vector<std::int64_t> before{0};
  for (const std::int64_t weight : weights) before.push_back(before.back() + weight);
  std::int64_t begin = 0;
  for (std::size_t i = 0; i < shares.size(); ++i) {
    if (shares[i].begin != begin) return "a gap or an overlap";
    begin = shares[i].end;
    if (scores[i] == 0 && !shares[i].empty()) return "a share without a score";
    if (targets[i] == 0 && shares[i].end != 0) return "a share of nothing";
    if (targets[i] == total && shares[i].end != std::ssize(weights)) return "blocks are left over";
    if (targets[i] == 0 || targets[i] == total) continue;
    const auto distance = [&](std::int64_t cut) {
      return std::abs(before[static_cast<std::size_t>(cut)] - targets[i]);
    };
    for (std::int64_t other = 0; other <= std::ssize(weights); ++other) {
      if (distance(other) < distance(begin)) return "a cut that is not the nearest";
      const bool same_place =
          before[static_cast<std::size_t>(other)] == before[static_cast<std::size_t>(begin)];
      if (other > begin && !same_place && distance(other) == distance(begin)) return "a tie the other way";
    }
  }
  return begin == std::ssize(weights) ? "" : "blocks are left over";
}

std::vector<Range> ranges_of_ranks(const Plan& plan) {
  std::vector<Range> ranges;
  for (int rank = 0; rank < plan.ranks(); ++rank) ranges.push_back(plan.range_of(rank));
  return ranges;
}

Weights part_of(const Weights& weights, Range range) {
  return {weights.begin() + range.begin, weights.begin() + range.end};
}

/// Zero, equal, similar and very different weights.
Weights random_weights(std::mt19937_64& random) {
  const std::int64_t largest = std::vector<std::int64_t>{1, 3, 10, 100'000}[random() % 4];
  Weights weights(1 + random() % 40);
  for (auto& weight : weights) {
    weight = static_cast<std::int64_t>(random()) & std::numeric_limits<std::int64_t>::max();
    weight = random() % 5 == 0 ? 0 : weight % (largest + 1);
  }
  return weights;
}

TEST(WeightedPlan, Documented) {
  const auto plan = Plan::over_devices(1000, Scores{1, 1, 1, 1}, Offsets{0, 4},
                                       {.weights = [](std::int64_t u) { return u < 900 ? 1.0 : 10.0; }});
  std::vector<Range> tiles;
  for (const PlannedTile& tile : plan.tiles()) tiles.push_back(tile.units);
  EXPECT_EQ(tiles, (std::vector<Range>{{0, 475}, {475, 905}, {905, 953}, {953, 1000}}));
}

TEST(WeightedPlan, EachCutIsTheNearestInBothSteps) {
  std::mt19937_64 random(20261123);
  for (int round = 0; round < 3000; ++round) {
    const Weights weights = random_weights(random);
    const auto units = std::ssize(weights);
    Scores scores(2 + random() % 6);
    for (auto& score : scores) score = random() % 4;
    scores.back() = 2;
    const auto middle = static_cast<std::int64_t>(random() % (scores.size() + 1));
    const Offsets offsets{0, middle, std::ssize(scores)};
    const Plan plan = Plan::over_devices(units, scores, offsets, {.weights = weights});
    const std::int64_t total = std::reduce(weights.begin(), weights.end());
    if (total == 0) {
      EXPECT_EQ(plan.fingerprint(), Plan::over_devices(units, scores, offsets).fingerprint());
      continue;
    }
    const std::int64_t divisor = std::accumulate(weights.begin(), weights.end(), std::int64_t{0},
                                                 [](auto a, auto b) { return std::gcd(a, b); });
    Weights reduced = weights;
    for (auto& weight : reduced) weight /= divisor;
    const auto score_of = [&](std::int64_t begin, std::int64_t end) {
      return std::reduce(scores.begin() + begin, scores.begin() + end);
    };
    EXPECT_EQ(wrong_with_cuts(reduced, {score_of(0, middle), score_of(middle, std::ssize(scores))},
                              ranges_of_ranks(plan)),
              "");
    for (int rank = 0; rank < 2; ++rank) {
      const Range mine = plan.range_of(rank);
      const Weights part = part_of(reduced, mine);
      if (std::reduce(part.begin(), part.end()) == 0) continue;
      // By descending scores, ties to the lower index.
      std::vector<std::int64_t> order(static_cast<std::size_t>(offsets[static_cast<std::size_t>(rank) + 1] -
                                                               offsets[static_cast<std::size_t>(rank)]));
      std::iota(order.begin(), order.end(), offsets[static_cast<std::size_t>(rank)]);
      std::ranges::stable_sort(order, [&](auto a, auto b) {
        return scores[static_cast<std::size_t>(a)] > scores[static_cast<std::size_t>(b)];
      });
      Scores ordered;
      std::vector<Range> shares;
      std::int64_t end = 0;
      for (const std::int64_t device : order) {
        ordered.push_back(scores[static_cast<std::size_t>(device)]);
        const auto tiles = plan.tiles_of(rank);
        const auto tile = std::ranges::find(tiles, device - offsets[static_cast<std::size_t>(rank)],
                                            [](const PlannedTile& one) { return std::int64_t{one.device}; });
        if (tile != tiles.end())
          shares.push_back({tile->units.begin - mine.begin, tile->units.end - mine.begin});
        else
          shares.push_back({end, end});
        end = shares.back().end;
      }
      EXPECT_EQ(wrong_with_cuts(part, ordered, shares), "") << "rank " << rank;
    }
  }
}

TEST(WeightedPlan, EqualWeightsGiveThePlanWithoutWeights) {
  const Scores scores{7, 2, 0, 5, 11};
  const Offsets offsets{0, 2, 2, 5};
  for (const std::int64_t units : {0, 1, 17, 100'003}) {
    const std::uint64_t plain = Plan::over_devices(units, scores, offsets, 8).fingerprint();
    for (const double weight : {0.0, 1.0, 0.1, 1e300, 5e-324}) {
      const PlanOptions equal{.block = 8, .block_weights = [=](std::int64_t) { return weight; }};
      EXPECT_EQ(Plan::over_devices(units, scores, offsets, equal).fingerprint(), plain) << weight;
    }
  }
}

TEST(WeightedPlan, OnlyTheProportionsOfWeightsMatter) {
  std::mt19937_64 random(7);
  for (int round = 0; round < 200; ++round) {
    const Weights weights = random_weights(random);
    const auto fingerprint = [&](double times) {
      const auto scaled = [&](std::int64_t unit) {
        return times * static_cast<double>(weights[static_cast<std::size_t>(unit)]);
      };
      return Plan::over_devices(std::ssize(weights), Scores{3, 1, 2}, Offsets{0, 1, 3}, {.weights = scaled})
          .fingerprint();
    };
    EXPECT_EQ(fingerprint(1), fingerprint(3));
    EXPECT_EQ(fingerprint(1), fingerprint(0x1p-700));
  }
}

TEST(WeightedPlan, BlocksWeighWhatTheirUnitsDo) {
  std::mt19937_64 random(11);
  std::vector<double> weights(1003);
  for (double& weight : weights) weight = static_cast<double>(random() % 1000);
  std::vector<float> of_blocks(101);
  for (std::size_t unit = 0; unit < weights.size(); ++unit)
    of_blocks[unit / 10] += static_cast<float>(weights[unit]);
  const Scores scores{1, 2, 3, 4};
  const Offsets offsets{0, 3, 4};
  const Plan plan = Plan::over_devices(1003, scores, offsets, {.block = 10, .weights = weights});
  EXPECT_EQ(
      plan.fingerprint(),
      Plan::over_devices(1003, scores, offsets, {.block = 10, .block_weights = of_blocks}).fingerprint());
  for (const PlannedTile& tile : plan.tiles()) EXPECT_EQ(tile.units.begin % 10, 0);
}

TEST(WeightedPlan, SharesOfRanksAreThoseOfTheWork) {
  const std::vector<int> weights{9, 1, 1, 1, 0, 0, 8};
  const std::vector<int> threads{1, 1};
  const Plan plan = Plan::over_hosts(7, threads, {.weights = weights});
  EXPECT_EQ(plan.range_of(0), (Range{0, 2}));
  EXPECT_EQ(plan.share_of(0), 0.5);
  EXPECT_EQ(plan.share_of(1), 0.5);
  EXPECT_EQ(Plan::over_hosts(7, 2).share_of(0), 4.0 / 7);
  EXPECT_THROW((void)plan.share_of(2), Error);
}

TEST(WeightedPlan, KeepsWhatHasNoNameAndRefersToWhatHas) {
  std::vector<double> named{1, 1, 1, 1};
  const PlanWeights referred = named;
  const PlanWeights kept = std::vector<double>{1, 2, 3, 4};
  named[3] = 7;
  EXPECT_EQ(referred(3), 7);
  EXPECT_EQ(kept(3), 4);
  PlanWeights copy = kept;  // NOLINT(performance-unnecessary-copy-initialization): copies are what is tested
  PlanWeights copy_of_mutable = copy;
  EXPECT_EQ(copy_of_mutable.size(), 4);
  EXPECT_FALSE(PlanWeights([](std::int64_t) { return 1; }).size());
}

std::string refusal(std::int64_t units, const PlanOptions& options) {
  return error_of(ErrorCode::usage, [&] { (void)Plan::over_hosts(units, std::vector<int>{1, 2}, options); });
}

TEST(WeightedPlan, RefusesWhatIsNoWeight) {
  const double infinite = std::numeric_limits<double>::infinity();
  EXPECT_EQ(refusal(3, {.weights = std::vector<double>{1, -2, 3}}),
            "the weight of unit 1 is -2.000000: give a finite weight of 0 or more");
  EXPECT_EQ(refusal(3, {.block_weights = std::vector<double>{1, 2, infinite}}),
            "the weight of block 2 is inf: give a finite weight of 0 or more");
  EXPECT_EQ(refusal(3, {.block = 2, .block_weights = std::vector<double>{1, 2, 3}}),
            "there are 3 weights of 2 blocks: give one weight for each, on every rank");
  EXPECT_EQ(refusal(2, {.weights = std::vector<int>{1}}),
            "there are 1 weights of 2 units: give one weight for each, on every rank");
  const auto one = [](std::int64_t) { return 1; };
  EXPECT_EQ(refusal(2, {.weights = one, .block_weights = one}),
            "a plan has both weights of units and weights of blocks: give only one kind");
  EXPECT_EQ(refusal(2, {.block = 0, .weights = one}), "a block cannot have 0 units: give 1 or more");
}

}  // namespace
}  // namespace tessera

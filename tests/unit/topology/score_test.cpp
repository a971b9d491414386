// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <tessera/error.hpp>
#include <tessera/topology/simulate.hpp>

#include <cmath>
#include <limits>

#include "support/errors.hpp"
#include "topology/measured_score.hpp"

namespace tessera {
namespace {

DeviceInfo device(const std::string& model) {
  return simulated_devices("*:" + model, 0).at(0);
}

TEST(SpecScore, IsTheStatedSum) {
  // 132 multiprocessors + 4 x 141 GiB + 100 + 50
  EXPECT_EQ(score(device("H200"), ScoreModel::spec), (132 + 4 * 141 + 150) * score_scale);
  // 40 + 4 x 16, neither FP64 tensor cores nor asynchronous copies
  EXPECT_EQ(score(device("T4"), ScoreModel::spec), (40 + 4 * 16) * score_scale);
  // 142 + 4 x 48 + 50 for asynchronous copies only
  EXPECT_EQ(score(device("L40S"), ScoreModel::spec), (142 + 4 * 48 + 50) * score_scale);
}

TEST(SpecScore, CountsPartsOfAGibibyte) {
  auto half = device("T4");
  half.free_memory_bytes = std::int64_t{1} << 29;
  EXPECT_EQ(score(half, ScoreModel::spec), (40 + 2) * score_scale);
}

TEST(ThroughputScore, AnH200IsTheMeasure) {
  EXPECT_EQ(score(device("H200"), ScoreModel::throughput), 1000 * score_scale);
}

TEST(ThroughputScore, OrdersTheModelsByWhatTheyDoInFp64) {
  const auto of = [](const char* model) { return score(device(model), ScoreModel::throughput); };
  EXPECT_GT(of("H200"), of("H100"));
  EXPECT_GT(of("H100"), of("A100"));
  EXPECT_GT(of("A100"), of("V100"));
  EXPECT_GT(of("V100"), of("L40S")) << "an L40S has two FP64 lanes a multiprocessor, a V100 thirty-two";
  EXPECT_GT(of("L40S"), of("T4"));
  // Half of 5120 x 2619 of 6144 x 3201, and the whole arithmetic half: the H100 differs only in its memory.
  EXPECT_NEAR(static_cast<double>(of("H100")) / score_scale, 500 + 500 * 5120. * 2619 / (6144. * 3201), 0.01);
}

TEST(ThroughputScore, OneFigureStandsForAMissingOne) {
  auto h200 = device("H200");
  h200.memory_clock_mhz = 0;
  EXPECT_EQ(score(h200, ScoreModel::throughput), 1000 * score_scale);
  h200 = device("H200");
  h200.sm_clock_mhz = 0;
  EXPECT_EQ(score(h200, ScoreModel::throughput), 1000 * score_scale);
}

TEST(Score, IsNeverZeroAndNeverTooLargeToAdd) {
  EXPECT_EQ(score(DeviceInfo{}, ScoreModel::throughput), 1U);
  EXPECT_EQ(score(DeviceInfo{}, ScoreModel::spec), 1U);
  DeviceInfo absurd;
  absurd.multiprocessors = absurd.sm_clock_mhz = absurd.memory_clock_mhz = absurd.memory_bus_bits =
      std::numeric_limits<int>::max();
  absurd.free_memory_bytes = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(score(absurd, ScoreModel::throughput), std::uint64_t{1} << 40);
  EXPECT_LE(score(absurd, ScoreModel::spec), std::uint64_t{1} << 40);
}

TEST(Score, MeasuredNeedsTheDevice) {
  error_of(ErrorCode::usage, [&] { static_cast<void>(score(DeviceInfo{}, ScoreModel::measured)); });
}

TEST(MeasuredScore, IsTheRatioToTheFastest) {
  constexpr double fastest = 0.6;
  EXPECT_EQ(detail::measured_score(0.6, fastest), measured_score_of_fastest);
  EXPECT_EQ(detail::measured_score(1.2, fastest), measured_score_of_fastest / 2);
  EXPECT_EQ(detail::measured_score(60, fastest), (measured_score_of_fastest + 50) / 100);
  EXPECT_EQ(detail::measured_score(0.6e-6, fastest * 1e-6), measured_score_of_fastest)
      << "whatever the unit is";
  EXPECT_EQ(detail::measured_score(1e30, fastest), 1U) << "slow, but it can compute";
}

TEST(MeasuredScore, RefusesWhatIsNoTime) {
  for (const double seconds : {0.0, -1.0, std::nan(""), HUGE_VAL}) {
    EXPECT_THROW((void)detail::measured_score(seconds, 1), Error) << seconds;
    EXPECT_THROW((void)detail::measured_score(1, seconds), Error) << seconds;
  }
}

TEST(ScoreModel, HasAName) {
  EXPECT_EQ(to_string(ScoreModel::spec), "spec");
  EXPECT_EQ(to_string(ScoreModel::throughput), "throughput");
  EXPECT_EQ(to_string(ScoreModel::measured), "measured");
}

}  // namespace
}  // namespace tessera

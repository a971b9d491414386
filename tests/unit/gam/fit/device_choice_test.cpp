// SPDX-License-Identifier: Apache-2.0
#include "gam/fit/run/device_choice.hpp"

#include <gtest/gtest.h>

#include <cstdint>

namespace TESSERA_NAMESPACE::gam {
namespace {

constexpr char four_smooths[] =
    "y ~ s(a, bs=\"ps\", k=20) + s(b, bs=\"ps\", k=20) + s(c, bs=\"ps\", k=20) + s(d, bs=\"ps\", k=20)";

CostEstimate cost(const char* formula, bool linear, std::int64_t rows, Hardware hardware = {16, 1}) {
  return estimate_cost(parse_terms(formula), linear, rows, hardware);
}

bool prefers_host(const CostEstimate& estimate) {
  return estimate.host_seconds <= estimate.device_seconds;
}

TEST(DeviceChoice, AFewRowsAreTheHostsAndManyTheDevices) {
  EXPECT_TRUE(prefers_host(cost(four_smooths, true, 50'000)));
  EXPECT_TRUE(prefers_host(cost(four_smooths, true, 1'000'000)));
  EXPECT_FALSE(prefers_host(cost(four_smooths, true, 100'000'000)));
  // With few threads a device saves more.
  EXPECT_FALSE(prefers_host(cost(four_smooths, true, 10'000'000, {2, 1})));
}

TEST(DeviceChoice, CountsThePassesAndTheProductsOfARow) {
  const std::int64_t rows = 3'000'000;
  EXPECT_TRUE(prefers_host(cost(four_smooths, true, rows)));
  EXPECT_FALSE(prefers_host(cost(four_smooths, false, rows)));
  EXPECT_FALSE(prefers_host(cost("y ~ te(a, b, c, bs=\"ps\", k=5)", true, rows)));
  EXPECT_TRUE(prefers_host(cost("y ~ s(g, bs=\"re\")", false, rows)));
}

TEST(DeviceChoice, RowsAreSharedByWhatThereIsOfHardware) {
  const std::int64_t rows = 1'000'000'000;
  const CostEstimate one = cost(four_smooths, true, rows, {16, 1});
  const CostEstimate two = cost(four_smooths, true, rows, {32, 2});
  EXPECT_DOUBLE_EQ(one.host_seconds, 2 * two.host_seconds);
  EXPECT_GT(one.device_seconds, 1.5 * two.device_seconds);
}

TEST(DeviceChoice, CountsTheCompilationOfKernelsThatAreNotCached) {
  const std::int64_t rows = 4'000'000;
  EXPECT_FALSE(prefers_host(cost(four_smooths, false, rows, {16, 1, true})));
  EXPECT_TRUE(prefers_host(cost(four_smooths, false, rows, {16, 1, false})));
  // In a large fit the start-up is negligible.
  EXPECT_FALSE(prefers_host(cost(four_smooths, false, 25 * rows, {16, 1, false})));
}

TEST(DeviceChoice, TellsBothEstimates) {
  EXPECT_EQ(reason_for_host({0.021, 0.41}, 2), "estimated 0.02 s, against 0.4 s on 2 GPUs");
}

}  // namespace
}  // namespace TESSERA_NAMESPACE::gam

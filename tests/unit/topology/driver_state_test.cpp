// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <tessera/topology/driver_state.hpp>
#include <tessera/topology/simulate.hpp>

#include "topology/driver/parse_uuid.hpp"
#include "with_fake_nvml.hpp"

namespace tessera {
namespace {

class DriverStates : public testing::WithFakeNvml {};

DeviceInfo with_uuid(const char* uuid) {
  DeviceInfo info;
  info.uuid = detail::parse_uuid(uuid).value();
  return info;
}

TEST_F(DriverStates, TellVersionsAndConditions) {
  const DeviceInfo gpu = with_uuid("GPU-00000001-0000-0000-0000-000000000000");
  const DriverState state = driver_state({&gpu, 1});
  EXPECT_EQ(state.version, "580.95.05");
  EXPECT_EQ(state.cuda, "13.0");
  ASSERT_EQ(state.devices.size(), 1u);
  const DeviceCondition& condition = state.devices[0];
  EXPECT_EQ(condition.corrected_errors, 12);
  EXPECT_EQ(condition.uncorrected_errors, 1);
  EXPECT_EQ(condition.remapped_rows, 3);
  EXPECT_EQ(condition.remapping_needs_reset, true);
  EXPECT_EQ(condition.active_links, 2);
}

TEST_F(DriverStates, LeaveEmptyWhatTheDriverDoesNotReport) {
  const DeviceInfo devices[] = {with_uuid("MIG-00000010-0000-0000-0000-000000000000"),
                                with_uuid("GPU-00000000-0000-0000-0000-000000000000"),
                                simulated_devices("*:H200", 0).front()};
  const DriverState state = driver_state(devices);
  ASSERT_EQ(state.devices.size(), 3u);
  EXPECT_FALSE(state.devices[0].corrected_errors);
  EXPECT_FALSE(state.devices[0].remapped_rows);
  EXPECT_EQ(state.devices[0].active_links, 2) << "the instance has those of its GPU";
  for (const std::size_t unknown : {1u, 2u}) {
    EXPECT_FALSE(state.devices[unknown].active_links);
    EXPECT_FALSE(state.devices[unknown].remapping_needs_reset);
  }
}

TEST_F(DriverStates, OfADriverThatFailsAreEmpty) {
  fake_->init = nvml::Status::driver_not_loaded;
  const DeviceInfo gpu = with_uuid("GPU-00000001-0000-0000-0000-000000000000");
  const DriverState state = driver_state({&gpu, 1});
  EXPECT_EQ(state.version, "");
  EXPECT_EQ(state.cuda, "");
  EXPECT_EQ(state.devices.size(), 1u);
}

}  // namespace
}  // namespace tessera

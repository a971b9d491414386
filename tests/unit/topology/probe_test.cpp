// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <tessera/error.hpp>
#include <tessera/topology/probe.hpp>

#include <cstdlib>

namespace tessera {
namespace {

class ProbeTest : public ::testing::Test {
 protected:
  void TearDown() override { unsetenv("TESSERA_SIMULATE"); }
};

TEST_F(ProbeTest, HasAnAbsenceExactlyWhenItHasNoDevice) {
  unsetenv("TESSERA_SIMULATE");
  const auto here = probe();
  EXPECT_EQ(here.devices.empty(), here.absence.has_value());
  if (here.absence) {
    EXPECT_FALSE(here.absence->message.empty());
  }
  EXPECT_GE(here.host.allowed_cores, 1);
  EXPECT_GE(here.host.allowed_threads, here.host.allowed_cores);
  EXPECT_FALSE(here.host.hostname.empty());
  EXPECT_FALSE(here.host.allowed_cpuset.empty());
}

TEST_F(ProbeTest, SimulatedDevicesStandInForTheDriver) {
  setenv("TESSERA_SIMULATE", "rank0:2xH200; rank1:T4", 1);
  const auto here = probe(0);
  ASSERT_EQ(here.devices.size(), 2U);
  EXPECT_TRUE(here.devices[0].info.simulated);
  EXPECT_EQ(here.devices[0].distance, 0);
  EXPECT_FALSE(here.absence);
  EXPECT_EQ(probe(1).devices.size(), 1U);
  const auto none = probe(2);
  ASSERT_TRUE(none.absence);
  EXPECT_EQ(none.absence->reason, Absence::Reason::no_device);
  EXPECT_EQ(none.absence->message, "TESSERA_SIMULATE gives rank 2 no device");
}

TEST_F(ProbeTest, AnUnreadableSimulationIsAnError) {
  setenv("TESSERA_SIMULATE", "rank0:H2000", 1);
  EXPECT_THROW(static_cast<void>(probe(0)), Error);
}

TEST_F(ProbeTest, AnEmptySimulationIsNone) {
  setenv("TESSERA_SIMULATE", "", 1);
  const auto with_empty = probe(0);
  unsetenv("TESSERA_SIMULATE");
  EXPECT_EQ(with_empty.devices.size(), probe(0).devices.size());
}

}  // namespace
}  // namespace tessera

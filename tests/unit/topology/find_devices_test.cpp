// SPDX-License-Identifier: Apache-2.0
#include "topology/driver/find_devices.hpp"

#include <gtest/gtest.h>

#include "fake_gpus.hpp"

namespace TESSERA_NAMESPACE::detail {
namespace {

using testing::h200;
using testing::uuid_with_head;
using Reason = Absence::Reason;

constexpr int cuda_13_0 = 13000;

Survey healthy() {
  Survey survey;
  survey.cuda_version = cuda_13_0;
  survey.gpus = {h200(1, {0, 1, 0}), h200(2, {0, 2, 0})};
  return survey;
}

void expect_absent(const FoundDevices& found, Reason reason, const std::string& part) {
  EXPECT_TRUE(found.devices.empty());
  ASSERT_TRUE(found.absence);
  EXPECT_EQ(found.absence->reason, reason);
  EXPECT_NE(found.absence->message.find(part), std::string::npos) << found.absence->message;
}

TEST(FindDevices, GivesWhatIsVisible) {
  const auto found = find_devices(healthy(), {"1", std::nullopt}, cuda_13_0);
  EXPECT_FALSE(found.absence);
  ASSERT_EQ(found.devices.size(), 1U);
  EXPECT_EQ(found.devices[0].uuid, uuid_with_head(2));
}

TEST(FindDevices, PassesOnWhyTheDriverCouldNotBeAsked) {
  Survey survey;
  survey.absence = Absence{Reason::no_driver, "no NVIDIA driver is installed"};
  expect_absent(find_devices(survey, {}, cuda_13_0), Reason::no_driver, "no NVIDIA driver");
}

TEST(FindDevices, ADriverOfAnOlderMajorVersionIsTooOld) {
  Survey survey = healthy();
  survey.cuda_version = 12090;
  expect_absent(find_devices(survey, {}, cuda_13_0), Reason::driver_too_old, "supports CUDA 12.9");
  survey.cuda_version = 13000;
  EXPECT_FALSE(find_devices(survey, {}, 13020).absence) << "minor versions go together";
}

TEST(FindDevices, GpusThatMayNotBeOpenedAreNotNumbered) {
  Survey survey = healthy();
  survey.unreadable = {"GPU 0: Insufficient Permissions"};
  EXPECT_EQ(find_devices(survey, {"0", std::nullopt}, cuda_13_0).devices.at(0).uuid, uuid_with_head(1));
  survey.gpus.clear();
  expect_absent(find_devices(survey, {}, cuda_13_0), Reason::driver_error, "Insufficient Permissions");
  survey.unreadable.push_back("GPU 1: GPU is lost");
  survey.broken = {"GPU 1: GPU is lost"};
  expect_absent(find_devices(survey, {}, cuda_13_0), Reason::driver_error,
                "none of the 2 GPUs (GPU 1: GPU is lost)");
}

TEST(FindDevices, NoGpu) {
  Survey survey = healthy();
  survey.gpus.clear();
  expect_absent(find_devices(survey, {}, cuda_13_0), Reason::no_device, "sees no GPU");
}

TEST(FindDevices, NoneVisibleQuotesTheVariable) {
  expect_absent(find_devices(healthy(), {"-1", std::nullopt}, cuda_13_0), Reason::none_visible,
                "CUDA_VISIBLE_DEVICES=\"-1\" selects none of this node's 2 GPUs");
}

TEST(FindDevices, MigModeWithoutInstances) {
  Survey survey = healthy();
  for (auto& gpu : survey.gpus) gpu.mig_mode = true;
  expect_absent(find_devices(survey, {}, cuda_13_0), Reason::no_device, "MIG");
}

TEST(FindDevices, AGpuThatTheToolkitNoLongerServesIsLeftOut) {
  Survey survey = healthy();
  survey.gpus[0].info.capability = {7, 0};
  survey.gpus[0].info.name = "Tesla V100";
  const auto found = find_devices(survey, {}, cuda_13_0);
  ASSERT_EQ(found.devices.size(), 1U);
  EXPECT_EQ(found.devices[0].uuid, uuid_with_head(2));
  survey.gpus.pop_back();
  expect_absent(find_devices(survey, {}, cuda_13_0), Reason::no_device,
                "Tesla V100 has compute capability 7.0");
}

TEST(LeaveOnly, WhatStartedCudaCanReach) {
  auto found = find_devices(healthy(), {}, cuda_13_0);
  ASSERT_EQ(found.devices.size(), 2U);
  leave_only(std::vector<Uuid>{uuid_with_head(2)}, found);
  EXPECT_FALSE(found.absence);
  ASSERT_EQ(found.devices.size(), 1U);
  EXPECT_EQ(found.devices[0].uuid, uuid_with_head(2));

  leave_only(std::vector<Uuid>{uuid_with_head(7)}, found);
  expect_absent(found, Reason::not_started, "CUDA was initialised in this process without the 1 GPU that");
}

}  // namespace
}  // namespace TESSERA_NAMESPACE::detail

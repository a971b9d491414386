// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <string>

#include "topology/driver/survey.hpp"
#include "with_fake_nvml.hpp"

namespace TESSERA_NAMESPACE::detail {
namespace {

using Reason = Absence::Reason;

class NvmlSurvey : public testing::WithFakeNvml {
 protected:
  static void expect_absent(Reason reason, const std::string& part) {
    const auto survey = survey_nvml();
    ASSERT_TRUE(survey.absence);
    EXPECT_EQ(survey.absence->reason, reason);
    EXPECT_NE(survey.absence->message.find(part), std::string::npos) << survey.absence->message;
  }
};

TEST_F(NvmlSurvey, ReadsAWholeGpu) {
  const auto survey = survey_nvml();
  ASSERT_FALSE(survey.absence);
  EXPECT_EQ(survey.cuda_version, 13000);
  ASSERT_EQ(survey.gpus.size(), 2U);
  const auto& info = survey.gpus[0].info;
  EXPECT_FALSE(survey.gpus[0].mig_mode);
  EXPECT_EQ(to_string(info.uuid), "GPU-00000001-0000-0000-0000-000000000000");
  EXPECT_EQ(info.pci, (PciId{0, 0x18, 2}));
  EXPECT_EQ(info.name, "NVIDIA H200");
  EXPECT_EQ(info.capability, (ComputeCapability{9, 0}));
  EXPECT_EQ(info.multiprocessors, 132);
  EXPECT_EQ(info.total_memory_bytes, std::int64_t{144} << 30);
  EXPECT_EQ(info.free_memory_bytes, std::int64_t{140} << 30);
  EXPECT_EQ(info.sm_clock_mhz, 1980);
  EXPECT_EQ(info.memory_clock_mhz, 3201);
  EXPECT_EQ(info.memory_bus_bits, 6144);
  EXPECT_TRUE(info.ecc);
  EXPECT_FALSE(info.integrated);
  EXPECT_FALSE(info.l2_bytes);
}

TEST_F(NvmlSurvey, ReadsTheInstancesOfAGpuInMigMode) {
  const auto survey = survey_nvml();
  ASSERT_EQ(survey.gpus.size(), 2U);
  const auto& gpu = survey.gpus[1];
  EXPECT_TRUE(gpu.mig_mode);
  EXPECT_EQ(gpu.info.pci.domain, 1U);
  ASSERT_EQ(gpu.instances.size(), 2U);
  EXPECT_EQ(to_string(gpu.instances[0].info.uuid), "MIG-00000010-0000-0000-0000-000000000000");
  EXPECT_EQ(to_string(gpu.instances[1].info.uuid), "MIG-00000013-0000-0000-0000-000000000000");
  EXPECT_EQ(gpu.instances[1].gpu_instance, 10U);
  EXPECT_EQ(gpu.instances[1].info.name, "NVIDIA H200 MIG 1g.18gb");
  EXPECT_EQ(gpu.instances[1].info.pci, gpu.info.pci);
  EXPECT_EQ(gpu.instances[1].info.multiprocessors, 16);
  EXPECT_EQ(gpu.instances[1].info.total_memory_bytes, std::int64_t{18} << 30);
  EXPECT_EQ(gpu.instances[1].info.memory_bus_bits, 6144 / 8) << "an eighth of the memory";
}

TEST_F(NvmlSurvey, SaysWhyAGpuCannotBeOpened) {
  const auto survey = survey_nvml();
  ASSERT_EQ(survey.unreadable.size(), 1U);
  EXPECT_EQ(survey.unreadable[0], "GPU 1: Insufficient Permissions");
}

TEST_F(NvmlSurvey, TellsABrokenGpuFromOneThatIsNotForThisProcess) {
  EXPECT_TRUE(survey_nvml().broken.empty());
  fake_->lost = 0;
  fake_->lost_instance = 3;
  const auto survey = survey_nvml();
  ASSERT_EQ(survey.gpus.size(), 1U);
  EXPECT_EQ(survey.gpus[0].instances.size(), 1U);
  EXPECT_EQ(survey.unreadable.size(), 2U);
  EXPECT_EQ(survey.broken,
            (std::vector<std::string>{"GPU 0: Some Error", "GPU 2 MIG instance 3: Some Error"}));
}

TEST_F(NvmlSurvey, ADriverThatIsNotLoaded) {
  fake_->init = nvml::Status::driver_not_loaded;
  expect_absent(Reason::no_driver, "not loaded");
}

TEST_F(NvmlSurvey, ADriverThatDoesNotStart) {
  fake_->init = static_cast<nvml::Status>(18);
  expect_absent(Reason::driver_error, "Some Error");
}

TEST_F(NvmlSurvey, ADriverWithoutCuda) {
  fake_->cuda_library = nvml::Status::library_not_found;
  expect_absent(Reason::no_driver, "libcuda.so.1");
}

TEST_F(NvmlSurvey, NoGpuIsNoFault) {
  fake_->devices = 0;
  const auto survey = survey_nvml();
  EXPECT_FALSE(survey.absence);
  EXPECT_TRUE(survey.gpus.empty());
}

}  // namespace
}  // namespace TESSERA_NAMESPACE::detail

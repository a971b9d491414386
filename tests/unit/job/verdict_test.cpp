// SPDX-License-Identifier: Apache-2.0
#include <tessera/job/job.hpp>
#include <tessera/job/verdict.hpp>

#include <gtest/gtest.h>

#include <sstream>

namespace tessera {
namespace {

TEST(Verdict, SaysHowManyDevicesComputed) {
  Verdict verdict;
  verdict.ran = Verdict::Ran::devices;
  verdict.devices = 8;
  EXPECT_EQ(to_string(verdict), "computed on 8 devices");
  verdict.devices = 1;
  EXPECT_EQ(to_string(verdict), "computed on 1 device");
  verdict.simulated = true;
  EXPECT_EQ(to_string(verdict), "computed on 1 simulated device");
  verdict.devices = 2;
  EXPECT_EQ(to_string(verdict), "computed on 2 simulated devices");
  verdict.hosts = 1;
  EXPECT_EQ(to_string(verdict), "computed on 2 simulated devices and 1 host");
  verdict.hosts = 3;
  verdict.simulated = false;
  EXPECT_EQ(to_string(verdict), "computed on 2 devices and 3 hosts");
}

TEST(Verdict, TellsSharesOfADeviceFromDevices) {
  Verdict verdict;
  verdict.ran = Verdict::Ran::devices;
  verdict.devices = 1;
  verdict.shares = 8;
  EXPECT_EQ(to_string(verdict), "computed on 1 device in 8 shares");
  verdict.hosts = 2;
  EXPECT_EQ(to_string(verdict), "computed on 1 device in 8 shares and 2 hosts");
  verdict.shares = 1;
  verdict.hosts = 0;
  verdict.excluded = {{.rank = 3, .hostname = "node7", .stage = "tile", .reason = "lost"}};
  EXPECT_EQ(to_string(verdict),
            "computed on 1 device in 1 share, without 1 share that failed: rank 3 (node7) device 0 failed in "
            "tile: lost");
}

TEST(Verdict, SaysWhyNoDeviceComputed) {
  Verdict verdict;
  verdict.absence = "no NVIDIA driver is installed";
  EXPECT_EQ(to_string(verdict), "computed on the CPU: no NVIDIA driver is installed");
}

TEST(Verdict, NamesTheFirstFailure) {
  Verdict verdict;
  verdict.ran = Verdict::Ran::fallback;
  verdict.failure = {.rank = 3,
                     .hostname = "node7",
                     .device = 1,
                     .uuid = "GPU-8932f937-d72c-4106-c12f-20bd9faed9f6",
                     .stage = "tile",
                     .reason = "an illegal memory access"};
  EXPECT_EQ(to_string(verdict),
            "computed on the CPU: rank 3 (node7) device 1 GPU-8932f937-d72c-4106-c12f-20bd9faed9f6 failed in "
            "tile: an illegal memory access");
  verdict.failure.uuid.clear();
  verdict.failure.stage = "probe";
  std::ostringstream text;
  text << verdict;
  EXPECT_EQ(text.str(),
            "computed on the CPU: rank 3 (node7) device 1 failed in probe: an illegal memory access");
}

TEST(Verdict, IsWrittenWithoutCommandsToATerminal) {
  Verdict verdict;
  verdict.ran = Verdict::Ran::fallback;
  verdict.failure.rank = 3;
  verdict.failure.hostname = "node\x1b]52;c;aGk=\a";
  verdict.failure.stage = "tile";
  verdict.failure.reason = "read\nme";
  std::ostringstream text;
  text << verdict;
  EXPECT_EQ(text.str(),
            "computed on the CPU: rank 3 (node\\x1b]52;c;aGk=\\x07) device 0 failed in tile: read\\x0ame");
}

TEST(Verdict, SaysHowUnevenTheWorkOfTheCpuWas) {
  Verdict verdict;
  verdict.absence = "the policy is cpu";
  verdict.imbalance = 1.04;
  verdict.busiest_rank = 2;
  EXPECT_EQ(to_string(verdict), "computed on the CPU: the policy is cpu");
  verdict.imbalance = 2.66;
  EXPECT_EQ(
      to_string(verdict),
      "computed on the CPU, unevenly (by a plan for devices rank 2 had 2.7 times an even share): the policy "
      "is cpu");
  verdict.ran = Verdict::Ran::fallback;
  verdict.failure = {
      .rank = 3, .hostname = "node7", .device = 1, .uuid = "", .stage = "tile", .reason = "heat"};
  EXPECT_EQ(
      to_string(verdict),
      "computed on the CPU, unevenly (by a plan for devices rank 2 had 2.7 times an even share): rank 3 "
      "(node7) device 1 failed in tile: heat");
}

TEST(Policy, HasTheNamesOfTheCommandLine) {
  EXPECT_EQ(to_string(Policy::automatic), "auto");
  EXPECT_EQ(to_string(Policy::gpu), "gpu");
  EXPECT_EQ(to_string(Policy::cpu), "cpu");
}

}  // namespace
}  // namespace tessera

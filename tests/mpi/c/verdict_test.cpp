// SPDX-License-Identifier: Apache-2.0
#include "mpi/c/c_testing.hpp"

#include <string>

namespace tessera::testing {
namespace {

int nothing_on_host(const tessera_host_tile*, void*, void*) {
  return 0;
}
int nothing(const OwnedJob& job, tessera_device_function on_device = no_device,
            tessera_host_function on_host = nothing_on_host) {
  const OwnedPlan plan = planned(job, 1000);
  const tessera_range mine = tessera_plan_local_range(plan.get());
  std::string units(static_cast<std::size_t>(mine.end - mine.begin), 'x');
  return tessera_scatter(job.get(), plan.get(), units.data(), mine.end - mine.begin, 1, 0, on_device, on_host,
                         nullptr);
}

TEST(CVerdict, TellsWhatComputed) {
  const ScopedVariable simulate("TESSERA_SIMULATE", "*:2xH200");
  const OwnedJob job = opened();
  ASSERT_EQ(nothing(job), TESSERA_OK);
  const tessera_verdict verdict = verdict_of(job);
  EXPECT_EQ(verdict.ran, TESSERA_RAN_DEVICES);
  EXPECT_EQ(verdict.devices, 2 * size_of_world());
  EXPECT_EQ(verdict.hosts, 0);
  EXPECT_EQ(verdict.simulated, 1);
  EXPECT_EQ(verdict.excluded_count, 0);
  EXPECT_EQ(verdict.excluded, nullptr);
  EXPECT_EQ(verdict.failure, nullptr);
  EXPECT_STREQ(verdict.absence, "");
}

TEST(CVerdict, TellsWhyNoDeviceWasUsed) {
  const OwnedJob job = opened(&tessera_options::policy, TESSERA_POLICY_CPU);
  const tessera_verdict verdict = verdict_of(job);
  EXPECT_EQ(verdict.ran, TESSERA_RAN_HOST);
  EXPECT_NE(std::string(tessera_job_verdict(job.get())).find(verdict.absence), std::string::npos);
  EXPECT_STRNE(verdict.absence, "");
}

TEST(CVerdict, TellsHowAPassEnded) {
  const ScopedVariable simulate("TESSERA_SIMULATE", "*:H200");
  const OwnedJob job = opened();
  EXPECT_EQ(nothing(job, nullptr, [](const tessera_host_tile*, void*, void*) { return 9; }),
            TESSERA_JOB_FAULT);
  const tessera_verdict verdict = verdict_of(job);
  EXPECT_EQ(verdict.ran, TESSERA_RAN_NONE);
  EXPECT_NE(std::string(verdict.reason).find("returned 9"), std::string::npos) << verdict.reason;
  EXPECT_EQ(tessera_job_last_verdict(nullptr), nullptr);
  EXPECT_STREQ(tessera_error(), "tessera_job_last_verdict: job is null");
}

#ifdef TESSERA_HAVE_FAULTS
TEST(CVerdict, ListsTheDevicesThatWereLeftOut) {
  const ScopedVariable simulate("TESSERA_SIMULATE", "*:3xH200");
  const ScopedVariable fault("TESSERA_FAULT", "throw@rank0.device2:pass1, throw@rank0.device0:pass2");
  const OwnedJob job = opened(&tessera_options::on_device_failure, TESSERA_ON_FAILURE_EXCLUDE);
  ASSERT_EQ(nothing(job), TESSERA_OK) << tessera_error();
  ASSERT_EQ(nothing(job), TESSERA_OK) << tessera_error();
  const tessera_verdict verdict = verdict_of(job);
  EXPECT_EQ(verdict.ran, TESSERA_RAN_DEVICES);
  ASSERT_EQ(verdict.excluded_count, 2);
  const int order[] = {2, 0};
  for (int i = 0; i < 2; ++i) {
    const tessera_failure& failure = verdict.excluded[i];
    EXPECT_EQ(failure.rank, 0);
    EXPECT_EQ(failure.device, order[i]);
    EXPECT_STREQ(failure.stage, "tile");
    EXPECT_STRNE(failure.uuid, "");
    EXPECT_STRNE(failure.hostname, "");
    EXPECT_STRNE(failure.reason, "");
  }
}

TEST(CVerdict, TellsTheFailureThatLedToTheFallback) {
  const ScopedVariable simulate("TESSERA_SIMULATE", "*:H200");
  const std::string last = std::to_string(size_of_world() - 1);
  const ScopedVariable fault("TESSERA_FAULT", ("throw@rank" + last).c_str());
  const OwnedJob job = opened();
  ASSERT_EQ(nothing(job), TESSERA_OK) << tessera_error();
  const tessera_verdict verdict = verdict_of(job);
  EXPECT_EQ(verdict.ran, TESSERA_RAN_FALLBACK);
  ASSERT_NE(verdict.failure, nullptr);
  EXPECT_EQ(verdict.failure->rank, size_of_world() - 1);
  EXPECT_EQ(verdict.failure->device, 0);
  EXPECT_EQ(verdict.excluded_count, 0);
}
#endif

}  // namespace
}  // namespace tessera::testing

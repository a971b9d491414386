// SPDX-License-Identifier: Apache-2.0
#include "mpi/c/c_testing.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

namespace tessera::testing {
namespace {

using Units = std::vector<std::int64_t>;

/// The units of this rank, each with its number.
Units numbered(const OwnedPlan& plan) {
  const tessera_range mine = tessera_plan_local_range(plan.get());
  Units units(static_cast<std::size_t>(mine.end - mine.begin));
  std::iota(units.begin(), units.end(), mine.begin);
  return units;
}

/// Computes in place, so that a unit computed twice, or by another tile, is wrong.
int triple_on_host(const tessera_host_tile* tile, void* units, void*) {
  auto* const values = static_cast<std::int64_t*>(units);
  for (std::int64_t i = 0; i < tile->range.end - tile->range.begin; ++i)
    values[i] = values[i] == tile->range.begin + i ? 3 * values[i] : -1;
  return 0;
}
int triple_map_on_host(const tessera_host_tile* tile, const void* units, void* results, void*) {
  const auto* const values = static_cast<const std::int64_t*>(units);
  for (std::int64_t i = 0; i < tile->range.end - tile->range.begin; ++i)
    static_cast<std::int32_t*>(results)[i] += static_cast<std::int32_t>(3 * values[i]);
  return 0;
}

int scattered(const OwnedJob& job, const OwnedPlan& plan, Units& units,
              tessera_host_function on_host = triple_on_host, void* context = nullptr) {
  return tessera_scatter(job.get(), plan.get(), units.data(), static_cast<std::int64_t>(units.size()),
                         sizeof units[0], 0, no_device, on_host, context);
}
void expect_tripled(const OwnedPlan& plan, const auto& values) {
  std::int64_t unit = tessera_plan_local_range(plan.get()).begin;
  for (const auto value : values) {
    ASSERT_EQ(value, 3 * unit) << "unit " << unit;
    ++unit;
  }
}

#ifdef TESSERA_HAVE_FAULTS
TEST(COptions, UnitsMoveToOtherRanksWhereThatIsAllowed) {
  if (size_of_world() == 1) GTEST_SKIP() << "without its rank's devices the job falls back";
  const ScopedVariable simulate("TESSERA_SIMULATE", "*:H200");
  const ScopedVariable fault("TESSERA_FAULT", "throw@rank0:pass1");
  tessera_options options = TESSERA_DEFAULT_OPTIONS;
  options.on_device_failure = TESSERA_ON_FAILURE_EXCLUDE;
  options.may_move_units = 1;
  const OwnedJob job = opened(&options);
  const OwnedPlan plan = planned(job, 1001);
  for (const char* pass : {"the one that fails", "the next one"}) {
    Units units = numbered(plan);
    ASSERT_EQ(scattered(job, plan, units), TESSERA_OK) << pass << ": " << tessera_error();
    expect_tripled(plan, units);
    EXPECT_EQ(tessera_job_on_host(job.get()), 0) << pass;
  }
  const Units units = numbered(plan);
  std::vector<std::int32_t> results(units.size(), -1);
  ASSERT_TRUE(ok(tessera_map(job.get(), plan.get(), units.data(), static_cast<std::int64_t>(units.size()),
                             sizeof units[0], results.data(), sizeof results[0], 0, no_device,
                             triple_map_on_host, nullptr)));
  expect_tripled(plan, results);
}
#endif

/// The answer of a measuring function.
struct Sample {
  std::atomic<int> calls = 0;
  std::int64_t units = 1;
};
std::int64_t measure_on_host(const tessera_host_tile*, void* context) {
  auto& sample = *static_cast<Sample*>(context);
  ++sample.calls;
  return sample.units;
}
std::int64_t measure_on_device(tessera_tile*, void*) {
  return 1;
}
tessera_options measured_with(Sample& sample) {
  tessera_options options = TESSERA_DEFAULT_OPTIONS;
  options.score_model = TESSERA_SCORE_MEASURED;
  options.measure = measure_on_device;
  options.measure_on_host = measure_on_host;
  options.measure_context = &sample;
  return options;
}

TEST(COptions, MeasuresSimulatedDevicesByTheFunctionForHosts) {
  const ScopedVariable simulate("TESSERA_SIMULATE", "*:H200");
  Sample sample;
  const tessera_options options = measured_with(sample);
  OwnedJob job = opened(&options);
  ASSERT_TRUE(job);
  EXPECT_EQ(sample.calls, 2) << "to warm up, and timed";
  EXPECT_EQ(tessera_job_on_host(job.get()), 0);

  job.reset();  // and its devices are free
  sample.units = 0;
  job = opened(&options);
  const tessera_verdict verdict = verdict_of(job);
  EXPECT_EQ(verdict.ran, TESSERA_RAN_FALLBACK);
  ASSERT_NE(verdict.failure, nullptr);
  EXPECT_STREQ(verdict.failure->stage, "score");
}

TEST(COptions, HostsComputeBesideDevices) {
  const ScopedVariable simulate("TESSERA_SIMULATE", "*:H200");
  Sample sample;
  tessera_options options = measured_with(sample);
  options.threads = 2;
  options.hosts = 1;
  const OwnedJob job = opened(&options);
  ASSERT_TRUE(job);
  const OwnedPlan plan = planned(job, 100'000);
  Units units = numbered(plan);
  std::atomic<unsigned> devices = 0;  // a bit for each
  const auto note_device = [](const tessera_host_tile* tile, void* part, void* context) {
    *static_cast<std::atomic<unsigned>*>(context) |= 1U << static_cast<unsigned>(tile->device);
    return triple_on_host(tile, part, nullptr);
  };
  ASSERT_EQ(scattered(job, plan, units, note_device, &devices), TESSERA_OK) << tessera_error();
  expect_tripled(plan, units);
  const tessera_verdict verdict = verdict_of(job);
  EXPECT_EQ(verdict.devices, size_of_world());
  EXPECT_EQ(verdict.hosts, size_of_world());
  EXPECT_EQ(devices, 3U) << "the GPU is device 0, the host device 1";
}

TEST(COptions, RefusesHostsWithoutMeasuredScoresAndUnknownModels) {
  const ScopedVariable simulate("TESSERA_SIMULATE", "*:H200");
  tessera_job* none = nullptr;
  tessera_options options = TESSERA_DEFAULT_OPTIONS;
  options.hosts = 1;
  EXPECT_EQ(tessera_job_open(MPI_COMM_WORLD, &options, &none), TESSERA_USAGE);
  options = TESSERA_DEFAULT_OPTIONS;
  options.score_model = 3;
  EXPECT_EQ(tessera_job_open(MPI_COMM_WORLD, &options, &none), TESSERA_USAGE);
  expect_error_with("tessera_options has the score model 3");
  EXPECT_EQ(none, nullptr);
}

/// `tessera_options` of version 2, and memory of the program after it.
struct SecondOptions {
  std::int32_t version, policy, on_device_failure, allow_sharing, threads;
  double collective_timeout_seconds, memory_fraction;
  std::int32_t parts_in_flight;
  std::int32_t not_options[18];
};
static_assert(offsetof(SecondOptions, not_options) == offsetof(tessera_options, may_move_units));
static_assert(sizeof(SecondOptions) >= sizeof(tessera_options));

TEST(COptions, ReadsNoMoreThanVersionTwoHas) {
  SecondOptions second{2, TESSERA_POLICY_CPU, 0, 0, 1, 60, 0.5, 2, {}};
  for (std::int32_t& garbage : second.not_options) garbage = -1;
  const OwnedJob job = opened(reinterpret_cast<const tessera_options*>(&second));
  EXPECT_TRUE(job);
}

TEST(COptions, WorkRunsAliveOnAThreadOfTheJob) {
  const OwnedJob job = opened();
  int result = 0;
  const auto set = [](void* context) {
    *static_cast<int*>(context) = 7;
    return 0;
  };
  EXPECT_EQ(tessera_job_run_alive(job.get(), set, &result), TESSERA_OK) << tessera_error();
  EXPECT_EQ(result, 7);
  EXPECT_EQ(tessera_job_run_alive(
                job.get(), [](void*) { return 5; }, nullptr),
            TESSERA_JOB_FAULT);
  expect_error_with("the function of tessera_job_run_alive returned 5");
  EXPECT_EQ(tessera_job_run_alive(job.get(), nullptr, nullptr), TESSERA_USAGE);
}

}  // namespace
}  // namespace tessera::testing

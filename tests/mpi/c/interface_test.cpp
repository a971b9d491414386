// SPDX-License-Identifier: Apache-2.0
#include "mpi/job/scoped_variable.hpp"

#include <tessera/tessera.h>
#include <tessera/job/reproducible_sum.hpp>
#include <tessera/version.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

namespace tessera::testing {
namespace {

struct CloseJob {
  void operator()(tessera_job* job) const { tessera_job_close(job); }
};
struct ClosePlan {
  void operator()(tessera_plan* plan) const { tessera_plan_close(plan); }
};
using OwnedJob = std::unique_ptr<tessera_job, CloseJob>;
using OwnedPlan = std::unique_ptr<tessera_plan, ClosePlan>;

int rank_of_world() {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  return rank;
}
int size_of_world() {
  int size = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  return size;
}

OwnedJob opened(const tessera_options* options = nullptr) {
  tessera_job* job = nullptr;
  EXPECT_EQ(tessera_job_open(MPI_COMM_WORLD, options, &job), TESSERA_OK) << tessera_error();
  return OwnedJob(job);
}
OwnedPlan planned(const OwnedJob& job, std::int64_t units, std::int64_t block = 1) {
  tessera_plan* plan = nullptr;
  EXPECT_EQ(tessera_plan_open(job.get(), units, block, &plan), TESSERA_OK) << tessera_error();
  return OwnedPlan(plan);
}

/// A unit of 24 bytes, whose size the library is told when the program runs.
struct Point {
  double x, y, norm;
};

std::vector<Point> points_of(const OwnedPlan& plan) {
  const tessera_range mine = tessera_plan_local_range(plan.get());
  std::vector<Point> points;
  for (std::int64_t i = mine.begin; i < mine.end; ++i) {
    const auto x = static_cast<double>(i);
    points.push_back({x, x + 1, 0});
  }
  return points;
}

struct Calls {
  std::atomic<int> on_devices = 0;
  int failing_rank = -1;  ///< whose host function fails
};

int norm_on_host(const tessera_host_tile* tile, void* units, void* context) {
  if (static_cast<const Calls*>(context)->failing_rank == rank_of_world()) return 7;
  auto* points = static_cast<Point*>(units);
  for (std::int64_t i = 0; i < tile->range.end - tile->range.begin; ++i) {
    // In place, so that units which were computed twice are wrong.
    points[i].x += 1;
    points[i].norm = std::hypot(points[i].x, points[i].y);
  }
  return 0;
}
int norm_on_device(tessera_tile* tile, void*, void* context) {
  ++static_cast<Calls*>(context)->on_devices;
  tessera_tile_fail(tile, "the test has no function for real devices");
  return 0;
}

int scatter_points(const OwnedJob& job, const OwnedPlan& plan, std::vector<Point>& points, Calls& calls,
                   tessera_device_function on_device = norm_on_device) {
  return tessera_scatter(job.get(), plan.get(), points.data(), static_cast<std::int64_t>(points.size()),
                         sizeof(Point), sizeof(Point), on_device, norm_on_host, &calls);
}

void expect_norms(const OwnedPlan& plan, const std::vector<Point>& points) {
  std::int64_t i = tessera_plan_local_range(plan.get()).begin;
  for (const Point& point : points) {
    const auto x = static_cast<double>(i++);
    ASSERT_EQ(point.norm, std::hypot(x + 1, x + 1)) << "unit " << i - 1;
  }
}

TEST(CInterface, TellsItsVersions) {
  EXPECT_EQ(tessera_c_version(), TESSERA_C_VERSION);
  EXPECT_STREQ(tessera_library_version(), version());
}

TEST(CInterface, PlansCoverTheUnits) {
  const ScopedVariable simulate("TESSERA_SIMULATE", "*:H200+T4");
  const OwnedJob job = opened();
  const OwnedPlan plan = planned(job, 1000, 10);
  std::int64_t covered = 0;
  for (int rank = 0; rank < size_of_world(); ++rank) {
    tessera_range range{-1, -1};
    ASSERT_EQ(tessera_plan_range_of(plan.get(), rank, &range), TESSERA_OK);
    EXPECT_EQ(range.begin, covered);
    if (rank == rank_of_world()) {
      EXPECT_EQ(range.end, tessera_plan_local_range(plan.get()).end);
    }
    covered = range.end;
  }
  EXPECT_EQ(covered, 1000);
  tessera_range range{};
  EXPECT_EQ(tessera_plan_range_of(plan.get(), size_of_world(), &range), TESSERA_USAGE);
}

TEST(CInterface, ScattersUnitsOfAnySize) {
  const ScopedVariable simulate("TESSERA_SIMULATE", "*:2xH200");
  const OwnedJob job = opened();
  const OwnedPlan plan = planned(job, 1001);
  std::vector<Point> points = points_of(plan);
  Calls calls;
  EXPECT_EQ(scatter_points(job, plan, points, calls), TESSERA_OK) << tessera_error();
  expect_norms(plan, points);
  EXPECT_EQ(tessera_job_on_host(job.get()), 0);
  EXPECT_EQ(std::string(tessera_job_verdict(job.get())),
            "computed on " + std::to_string(2 * size_of_world()) + " simulated devices");
}

#ifdef TESSERA_HAVE_FAULTS
TEST(CInterface, UndoesWhatDevicesHaveWrittenBeforeAFallback) {
  const ScopedVariable simulate("TESSERA_SIMULATE", "*:2xH200");
  const ScopedVariable fault("TESSERA_FAULT", "throw@rank0.device1");
  const OwnedJob job = opened();
  const OwnedPlan plan = planned(job, 1001);
  std::vector<Point> points = points_of(plan);
  Calls calls;
  EXPECT_EQ(scatter_points(job, plan, points, calls), TESSERA_OK) << tessera_error();
  expect_norms(plan, points);
  EXPECT_EQ(tessera_job_on_host(job.get()), 1);
  EXPECT_NE(std::string(tessera_job_verdict(job.get())).find("device 1"), std::string::npos);
}

TEST(CInterface, GoesOnWithoutADeviceThatFails) {
  const ScopedVariable simulate("TESSERA_SIMULATE", "*:2xH200");
  const ScopedVariable fault("TESSERA_FAULT", "throw@rank0.device1");
  tessera_options options = TESSERA_DEFAULT_OPTIONS;
  options.on_device_failure = TESSERA_ON_FAILURE_EXCLUDE;
  const OwnedJob job = opened(&options);
  const OwnedPlan plan = planned(job, 1001);
  std::vector<Point> points = points_of(plan);
  Calls calls;
  EXPECT_EQ(scatter_points(job, plan, points, calls), TESSERA_OK) << tessera_error();
  expect_norms(plan, points);
  EXPECT_EQ(tessera_job_on_host(job.get()), 0);
  EXPECT_NE(std::string(tessera_job_verdict(job.get())).find("without 1 that failed"), std::string::npos)
      << tessera_job_verdict(job.get());
}

TEST(CInterface, TellsThatAPlanIsOutdated) {
  if (size_of_world() == 1) GTEST_SKIP() << "without its rank's devices the job falls back";
  const ScopedVariable simulate("TESSERA_SIMULATE", "*:H200");
  const ScopedVariable fault("TESSERA_FAULT", "throw@rank0");
  tessera_options options = TESSERA_DEFAULT_OPTIONS;
  options.on_device_failure = TESSERA_ON_FAILURE_EXCLUDE;
  const OwnedJob job = opened(&options);
  const OwnedPlan plan = planned(job, 1001);
  std::vector<Point> points = points_of(plan);
  Calls calls;
  EXPECT_EQ(scatter_points(job, plan, points, calls), TESSERA_OUTDATED_PLAN);
  const OwnedPlan newer = planned(job, 1001);
  points = points_of(newer);
  EXPECT_EQ(scatter_points(job, newer, points, calls), TESSERA_OK) << tessera_error();
  expect_norms(newer, points);
}
#endif

TEST(CInterface, ScattersOnHostsAlone) {
  const ScopedVariable simulate("TESSERA_SIMULATE", "*:H200");
  const OwnedJob job = opened();
  const OwnedPlan plan = planned(job, 100);
  std::vector<Point> points = points_of(plan);
  Calls calls;
  EXPECT_EQ(scatter_points(job, plan, points, calls, nullptr), TESSERA_OK) << tessera_error();
  expect_norms(plan, points);
  EXPECT_NE(std::string(tessera_job_verdict(job.get())).find("for hosts alone"), std::string::npos);
}

TEST(CInterface, AHostFunctionThatFailsFailsEverywhere) {
  tessera_options options = TESSERA_DEFAULT_OPTIONS;
  options.policy = TESSERA_POLICY_CPU;
  const OwnedJob job = opened(&options);
  const OwnedPlan plan = planned(job, 100);
  std::vector<Point> points = points_of(plan);
  Calls calls;
  calls.failing_rank = size_of_world() - 1;
  EXPECT_EQ(scatter_points(job, plan, points, calls), TESSERA_JOB_FAULT);
  EXPECT_NE(std::string(tessera_error()).find("the host function returned 7 for the units from"),
            std::string::npos)
      << tessera_error();
}

int sum_on_host(const tessera_host_tile* tile, double* partial, void*) {
  for (std::int64_t i = tile->range.begin; i < tile->range.end; ++i) {
    partial[0] += std::sin(static_cast<double>(i));
    partial[1] += 1;
  }
  return 0;
}
int sum_on_device(tessera_tile* tile, tessera_sum*, void*) {
  tessera_tile_fail(tile, "the test has no function for real devices");
  return 0;
}

TEST(CInterface, ReducesToTheSameBits) {
  std::vector<double> first;
  for (const char* devices : {"*:H200", "*:2xH200+T4"}) {
    const ScopedVariable simulate("TESSERA_SIMULATE", devices);
    const OwnedJob job = opened();
    const OwnedPlan plan = planned(job, 10'000, 64);
    std::vector<double> sums(2);
    ASSERT_EQ(tessera_reduce(job.get(), plan.get(), 2, 0, sum_on_device, sum_on_host, nullptr, sums.data()),
              TESSERA_OK)
        << tessera_error();
    EXPECT_EQ(sums[1], 10'000);
    if (first.empty()) first = sums;
    EXPECT_EQ(sums, first);
  }
}

TEST(CInterface, AddsTheBlocksOfADevice) {
  ReproducibleSum sum(2);
  auto* const handle = reinterpret_cast<tessera_sum*>(&sum);
  for (const double block : {1.0, 2.0, 3.5}) {
    const double values[2] = {block, -block};
    EXPECT_EQ(tessera_sum_add(handle, values), TESSERA_OK);
  }
  EXPECT_EQ(sum.values(), (std::vector{6.5, -6.5}));
}

TEST(CInterface, AgreesOnWorkOutsideOfPasses) {
  const OwnedJob job = opened();
  EXPECT_EQ(tessera_together(job.get(), "the reading", TESSERA_OK, nullptr), TESSERA_OK);
  const int last = size_of_world() - 1;
  const int mine = rank_of_world() == last ? TESSERA_INPUT : TESSERA_OK;
  EXPECT_EQ(tessera_together(job.get(), "the reading", mine, "no column \"age\""), TESSERA_INPUT);
  const std::string error = tessera_error();
  for (const std::string& part :
       {"rank " + std::to_string(last), std::string("the reading"), std::string("no column \"age\"")})
    EXPECT_NE(error.find(part), std::string::npos) << error;
  for (const int status :
       {TESSERA_NOT_CONVERGED, TESSERA_JOB_FAULT, TESSERA_OUTDATED_PLAN, TESSERA_INTERRUPTED})
    EXPECT_EQ(tessera_together(job.get(), "the reading", status, nullptr), status);
  EXPECT_EQ(tessera_together(job.get(), "the reading", 1, nullptr), TESSERA_USAGE) << "1 is no status";
}

TEST(CInterface, RefusesOptionsThatItDoesNotKnow) {
  tessera_job* job = nullptr;
  for (const auto change : {0, 1, 2, 3}) {
    tessera_options options = TESSERA_DEFAULT_OPTIONS;
    if (change == 0) options.version = TESSERA_C_VERSION + 1;
    if (change == 1) options.policy = 3;
    if (change == 3) options.on_device_failure = -1;
    if (change == 2) options.collective_timeout_seconds = std::nan("");
    EXPECT_EQ(tessera_job_open(MPI_COMM_WORLD, &options, &job), TESSERA_USAGE);
    EXPECT_EQ(job, nullptr);
    EXPECT_NE(std::string(tessera_error()).find("tessera_options has "), std::string::npos)
        << tessera_error();
  }
  tessera_options options = TESSERA_DEFAULT_OPTIONS;
  options.policy = TESSERA_POLICY_GPU;
  const ScopedVariable simulate("TESSERA_SIMULATE", "rank99:H200");
  EXPECT_EQ(tessera_job_open(MPI_COMM_WORLD, &options, &job), TESSERA_DEVICE_ABSENT);
}

TEST(CInterface, RefusesWhatIsNull) {
  EXPECT_EQ(tessera_job_open(MPI_COMM_WORLD, nullptr, nullptr), TESSERA_USAGE);
  EXPECT_STREQ(tessera_error(), "tessera_job_open: job is null");
  const OwnedJob job = opened();
  EXPECT_EQ(tessera_plan_open(job.get(), 10, 1, nullptr), TESSERA_USAGE);
  const OwnedPlan plan = planned(job, 10 * size_of_world());
  Calls calls;
  EXPECT_EQ(tessera_scatter(job.get(), plan.get(), nullptr, tessera_plan_local_range(plan.get()).end, 8, 8,
                            norm_on_device, norm_on_host, &calls),
            TESSERA_USAGE);
  EXPECT_EQ(tessera_scatter(job.get(), plan.get(), &calls, -1, 8, 8, norm_on_device, norm_on_host, &calls),
            TESSERA_USAGE)
      << "that is not the rank's part of the plan";
  tessera_job_close(nullptr);
  tessera_plan_close(nullptr);
}

TEST(CInterface, TakesACommunicatorOfFortran) {
  tessera_job* job = nullptr;
  ASSERT_EQ(tessera_job_open_fortran(MPI_Comm_c2f(MPI_COMM_WORLD), nullptr, &job), TESSERA_OK)
      << tessera_error();
  tessera_job_close(job);
}

}  // namespace
}  // namespace tessera::testing

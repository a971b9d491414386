// SPDX-License-Identifier: Apache-2.0
#include "mpi/c/c_testing.hpp"
#include "support/errors.hpp"

#include <tessera/job/reproducible_sum.hpp>
#include <tessera/version.hpp>

#include <atomic>
#include <cmath>
#include <cstddef>
#include <string>
#include <vector>

namespace tessera::testing {
namespace {

/// A unit of 24 bytes; the library learns the size at run time.
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
    // Computed in place, so that a unit computed twice is wrong.
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
  EXPECT_EQ(calls.on_devices, 0) << "a simulation never calls the device function";
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
  const OwnedJob job = opened(&tessera_options::on_device_failure, TESSERA_ON_FAILURE_EXCLUDE);
  const OwnedPlan plan = planned(job, 1001);
  std::vector<Point> points = points_of(plan);
  Calls calls;
  EXPECT_EQ(scatter_points(job, plan, points, calls), TESSERA_OK) << tessera_error();
  expect_norms(plan, points);
  EXPECT_EQ(tessera_job_on_host(job.get()), 0);
  EXPECT_TRUE(contains(tessera_job_verdict(job.get()), "without 1 that failed"));
}

TEST(CInterface, TellsThatAPlanIsOutdated) {
  if (size_of_world() == 1) GTEST_SKIP() << "without its rank's devices the job falls back";
  const ScopedVariable simulate("TESSERA_SIMULATE", "*:H200");
  const ScopedVariable fault("TESSERA_FAULT", "throw@rank0");
  const OwnedJob job = opened(&tessera_options::on_device_failure, TESSERA_ON_FAILURE_EXCLUDE);
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
  EXPECT_NE(std::string(tessera_job_verdict(job.get())).find("runs only on hosts"), std::string::npos);
}

TEST(CInterface, AHostFunctionThatFailsFailsEverywhere) {
  const OwnedJob job = opened(&tessera_options::policy, TESSERA_POLICY_CPU);
  const OwnedPlan plan = planned(job, 100);
  std::vector<Point> points = points_of(plan);
  Calls calls;
  calls.failing_rank = size_of_world() - 1;
  EXPECT_EQ(scatter_points(job, plan, points, calls), TESSERA_JOB_FAULT);
  EXPECT_TRUE(contains(tessera_error(), "the host function returned 7 for the units beginning at"));
}

/// The calls of one rank's host function, whose results are ignored.
struct CallsWithin {
  tessera_job* job = nullptr;
  tessera_plan* plan = nullptr;
  tessera_array* array = nullptr;
  int returned = 0;
};
int scatter_within(const tessera_host_tile*, void*, void* context) {
  const CallsWithin& given = *static_cast<const CallsWithin*>(context);
  if (rank_of_world() == size_of_world() - 1)
    (void)tessera_scatter(given.job, given.plan, nullptr, 0, 1, 0, nullptr, scatter_within, context);
  return given.returned;
}
int overwrite_within(const tessera_host_tile*, void*, void* context) {
  const CallsWithin& given = *static_cast<const CallsWithin*>(context);
  if (rank_of_world() == size_of_world() - 1) {
    EXPECT_EQ(tessera_array_overwrite(given.array), nullptr);
  }
  return given.returned;
}

TEST(CInterface, ACallWithinAFunctionOfAPassEndsThePassThoughItsStatusIsIgnored) {
  const ScopedVariable no_fault("TESSERA_FAULT", std::nullopt);
  for (const char* devices : {"rank9999:T4", "*:2xT4"}) {
    const ScopedVariable simulate("TESSERA_SIMULATE", devices);
    const OwnedJob job = opened();
    const OwnedPlan plan = planned(job, 100);
    const OwnedArray array = array_over(job, plan, 8);
    for (const tessera_host_function within : {scatter_within, overwrite_within}) {
      for (const int returned : {0, 7}) {
        CallsWithin context{job.get(), plan.get(), array.get(), returned};
        const auto mine = tessera_plan_local_range(plan.get());
        std::vector<char> units(static_cast<std::size_t>(mine.end - mine.begin));
        EXPECT_EQ(tessera_scatter(job.get(), plan.get(), units.data(), std::ssize(units), 1, 0, no_device,
                                  within, &context),
                  TESSERA_USAGE)
            << devices << ", " << returned;
        expect_error_with("make collective calls on the main thread, between passes");
        EXPECT_EQ(tessera_array_version(array.get()), 0);
      }
    }
  }
}

int sum_on_host(const tessera_host_tile* tile, double* partial, void*) {
  for (std::int64_t i = tile->range.begin; i < tile->range.end; ++i) {
    partial[0] += std::sin(static_cast<double>(i));
    partial[1] += 1;
  }
  return 0;
}

/// Adds the sum of a point's coordinates to the initial result.
int add_on_host(const tessera_host_tile* tile, const void* units, void* results, void* context) {
  if (static_cast<const Calls*>(context)->failing_rank == rank_of_world()) return 7;
  const auto* const points = static_cast<const Point*>(units);
  for (std::int64_t i = 0; i < tile->range.end - tile->range.begin; ++i)
    static_cast<float*>(results)[i] += static_cast<float>(points[i].x + points[i].y);
  return 0;
}

constexpr float untouched = -1;

int map_points(const OwnedJob& job, const OwnedPlan& plan, std::vector<float>& sums, Calls& calls,
               tessera_device_map on_device = no_device) {
  const std::vector<Point> points = points_of(plan);
  sums.assign(points.size(), untouched);
  return tessera_map(job.get(), plan.get(), points.data(), static_cast<std::int64_t>(points.size()),
                     sizeof(Point), sums.data(), sizeof(float), sizeof(Point) + sizeof(float), on_device,
                     add_on_host, &calls);
}

void expect_sums(const OwnedPlan& plan, const std::vector<float>& sums) {
  std::int64_t i = tessera_plan_local_range(plan.get()).begin;
  for (const float sum : sums) {
    ASSERT_EQ(sum, static_cast<float>(2 * i + 1)) << "unit " << i;
    ++i;
  }
}

TEST(CInterface, MapsToResultsOfAnotherSize) {
  const ScopedVariable simulate("TESSERA_SIMULATE", "*:2xH200");
  const OwnedJob job = opened();
  const OwnedPlan plan = planned(job, 1001);
  std::vector<float> sums;
  Calls calls;
  for (const auto on_device : std::initializer_list<tessera_device_map>{no_device, nullptr}) {
    EXPECT_EQ(map_points(job, plan, sums, calls, on_device), TESSERA_OK) << tessera_error();
    expect_sums(plan, sums);
  }
}

#ifdef TESSERA_HAVE_FAULTS
TEST(CInterface, MapsAgainFromZerosAfterADeviceHasFailed) {
  const ScopedVariable simulate("TESSERA_SIMULATE", "*:2xH200");
  const ScopedVariable fault("TESSERA_FAULT", "throw@rank0.device1");
  for (const int action : {TESSERA_ON_FAILURE_CPU, TESSERA_ON_FAILURE_EXCLUDE}) {
    tessera_options options = TESSERA_DEFAULT_OPTIONS;
    options.on_device_failure = action;
    const OwnedJob job = opened(&options);
    const OwnedPlan plan = planned(job, 1001);
    std::vector<float> sums;
    Calls calls;
    EXPECT_EQ(map_points(job, plan, sums, calls), TESSERA_OK) << tessera_error();
    expect_sums(plan, sums);
    EXPECT_EQ(tessera_job_on_host(job.get()), action == TESSERA_ON_FAILURE_CPU ? 1 : 0);
  }
}
#endif

TEST(CInterface, AMapThatFailsWritesNoResults) {
  const ScopedVariable simulate("TESSERA_SIMULATE", "*:2xH200");
  const OwnedJob job = opened();
  const OwnedPlan plan = planned(job, 1001);
  std::vector<float> sums;
  Calls calls;
  calls.failing_rank = size_of_world() - 1;
  EXPECT_EQ(map_points(job, plan, sums, calls, nullptr), TESSERA_JOB_FAULT);
  for (const float sum : sums) ASSERT_EQ(sum, untouched);
}

/// The last units have ten times the work.
double weight_of(std::int64_t unit, void* context) {
  return unit < 900 ? *static_cast<const double*>(context) : 10;
}

TEST(CInterface, PlansByWeight) {
  const ScopedVariable simulate("TESSERA_SIMULATE", "*:H200");
  const OwnedJob job = opened();
  tessera_plan* opened_plan = nullptr;
  double light = 1;
  ASSERT_EQ(tessera_plan_open_weighted(job.get(), 1000, 1, weight_of, &light, &opened_plan), TESSERA_OK);
  const OwnedPlan plan(opened_plan);
  for (int rank = 0; rank < size_of_world(); ++rank) {
    tessera_range units{};
    ASSERT_EQ(tessera_plan_range_of(plan.get(), rank, &units), TESSERA_OK);
    double work = 0;
    for (std::int64_t unit = units.begin; unit < units.end; ++unit) work += weight_of(unit, &light);
    EXPECT_NEAR(work, 1900.0 / size_of_world(), 10) << rank;
  }
  light = -1;
  EXPECT_EQ(tessera_plan_open_weighted(job.get(), 1000, 1, weight_of, &light, &opened_plan), TESSERA_USAGE);
  EXPECT_EQ(opened_plan, nullptr);
  EXPECT_EQ(tessera_plan_open_weighted(job.get(), 1000, 1, nullptr, nullptr, &opened_plan), TESSERA_USAGE);
  EXPECT_STREQ(tessera_error(), "tessera_plan_open_weighted: weight is null");
}

TEST(CInterface, MovesUnitsBetweenPlans) {
  const OwnedJob job = opened();
  tessera_plan* weighted = nullptr;
  double light = 1;
  ASSERT_EQ(tessera_plan_open_weighted(job.get(), 1000, 1, weight_of, &light, &weighted), TESSERA_OK);
  const OwnedPlan to(weighted);
  const OwnedPlan from = planned(job, 1000);
  const std::vector<Point> points = points_of(from);
  const std::vector<Point> expected = points_of(to);
  std::vector<Point> moved(expected.size());
  const auto count = static_cast<std::int64_t>(points.size());
  ASSERT_TRUE(
      ok(tessera_move(job.get(), from.get(), to.get(), points.data(), count, sizeof(Point), moved.data())));
  for (std::size_t i = 0; i < moved.size(); ++i) EXPECT_EQ(moved[i].x, expected[i].x);

  // One rank's call is wrong, and every rank gets an error.
  const bool last = rank_of_world() == size_of_world() - 1;
  EXPECT_EQ(tessera_move(job.get(), from.get(), to.get(), points.data(), last ? count + 1 : count,
                         sizeof(Point), moved.data()),
            TESSERA_USAGE);
  expect_error_with("give the units of local_range(from)");
  EXPECT_EQ(tessera_move(job.get(), from.get(), last ? nullptr : to.get(), points.data(), count,
                         sizeof(Point), moved.data()),
            TESSERA_USAGE);
  EXPECT_STREQ(tessera_error(), "tessera_move: to is null");
}

TEST(CInterface, ReducesToTheSameBits) {
  std::vector<double> first;
  for (const char* devices : {"*:H200", "*:2xH200+T4"}) {
    const ScopedVariable simulate("TESSERA_SIMULATE", devices);
    const OwnedJob job = opened();
    const OwnedPlan plan = planned(job, 10'000, 64);
    std::vector<double> sums(2);
    ASSERT_TRUE(
        ok(tessera_reduce(job.get(), plan.get(), 2, 0, no_device, sum_on_host, nullptr, sums.data())));
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
  for (const int status : {TESSERA_NOT_CONVERGED, TESSERA_JOB_FAULT, TESSERA_OUTDATED_PLAN,
                           TESSERA_ROLLED_BACK, TESSERA_INTERRUPTED})
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
    EXPECT_TRUE(contains(tessera_error(), "tessera_options has "));
  }
  tessera_options options = TESSERA_DEFAULT_OPTIONS;
  options.policy = TESSERA_POLICY_GPU;
  const ScopedVariable simulate("TESSERA_SIMULATE", "rank99:H200");
  EXPECT_EQ(tessera_job_open(MPI_COMM_WORLD, &options, &job), TESSERA_DEVICE_ABSENT);
}

TEST(CInterface, CutsTilesByTheMemoryThatIsGiven) {
  const ScopedVariable simulate("TESSERA_SIMULATE", "*:H200");
  tessera_options options = TESSERA_DEFAULT_OPTIONS;
  options.memory_fraction = 1e-8;  // of 141 GiB
  for (const int parts : {1, 3}) {
    options.parts_in_flight = parts;
    const OwnedJob job = opened(&options);
    const OwnedPlan plan = planned(job, 1000 * size_of_world());
    std::vector<Point> points = points_of(plan);
    struct Noted {
      std::atomic<std::size_t> largest = 0;
      int parts = 1;
    } noted;
    noted.parts = parts;
    const auto note_largest = [](const tessera_host_tile* tile, void*, void* context) {
      const auto units = static_cast<std::size_t>(tile->range.end - tile->range.begin);
      auto& its = *static_cast<Noted*>(context);
      if (tile->lane < 0 || tile->lane >= its.parts) return 1;
      auto& most = its.largest;
      for (std::size_t seen = most; units > seen && !most.compare_exchange_weak(seen, units);) continue;
      return 0;
    };
    const auto fail = [](tessera_tile*, void*, void*) { return 1; };
    EXPECT_TRUE(ok(tessera_scatter(job.get(), plan.get(), points.data(), 1000, sizeof(Point), sizeof(Point),
                                   fail, note_largest, &noted)));
    const double budget = 1e-8 * 141 * 0x1p30;
    EXPECT_LE(static_cast<double>(noted.largest * sizeof(Point)), budget / parts);
    EXPECT_GE(static_cast<double>(noted.largest * sizeof(Point)), budget / parts / 2);
  }
}

/// `tessera_options` of version 1, and memory of the program after it.
struct FirstOptions {
  std::int32_t version, policy, on_device_failure, allow_sharing, threads;
  double collective_timeout_seconds;
  double not_options[2];
};
static_assert(offsetof(FirstOptions, not_options) == offsetof(tessera_options, memory_fraction));

TEST(CInterface, ReadsNoMoreOfOptionsThanTheirVersionHas) {
  const double garbage = std::nan("");
  const FirstOptions first{1, TESSERA_POLICY_CPU, 0, 0, 1, 60, {garbage, garbage}};
  const OwnedJob job = opened(reinterpret_cast<const tessera_options*>(&first));
  ASSERT_TRUE(job);
  tessera_options options = TESSERA_DEFAULT_OPTIONS;
  tessera_job* none = nullptr;
  options.memory_fraction = garbage;
  EXPECT_EQ(tessera_job_open(MPI_COMM_WORLD, &options, &none), TESSERA_USAGE) << "that is version 2";
  expect_error_with("memory_fraction");
  options = TESSERA_DEFAULT_OPTIONS;
  options.parts_in_flight = 9;
  EXPECT_EQ(tessera_job_open(MPI_COMM_WORLD, &options, &none), TESSERA_USAGE);
  expect_error_with("parts_in_flight");
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
  for (const bool alone : {false, true}) {
    const bool wrong = !alone || rank_of_world() == 0;
    std::vector<Point> points = points_of(plan);
    EXPECT_EQ(tessera_scatter(job.get(), wrong ? nullptr : plan.get(), points.data(),
                              static_cast<std::int64_t>(points.size()), sizeof(Point), 0, norm_on_device,
                              norm_on_host, &calls),
              TESSERA_USAGE);
    expect_error_with("tessera_scatter: plan is null");
  }
  EXPECT_EQ(tessera_scatter(job.get(), plan.get(), &calls, -1, 8, 8, norm_on_device, norm_on_host, &calls),
            TESSERA_USAGE)
      << "that is not the rank's part of the plan";
  tessera_job_close(nullptr);
  tessera_plan_close(nullptr);
}

TEST(CInterface, RefusesUnitsOfNoBytesOrOfTooMany) {
  const OwnedJob job = opened();
  const OwnedPlan plan = planned(job, 10 * size_of_world());
  const std::int64_t count = 10;
  std::vector<double> units(10);
  std::vector<double> results(10);
  Calls calls;
  for (const std::size_t bytes : {std::size_t{0}, std::size_t{1} << 60}) {
    EXPECT_EQ(tessera_scatter(job.get(), plan.get(), units.data(), count, bytes, 0, norm_on_device,
                              norm_on_host, &calls),
              TESSERA_USAGE);
    expect_error_with("tessera_scatter: unit_bytes is");
    EXPECT_EQ(tessera_map(
                  job.get(), plan.get(), units.data(), count, 8, results.data(), bytes, 0, nullptr,
                  [](const tessera_host_tile*, const void*, void*, void*) { return 0; }, nullptr),
              TESSERA_USAGE);
    expect_error_with("tessera_map: result_bytes is");
    EXPECT_EQ(tessera_move(job.get(), plan.get(), plan.get(), units.data(), count, bytes, results.data()),
              TESSERA_USAGE);
    expect_error_with("tessera_move: unit_bytes is");
  }
}

TEST(CInterface, TakesACommunicatorOfFortran) {
  tessera_job* job = nullptr;
  ASSERT_TRUE(ok(tessera_job_open_fortran(MPI_Comm_c2f(MPI_COMM_WORLD), nullptr, &job)));
  tessera_job_close(job);
}

}  // namespace
}  // namespace tessera::testing

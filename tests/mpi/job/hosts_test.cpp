// SPDX-License-Identifier: Apache-2.0
// With JobOptions::hosts the host of every rank is an additional device.
#include "mpi/job/array_testing.hpp"
#include "support/errors.hpp"
#include "unit/job/no_new_threads.hpp"

#include <tessera/error.hpp>
#include <tessera/job/device_collectives.hpp>
#include <tessera/job/exercise.hpp>
#include <tessera/job/stop_request.hpp>
#include <tessera/topology/simulate.hpp>

#include <array>
#include <atomic>
#include <chrono>
#include <optional>
#include <stdexcept>
#include <thread>

namespace tessera::testing {
namespace {

constexpr int threads_of_job = 4;
constexpr std::int64_t far_more = std::int64_t{1} << 40;  // than clocks differ

JobOptions with_hosts(std::function<std::int64_t(const HostTile&)> measure = [](const HostTile&) {
  return std::int64_t{1};
}) {
  JobOptions options = with_threads(threads_of_job);
  options.score_model = ScoreModel::measured;
  options.measure = [](Tile&) -> std::int64_t { throw std::logic_error("there is no device to run on"); };
  options.measure_on_host = std::move(measure);
  options.hosts = true;
  options.parts_in_flight = 1;
  return options;
}

int gpus_of(const Job& job, int rank) {
  return static_cast<int>(
      std::ranges::count(job.inventory().devices_of(rank), false, &InventoryDevice::host));
}

/// The devices that the calls of a host function are for, and checks of the rules for threads.
class Calls {
 public:
  Calls(const Job& job, const Plan& plan)
      : gpus_(gpus_of(job, job.comm().rank())),
        mine_(job.local_range(plan)),
        computed_(static_cast<std::size_t>(mine_.size())) {}

  void begin(const HostTile& tile) {
    ASSERT_EQ(tile.threads, std::max(threads_of_job, gpus_ + 1));
    ASSERT_LT(tile.thread, tile.threads);
    EXPECT_EQ(busy_.at(static_cast<std::size_t>(tile.thread)).exchange(true), false);
    if (tile.device < gpus_)
      EXPECT_EQ(tile.thread, tile.device);
    else
      EXPECT_GE(tile.thread, gpus_);
    (tile.device < gpus_ ? by_gpus_ : by_host_) += tile.range.size();
    for (std::int64_t unit = tile.range.begin; unit < tile.range.end; ++unit)
      ++computed_.at(static_cast<std::size_t>(unit - mine_.begin));
    if (tile.device == gpus_) await_another_thread(tile);
  }
  void end(const HostTile& tile) { busy_.at(static_cast<std::size_t>(tile.thread)) = false; }

  /// Expects that every unit was computed once, by hosts and, if there are any, by GPUs.
  void expect_all() const {
    for (const auto& times : computed_) ASSERT_EQ(times, 1);
    EXPECT_GT(by_host_, 0);
    EXPECT_EQ(by_gpus_ > 0, gpus_ > 0);
  }

 private:
  /// Waits, so that several threads compute the host's tile if it has them.
  void await_another_thread(const HostTile& tile) {
    ++begun_on_host_;
    while (tile.threads > gpus_ + 1 && begun_on_host_ < 2) std::this_thread::yield();
  }

  int gpus_;
  Range mine_;
  std::vector<std::atomic<int>> computed_;
  std::atomic<int> begun_on_host_ = 0;
  std::array<std::atomic<bool>, threads_of_job> busy_{};
  std::atomic<std::int64_t> by_gpus_ = 0;
  std::atomic<std::int64_t> by_host_ = 0;
};

class Hosts : public ::testing::TestWithParam<const char*> {
 protected:
  void expect_on_all_devices(const Job& job) const {
    const Verdict& verdict = job.last_verdict();
    EXPECT_EQ(verdict.ran, Verdict::Ran::devices) << verdict;
    EXPECT_EQ(verdict.hosts, comm_.size());
    EXPECT_EQ(verdict.devices, std::ssize(job.inventory().devices()) - comm_.size());
    expect_same_on_all_ranks(comm_, to_string(verdict));
  }

  mpi::Communicator comm_ = world();
  const int gpus_ = static_cast<int>(simulated_devices(GetParam(), comm_.rank()).size());
  const int threads_of_tile_ = std::max(threads_of_job - gpus_, 1);
  ScopedVariable simulate_{"TESSERA_SIMULATE", GetParam()};
  ScopedVariable no_fault_{"TESSERA_FAULT", std::nullopt};
};

INSTANTIATE_TEST_SUITE_P(Devices, Hosts,
                         ::testing::Values("*:2xH200", "*:H200", "rank0:H200", "rank0:3xH200; rank1:L40S"),
                         [](const auto& devices) { return "Case" + std::to_string(devices.index); });

TEST_P(Hosts, AreTheLastDevicesOfEveryRank) {
  Job job(comm_, with_hosts());
  for (int rank = 0; rank < comm_.size(); ++rank) {
    const auto devices = job.inventory().devices_of(rank);
    ASSERT_EQ(std::ssize(devices), gpus_of(job, rank) + 1);
    const InventoryDevice& host = devices.back();
    EXPECT_TRUE(host.host);
    EXPECT_FALSE(host.simulated);
    EXPECT_FALSE(host.name.empty());
    EXPECT_GT(host.score, 0u);
    EXPECT_GT(host.memory_budget_bytes, 0);
    EXPECT_LE(host.memory_budget_bytes, host.total_memory_bytes / 2);
    EXPECT_EQ(job.inventory().ranks()[static_cast<std::size_t>(rank)].absence.empty(), devices.size() > 1);
  }
  EXPECT_FALSE(job.on_host());
  expect_on_all_devices(job);
  EXPECT_TRUE(job.devices().context_of(Ordinal{-1}).info().host);
}

TEST_P(Hosts, ComputeTheirTilesOfAMap) {
  Job job(comm_, with_hosts());
  const Plan plan = even_plan(job, 2000, 3);
  Calls calls(job, plan);
  const auto results =
      job.map<double>(plan, local_units(job, plan), no_real_device,
                      [&](const HostTile& tile, std::span<const double> in, std::span<double> out) {
                        calls.begin(tile);
                        std::ranges::transform(in, out.begin(), unit_result);
                        calls.end(tile);
                      });
  calls.expect_all();
  EXPECT_EQ(bits(results), bits(expected_map(job, plan)));
  expect_on_all_devices(job);
}

TEST_P(Hosts, ComputeTheirTilesOfAScatter) {
  Job job(comm_, with_hosts());
  const Plan plan = even_plan(job, 2000, 3);
  Calls calls(job, plan);
  auto units = local_units(job, plan);
  job.scatter(plan, units, no_real_device, [&](const HostTile& tile, std::span<double> part) {
    calls.begin(tile);
    std::ranges::transform(part, part.begin(), unit_result);
    calls.end(tile);
  });
  calls.expect_all();
  EXPECT_EQ(bits(units), bits(expected_map(job, plan)));
}

TEST_P(Hosts, SumsHaveTheBitsOfAJobWithoutThem) {
  Job job(comm_, with_hosts());
  const Plan plan = even_plan(job, 3000, 7);
  Calls calls(job, plan);
  const auto sums =
      job.reduce(plan, sum_width, no_real_device, [&](const HostTile& tile, std::span<double> partial) {
        calls.begin(tile);
        add_block(tile.range, partial);
        calls.end(tile);
      });
  calls.expect_all();
  EXPECT_EQ(bits(sums), bits(expected_sums(3000, 7)));
}

TEST_P(Hosts, HaveTheirPartsOfArrays) {
  Job job(comm_, with_hosts());
  Solver solver(job);
  const Plan plan = even_plan(job, solver_units, 4);
  solver.matrix.move_to(plan);
  solver.state.move_to(plan);
  for (int step = 0; step < 5; ++step) {
    Calls calls(job, plan);
    job.update(arrays(solver.matrix.read(), solver.state.modify()), no_real_device,
               [&](const HostTile& tile, std::span<const double> rows, std::span<double> states) {
                 calls.begin(tile);
                 Solver::advance(rows, states);
                 calls.end(tile);
               });
    calls.expect_all();
  }
  expect_on_all_devices(job);
  EXPECT_EQ(solver.state.host_version(), 1) << "the states stay where passes compute";
  job.download(solver.state);
  EXPECT_EQ(bits(solver.states()), bits(solver.expected(5)));
}

TEST_P(Hosts, ComputeWhereTheyAreWhatGpusStream) {
  for (const int parts_in_flight : {1, 2}) {
    JobOptions options = with_hosts();
    options.parts_in_flight = parts_in_flight;
    options.memory_fraction = 4000 / (141 * 0x1p30);  // of a GPU less than a tile takes
    Job job(comm_, options);
    Solver solver(job);
    const Plan plan = even_plan(job, solver_units, 4);
    solver.matrix.move_to(plan);
    solver.state.move_to(plan);
    for (int step = 1; step <= 5; ++step) {
      solver.step();
      expect_on_all_devices(job);
      EXPECT_EQ(solver.state.host_version(), solver.state.version());
      EXPECT_EQ(bits(solver.states()), bits(solver.expected(step)));
    }
    std::int64_t on_gpus = 0;
    for (const PlannedTile& tile : plan.tiles_of(comm_.rank()))
      on_gpus += tile.device < gpus_ ? tile.units.size() : 0;
    EXPECT_EQ(solver.matrix.traffic().uploaded_bytes, 5 * on_gpus * matrix_width * 8);
    const auto sums = job.reduce(arrays(solver.matrix.read(), solver.state.read()), 2, no_real_device,
                                 [](const HostTile& tile, std::span<double> partial,
                                    std::span<const double> rows, std::span<const double> states) {
                                   partial[0] += static_cast<double>(tile.range.size());
                                   partial[1] +=
                                       static_cast<double>(rows.size()) / static_cast<double>(states.size());
                                 });
    EXPECT_EQ(sums, (std::vector<double>{solver_units, matrix_width * solver_units / 4.0}));
  }
}

TEST_P(Hosts, TakeATileWhole) {
  Job job(comm_, with_hosts());
  const Plan plan = even_plan(job, 200);
  constexpr std::int64_t too_much_for_hosts = std::int64_t{20} << 30;  // a unit of a device function
  EXPECT_EQ(bits(map_units(job, plan, too_much_for_hosts)), bits(expected_map(job, plan)));
  expect_on_all_devices(job);
}

TEST_P(Hosts, AreMeasuredOnAllOfTheirThreads) {
  std::atomic<int> calls = 0;
  const Job job(comm_, with_hosts([&](const HostTile& tile) {
                  EXPECT_EQ(tile.threads, gpus_ + threads_of_tile_);
                  EXPECT_LT(tile.thread, tile.threads);
                  if (tile.device < gpus_) {
                    EXPECT_EQ(tile.thread, tile.device);
                  } else {
                    EXPECT_GE(tile.thread, gpus_);
                    ++calls;
                  }
                  return std::int64_t{1};
                }));
  EXPECT_EQ(calls, 2 * threads_of_tile_) << "to warm up, and timed";
}

TEST_P(Hosts, SharesFollowTheirScores) {
  // The host of the last rank is by far the fastest device, because one of its threads is.
  const int last = comm_.size() - 1;
  std::atomic<int> calls = 0;
  Job job(comm_, with_hosts([&](const HostTile& tile) {
            if (comm_.rank() != last || tile.device < gpus_) return std::int64_t{1};
            return calls++ % threads_of_tile_ == (threads_of_tile_ - 1) / 2 ? far_more : 1;
          }));
  const auto fastest = std::ranges::max_element(job.inventory().devices(), {}, &InventoryDevice::score);
  EXPECT_EQ(fastest->score, measured_score_of_fastest);
  EXPECT_EQ(fastest->rank, last);
  EXPECT_TRUE(fastest->host);
  const Plan plan = job.plan(1000);
  EXPECT_GE(plan.range_of(last).size(), 900);
  EXPECT_EQ(bits(map_units(job, plan)), bits(expected_map(job, plan)));
}

TEST_P(Hosts, HaveNoTileIfTheyAreFarTooSlow) {
  Job job(comm_,
          with_hosts([&](const HostTile& tile) { return tile.device < gpus_ ? far_more : std::int64_t{1}; }));
  const Plan plan = job.plan(1000);
  for (const PlannedTile& tile : plan.tiles()) EXPECT_LT(tile.device, gpus_of(job, tile.rank));
  EXPECT_EQ(bits(reduce_units(job, plan)), bits(expected_sums(1000, 1)));
  EXPECT_EQ(job.last_verdict().hosts, 0);
}

TEST_P(Hosts, AFunctionThatThrowsThereEndsThePassAndNothingElse) {
  Job job(comm_, with_hosts());
  const Plan plan = even_plan(job, 1000, 4);
  const bool last = comm_.rank() == comm_.size() - 1;
  auto units = local_units(job, plan);
  const auto fail_on_host = [&] {
    job.scatter(plan, units, no_real_device, [&](const HostTile& tile, std::span<double> part) {
      std::ranges::fill(part, 0.0);
      if (last && tile.device == gpus_) throw std::out_of_range("of the function");
    });
  };
  if (last)
    EXPECT_THROW(fail_on_host(), std::out_of_range);
  else
    EXPECT_THROW(fail_on_host(), Error);
  EXPECT_EQ(job.last_verdict().ran, Verdict::Ran::none);
  EXPECT_EQ(bits(units), bits(local_units(job, plan))) << "the input is restored";
  EXPECT_FALSE(job.on_host());
  EXPECT_EQ(bits(map_units(job, plan)), bits(expected_map(job, plan)));
  expect_on_all_devices(job);
}

/// A scatter in which the GPU 0 of rank 0 fails after it has written.
std::vector<double> scatter_without_a_gpu(Job& job, const Plan& plan) {
  auto units = local_units(job, plan);
  job.scatter(plan, units, no_real_device, [&](const HostTile& tile, std::span<double> part) {
    std::ranges::transform(part, part.begin(), unit_result);
    if (job.comm().rank() == 0 && tile.device == 0) throw std::runtime_error("the GPU fails");
  });
  return units;
}

TEST_P(Hosts, StayWhereAGpuIsLeftOut) {
  auto options = with_hosts();
  options.on_device_failure = OnDeviceFailure::exclude;
  Job job(comm_, options);
  const auto gpus = static_cast<int>(job.inventory().devices().size()) - comm_.size();
  const Plan plan = even_plan(job, 1000, 4);
  EXPECT_EQ(bits(scatter_without_a_gpu(job, plan)), bits(expected_map(job, plan)));
  const Verdict& verdict = job.last_verdict();
  expect_same_on_all_ranks(comm_, to_string(verdict));
  if (gpus == 1) {
    EXPECT_EQ(verdict.ran, Verdict::Ran::fallback) << "hosts alone are no GPUs";
    EXPECT_TRUE(job.on_host());
    return;
  }
  EXPECT_EQ(verdict.ran, Verdict::Ran::devices) << verdict;
  EXPECT_EQ(verdict.excluded.size(), 1u);
  EXPECT_EQ(verdict.devices, gpus - 1);
  // The GPU's units stay on its rank, by measured scores: only on a host, or none on a slow one.
  EXPECT_GE(verdict.hosts, comm_.size() - (gpus_of(job, 0) > 1 ? 1 : 0));
  for (const InventoryDevice& device : job.inventory().devices())
    EXPECT_EQ(device.excluded, device.rank == 0 && device.index == 0);
  for (const Plan& next : {plan, job.plan(1000, 4)})
    EXPECT_EQ(bits(reduce_units(job, next)), bits(expected_sums(1000, 4)));
}

TEST_P(Hosts, StayOnARankThatLosesAllGpusAtOnce) {
  auto options = with_hosts();
  options.on_device_failure = OnDeviceFailure::exclude;
  Job job(comm_, options);
  const auto gpus = static_cast<int>(job.inventory().devices().size()) - comm_.size();
  if (gpus == gpus_of(job, 0)) GTEST_SKIP() << "needs a GPU of another rank";
  const Plan plan = even_plan(job, 1000, 4);
  {
    std::optional<NoNewThreads> none;
    if (comm_.rank() == 0) none.emplace();
    EXPECT_THROW((void)map_units(job, plan), Error) << "the host needs a thread, too";
  }
  for (const InventoryDevice& device : job.inventory().devices())
    EXPECT_EQ(device.excluded, device.rank == 0 && !device.host);
  EXPECT_EQ(bits(map_units(job, plan)), bits(expected_map(job, plan)));
  EXPECT_EQ(job.last_verdict().ran, Verdict::Ran::devices) << job.last_verdict();
  EXPECT_EQ(job.last_verdict().hosts, comm_.size());
}

TEST_P(Hosts, FallBackWithTheGpus) {
  Job job(comm_, with_hosts());
  const Plan plan = even_plan(job, 1000, 4);
  Array<double> array(job, plan);
  std::ranges::copy(local_units(job, plan), array.overwrite().begin());
  EXPECT_EQ(bits(scatter_without_a_gpu(job, plan)), bits(expected_map(job, plan)));
  EXPECT_EQ(job.last_verdict().ran, Verdict::Ran::fallback);
  EXPECT_EQ(job.last_verdict().hosts, 0);
  EXPECT_TRUE(job.on_host());
  EXPECT_TRUE(job.devices().empty());
  EXPECT_EQ(bits(reduce_units(job, plan)), bits(expected_sums(1000, 4)));
  job.update(arrays(array.modify()), no_real_device, [](const HostTile& tile, std::span<double> part) {
    EXPECT_EQ(tile.device, -1);
    std::ranges::transform(part, part.begin(), unit_result);
  });
  EXPECT_EQ(bits({array.host().begin(), array.host().end()}), bits(expected_map(job, plan)));
}

TEST_P(Hosts, ARankWhoseHostComputesAnswersTheOthers) {
  StopRequest stop(comm_, {.signals = {}});
  auto options = with_hosts();
  options.stop = &stop;
  Job job(comm_, options);
  const Plan plan = even_plan(job, 1000, 4);
  // Every function waits for an event that only the thread that answers other ranks receives.
  const auto wait = [&](const HostTile&, std::span<const double>, std::span<double>) {
    if (comm_.rank() == comm_.size() - 1) stop.request("the last rank");
    while (!stop.requested()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  };
  error_of(ErrorCode::interrupted,
           [&] { (void)job.map<double>(plan, local_units(job, plan), no_real_device, wait); });
}

TEST_P(Hosts, TakePartInSumsOverDevices) {
  Job job(comm_, with_hosts());
  std::vector<double> numbers(job.devices().size(), 1.0);
  std::vector<double*> pointers;
  for (double& number : numbers) pointers.push_back(&number);
  EXPECT_EQ(job.collectives().open(), DeviceCollectives::Path::hosts);
  job.collectives().sum(std::span<double* const>(pointers), 1);
  for (const double sum : numbers) EXPECT_EQ(sum, static_cast<double>(job.inventory().devices().size()));
}

TEST_P(Hosts, AreExercisedAndNotCompiledFor) {
  Job job(comm_, with_hosts());
  const Exercise found = exercise(job);
  ASSERT_EQ(found.devices.size(), job.inventory().devices().size());
  for (const DeviceExercise& device : found.devices) EXPECT_EQ(device.failure, "");
  for (const JobModule& module : job.compile({.name = "nothing", .text = "\n", .headers = {}, .options = {}}))
    EXPECT_GT(module.capability.major, 0);
}

// The ranks that request hosts, and those that cannot have them.

class HostsAsked : public ::testing::Test {
 protected:
  std::string refusal_of(const JobOptions& options, ErrorCode code = ErrorCode::usage) {
    return error_of(code, [&] { const Job job(comm_, options); });
    return {};
  }

  mpi::Communicator comm_ = world();
  ScopedVariable simulate_{"TESSERA_SIMULATE", "*:H200"};
};

TEST_F(HostsAsked, WithoutAMeasureAreRefused) {
  JobOptions options = with_hosts();
  options.score_model = ScoreModel::throughput;
  EXPECT_NE(refusal_of(options).find("JobOptions::hosts needs ScoreModel::measured"), std::string::npos);
  options = with_hosts();
  options.measure_on_host = {};
  EXPECT_NE(refusal_of(options).find("JobOptions::measure_on_host"), std::string::npos);
}

TEST_F(HostsAsked, OnSomeRanksAreRefusedOnAll) {
  if (comm_.size() == 1) GTEST_SKIP() << "one rank cannot disagree";
  JobOptions options = with_hosts();
  options.hosts = comm_.rank() != 0;
  const std::string refusal = refusal_of(options);
  EXPECT_NE(refusal.find("no hosts beside GPUs"), std::string::npos) << refusal;
  expect_same_on_all_ranks(comm_, refusal);
}

TEST_F(HostsAsked, WhoseMeasureThrowsEndTheMakingOfTheJob) {
  const bool last = comm_.rank() == comm_.size() - 1;
  const JobOptions options = with_hosts([&](const HostTile& tile) -> std::int64_t {
    if (last && tile.device == 1) throw std::out_of_range("no clock");
    return 1;
  });
  if (last)
    EXPECT_THROW(Job(comm_, options), std::out_of_range);
  else
    EXPECT_NE(refusal_of(options, ErrorCode::job_fault).find("no clock"), std::string::npos);
}

TEST_F(HostsAsked, UnderThePolicyCpuOrWithoutAGpuAreAPlainCpuJob) {
  JobOptions options = with_hosts();
  options.policy = Policy::cpu;
  const auto expect_plain = [&](Job& job) {
    EXPECT_TRUE(job.on_host());
    EXPECT_TRUE(job.inventory().devices().empty());
    const Plan plan = job.plan(500, 5);
    EXPECT_FALSE(plan.on_devices());
    EXPECT_EQ(bits(reduce_units(job, plan)), bits(expected_sums(500, 5)));
    EXPECT_EQ(job.last_verdict().ran, Verdict::Ran::host);
  };
  Job on_cpu(comm_, options);
  expect_plain(on_cpu);
  const ScopedVariable nothing("TESSERA_SIMULATE", "rank99:H200");
  Job without_gpu(comm_, with_hosts());
  expect_plain(without_gpu);
  options.policy = Policy::gpu;
  (void)refusal_of(options, ErrorCode::device_absent);
}

TEST_F(HostsAsked, UnderThePolicyGpuHelpThem) {
  JobOptions options = with_hosts();
  options.policy = Policy::gpu;
  Job job(comm_, options);
  const Plan plan = even_plan(job, 500, 5);
  EXPECT_EQ(bits(map_units(job, plan)), bits(expected_map(job, plan)));
  EXPECT_EQ(job.last_verdict().hosts, comm_.size());
}

}  // namespace
}  // namespace tessera::testing

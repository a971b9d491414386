// SPDX-License-Identifier: Apache-2.0
// All or nothing: a fault at any stage, rank and device gives the CPU's answer on every rank, from the
// untouched input, and the same verdict naming the fault.
#include "mpi/job/job_testing.hpp"
#include "support/errors.hpp"

#include <tessera/error.hpp>

namespace tessera::testing {
namespace {

struct Fault {
  const char* point;  ///< as TESSERA_FAULT names it
  const char* stage;  ///< as the verdict names it
  bool at_set_up;     ///< before any pass
};

constexpr Fault faults[] = {{"probe", "probe", true}, {"claim", "claim", true},
                            {"bind", "bind", false},  {"allocate", "allocate", false},
                            {"throw", "tile", false}, {"fail", "tile", false}};

void PrintTo(const Fault& fault, std::ostream* out) {
  *out << fault.point;
}

enum class Where { first, last };

/// The device that a rank claims in an undisturbed job. *Collective* the first time.
std::string claimed_uuid(const mpi::Communicator& comm, int rank, int device) {
  static const Inventory undisturbed = Job(comm).inventory();
  return to_string(undisturbed.devices_of(rank)[static_cast<std::size_t>(device)].uuid);
}

class Fallback : public ::testing::TestWithParam<std::tuple<Fault, Where, int>> {
 protected:
  [[nodiscard]] const Fault& fault() const { return std::get<0>(GetParam()); }
  [[nodiscard]] int rank() const { return std::get<1>(GetParam()) == Where::first ? 0 : comm_.size() - 1; }
  [[nodiscard]] int device() const { return std::get<2>(GetParam()); }

  [[nodiscard]] std::string point(const std::string& pass = "") const {
    return std::string(fault().point) + "@rank" + std::to_string(rank()) + ".device" +
           std::to_string(device()) + pass;
  }

  void expect_failure(const Verdict::Failure& failure, const std::string& uuid) {
    EXPECT_EQ(failure.rank, rank());
    EXPECT_FALSE(failure.hostname.empty());
    EXPECT_EQ(failure.device, device());
    EXPECT_EQ(failure.uuid, fault().stage == std::string("probe") ? "" : uuid);
    EXPECT_EQ(failure.stage, fault().stage);
    EXPECT_EQ(failure.reason, "fault point \"" + std::string(fault().point) + '"');
  }

  void expect_fallback(const Job& job, const std::string& uuid) {
    const Verdict& verdict = job.last_verdict();
    EXPECT_EQ(verdict.ran, Verdict::Ran::fallback);
    EXPECT_EQ(verdict.devices, 0);
    expect_failure(verdict.failure, uuid);
    expect_same_on_all_ranks(comm_, to_string(verdict));
    EXPECT_TRUE(job.on_host());
  }

  mpi::Communicator comm_ = world();
  ScopedVariable simulate_{"TESSERA_SIMULATE", "*:2xH200"};
  ScopedVariable no_fault_{"TESSERA_FAULT", std::nullopt};
  std::string uuid_ = claimed_uuid(comm_, rank(), device());
};

TEST_P(Fallback, MapGivesTheCpusAnswerAndTheJobStaysOnTheCpu) {
  const ScopedVariable variable("TESSERA_FAULT", point());
  Job job(comm_);
  EXPECT_EQ(job.on_host(), fault().at_set_up);
  if (fault().at_set_up) expect_fallback(job, uuid_);
  const Plan plan = job.plan(1000);
  EXPECT_EQ(plan.on_devices(), !fault().at_set_up);
  EXPECT_EQ(bits(map_units(job, plan)), bits(expected_map(job, plan)));
  expect_fallback(job, uuid_);
  EXPECT_TRUE(job.devices().empty());

  // The same plan again, and a new one: both run on the CPU, for the same reason.
  EXPECT_EQ(bits(map_units(job, plan)), bits(expected_map(job, plan)));
  expect_fallback(job, uuid_);
  const Plan next = job.plan(1000);
  EXPECT_EQ(next.fingerprint(), plan.fingerprint()) << "what was loaded by the first is where it was";
  EXPECT_EQ(bits(map_units(job, next)), bits(expected_map(job, next)));
  expect_fallback(job, uuid_);
}

TEST_P(Fallback, MapBeginsAgainFromEmptyResults) {
  const ScopedVariable variable("TESSERA_FAULT", point());
  Job job(comm_);
  const Plan plan = job.plan(1000);
  const auto units = local_units(job, plan);
  // Adds to the results, so that values written by a tile before the fault would show.
  const auto results =
      job.map<double>(plan, std::span<const double>(units), no_real_device,
                      [](const HostTile&, std::span<const double> in, std::span<double> out) {
                        for (std::size_t i = 0; i < in.size(); ++i) out[i] += unit_result(in[i]);
                      });
  EXPECT_EQ(bits(results), bits(expected_map(job, plan)));
  expect_fallback(job, uuid_);
}

TEST_P(Fallback, ScatterBeginsAgainFromTheUntouchedInput) {
  const ScopedVariable variable("TESSERA_FAULT", point());
  Job job(comm_, with_threads(2));
  const Plan plan = job.plan(1000, 16);
  auto units = local_units(job, plan);
  job.scatter(plan, std::span(units), no_real_device, [](const HostTile&, std::span<double> part) {
    for (double& unit : part) unit = unit_result(unit);
  });
  EXPECT_EQ(bits(units), bits(expected_map(job, plan)));
  expect_fallback(job, uuid_);
}

TEST_P(Fallback, ReduceGivesTheBitsOfTheCpu) {
  const ScopedVariable variable("TESSERA_FAULT", point());
  Job job(comm_, with_threads(2));
  const Plan plan = job.plan(1000, 16);
  EXPECT_EQ(bits(reduce_units(job, plan)), bits(expected_sums(1000, 16)));
  expect_fallback(job, uuid_);
}

TEST_P(Fallback, ALaterPassFallsBackAfterOneOnDevices) {
  if (fault().at_set_up) GTEST_SKIP() << "this stage has no pass";
  const ScopedVariable variable("TESSERA_FAULT", point(":pass2"));
  Job job(comm_);
  const Plan plan = job.plan(1000, 16);
  EXPECT_EQ(bits(reduce_units(job, plan)), bits(expected_sums(1000, 16)));
  EXPECT_EQ(job.last_verdict().ran, Verdict::Ran::devices);
  EXPECT_EQ(bits(reduce_units(job, plan)), bits(expected_sums(1000, 16)));
  expect_fallback(job, uuid_);
}

TEST_P(Fallback, UnderPolicyGpuEveryRankThrowsTheSameErrorAndTheInputIsUntouched) {
  const ScopedVariable variable("TESSERA_FAULT", point());
  JobOptions options;
  options.policy = Policy::gpu;
  std::string message;
  std::optional<Job> job;
  std::vector<double> units;
  std::vector<double> before;
  const auto pass = [&] {
    job->scatter(job->plan(1000), std::span(units), no_real_device,
                 [](const HostTile&, std::span<double> part) { std::ranges::fill(part, 0.0); });
  };
  message = error_of(ErrorCode::job_fault, [&] {
    job.emplace(comm_, options);
    units = local_units(*job, job->plan(1000));
    before = units;
    pass();
  });
  EXPECT_TRUE(message.starts_with("a GPU is required, but rank " + std::to_string(rank()) + " (")) << message;
  expect_same_on_all_ranks(comm_, message);
  EXPECT_EQ(units, before);
  EXPECT_EQ(job.has_value(), !fault().at_set_up);
  if (job) {
    EXPECT_THROW(pass(), Error);
  }
}

INSTANTIATE_TEST_SUITE_P(EveryStageRankAndDevice, Fallback,
                         ::testing::Combine(::testing::ValuesIn(faults),
                                            ::testing::Values(Where::first, Where::last),
                                            ::testing::Values(0, 1)),
                         [](const auto& test) {
                           return std::string(std::get<0>(test.param).point) +
                                  (std::get<1>(test.param) == Where::first ? "_first" : "_last") + "_device" +
                                  std::to_string(std::get<2>(test.param));
                         });

class Faults : public ::testing::Test {
 protected:
  mpi::Communicator comm_ = world();
  ScopedVariable simulate_{"TESSERA_SIMULATE", "*:2xH200"};
};

TEST_F(Faults, ALoopThatPlansInEachStepGoesOn) {
  const ScopedVariable variable("TESSERA_FAULT", "throw@rank0.device0:pass3");
  const ScopedVariable simulate("TESSERA_SIMULATE", "rank0:4xH200; *:T4+H200");
  Job job(comm_);
  std::vector<double> units = local_units(job, job.plan(1000, 8));  // once
  std::vector<double> expected = units;
  for (int step = 0; step < 5; ++step) {
    job.scatter(job.plan(1000, 8), std::span(units), no_real_device,
                [](const HostTile&, std::span<double> part) {
                  for (double& unit : part) unit = unit_result(unit) * 0x1p-40;
                });
    for (double& unit : expected) unit = unit_result(unit) * 0x1p-40;
    EXPECT_EQ(bits(units), bits(expected)) << step;
    EXPECT_EQ(job.on_host(), step >= 2);
  }
}

TEST_F(Faults, WhatIsLoadedAnewIsCutByHostThreads) {
  for (const char* fault : {"probe@rank0", "throw@rank0"}) {
    const ScopedVariable variable("TESSERA_FAULT", fault);
    const int threads = comm_.rank() == 0 ? 3 : 1;
    Job job(comm_, with_threads(threads));
    EXPECT_EQ(bits(reduce_units(job, job.plan(1000, 8))), bits(expected_sums(1000, 8)));
    EXPECT_TRUE(job.on_host());
    const std::int64_t units = 64 * (comm_.size() + 2);  // 8 blocks for each thread
    const Plan plan = job.plan_for_hosts(units, 8);
    EXPECT_EQ(job.local_range(plan).size(), 64 * threads);
    EXPECT_EQ(bits(reduce_units(job, plan)), bits(expected_sums(units, 8)));
    EXPECT_EQ(job.last_verdict().ran, Verdict::Ran::fallback);
  }
}

TEST_F(Faults, AFallbackOverAPlanForDevicesSaysHowUnevenItWas) {
  const ScopedVariable variable("TESSERA_FAULT", "throw@rank0.device0");
  const ScopedVariable simulate("TESSERA_SIMULATE", "rank0:4xH200; *:T4");
  const int threads = comm_.rank() == 0 ? 1 : 2;
  Job job(comm_, with_threads(threads));
  const auto verdict_over = [&](const Plan& plan) {
    EXPECT_EQ(bits(reduce_units(job, plan)), bits(expected_sums(1000, 8)));
    EXPECT_EQ(job.last_verdict().ran, Verdict::Ran::fallback);
    expect_same_on_all_ranks(comm_, to_string(job.last_verdict()));
    return job.last_verdict();
  };
  const Plan for_devices = job.plan(1000, 8);
  for (int pass = 0; pass < 2; ++pass) {
    const Verdict verdict = verdict_over(for_devices);
    const int all_threads = 2 * comm_.size() - 1;
    const double imbalance = static_cast<double>(for_devices.range_of(0).size()) * all_threads / 1000;
    EXPECT_EQ(verdict.busiest_rank, 0);
    EXPECT_NEAR(verdict.imbalance, imbalance, 1e-12);
    const bool is_told = to_string(verdict).find("by a plan for devices rank 0 had ") != std::string::npos;
    EXPECT_EQ(is_told, comm_.size() > 1) << verdict;
  }
  EXPECT_EQ(verdict_over(job.plan_for_hosts(1000, 8)).imbalance, 1);
}

TEST_F(Faults, OfManyTheLowestRanksFirstTileIsNamed) {
  const ScopedVariable variable("TESSERA_FAULT", "fail@rank*.device1,throw@rank*.device0");
  Job job(comm_);
  const Plan plan = job.plan(1000);
  EXPECT_EQ(bits(map_units(job, plan)), bits(expected_map(job, plan)));
  const auto& failure = job.last_verdict().failure;
  EXPECT_EQ(failure.rank, 0);
  EXPECT_EQ(failure.device, plan.tiles_of(0)[0].device);
  EXPECT_EQ(failure.reason, failure.device == 0 ? "fault point \"throw\"" : "fault point \"fail\"");
}

TEST_F(Faults, ABlockThatDoesNotFitTheBudgetFallsBack) {
  const ScopedVariable variable("TESSERA_FAULT", std::nullopt);
  Job job(comm_);
  const Plan plan = job.plan(1000, 100);
  const std::int64_t budget = job.inventory().devices()[0].memory_budget_bytes;
  EXPECT_EQ(bits(reduce_units(job, plan, budget / 50)), bits(expected_sums(1000, 100)));
  EXPECT_EQ(job.last_verdict().failure.stage, "allocate");
  EXPECT_TRUE(job.last_verdict().failure.reason.starts_with("a block of 100 units with "))
      << job.last_verdict().failure.reason;
}

TEST_F(Faults, AnExceptionOfTheHostFunctionOnASimulatedDeviceIsTheTilesAndThenTheHosts) {
  const ScopedVariable variable("TESSERA_FAULT", std::nullopt);
  Job job(comm_);
  const Plan plan = job.plan(1000);
  const auto units = local_units(job, plan);
  int calls = 0;
  // Fails only on the device: in its first call on rank 0.
  const auto results =
      job.map<double>(plan, std::span<const double>(units), no_real_device,
                      [&](const HostTile& tile, std::span<const double> in, std::span<double> out) {
                        std::ranges::transform(in, out.begin(), unit_result);
                        if (job.comm().rank() == 0 && tile.thread == 0 && calls++ == 0)
                          throw std::runtime_error("once only");
                      });
  EXPECT_EQ(bits(results), bits(expected_map(job, plan)));
  EXPECT_EQ(job.last_verdict().ran, Verdict::Ran::fallback);
  EXPECT_EQ(job.last_verdict().failure.reason, "once only");
}

TEST_F(Faults, ARankThatIsLateWithoutATimeoutIsWaitedFor) {
  const ScopedVariable variable("TESSERA_FAULT", "vote-late@rank0");
  JobOptions options;
  options.collective_timeout = std::chrono::milliseconds::zero();
  Job job(comm_, options);
  const Plan plan = job.plan(100);
  EXPECT_EQ(bits(map_units(job, plan)), bits(expected_map(job, plan)));
  EXPECT_EQ(job.last_verdict().ran, Verdict::Ran::devices);
}

TEST_F(Faults, AnUnreadableFaultIsAUsageError) {
  const ScopedVariable variable("TESSERA_FAULT", "melt@rank0");
  const std::string said = error_of(ErrorCode::usage, [&] { const Job job(comm_); });
  EXPECT_TRUE(said.starts_with("TESSERA_FAULT: cannot read \"melt@rank0\"")) << said;
}

}  // namespace
}  // namespace tessera::testing

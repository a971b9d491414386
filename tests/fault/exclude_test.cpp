// SPDX-License-Identifier: Apache-2.0
// Under OnDeviceFailure::exclude the remaining devices give the answer, on every rank, and the verdict names
// those that failed.
#include "mpi/job/job_testing.hpp"

#include <tessera/error.hpp>
#include <tessera/job/balancer.hpp>
#include <tessera/job/device_collectives.hpp>

#include <algorithm>
#include <random>
#include <set>
#include <tuple>

namespace tessera::testing {
namespace {

JobOptions excluding(int threads = 1) {
  JobOptions options;
  options.threads = threads;
  options.on_device_failure = OnDeviceFailure::exclude;
  return options;
}

JobOptions moving() {
  JobOptions options = excluding();
  options.may_move_units = true;
  return options;
}

/// Changes every unit in place, starting from the untouched input.
std::vector<double> scatter_units(Job& job, const Plan& plan) {
  auto units = local_units(job, plan);
  job.scatter(plan, units, no_real_device, [](const HostTile&, std::span<double> part) {
    for (double& unit : part) unit = unit_result(unit);
  });
  return units;
}

void expect_all_verbs(Job& job, const Plan& plan) {
  EXPECT_EQ(bits(map_units(job, plan)), bits(expected_map(job, plan)));
  EXPECT_EQ(bits(scatter_units(job, plan)), bits(expected_map(job, plan)));
  EXPECT_EQ(bits(reduce_units(job, plan)), bits(expected_sums(plan.units(), plan.block())));
}

/// The error of `call`, the same on every rank; the test fails if there is none.
template <class Call>
Error error_of(const mpi::Communicator& comm, Call&& call) {
  try {
    call();
  } catch (const Error& error) {
    expect_same_on_all_ranks(comm, error.what());
    return error;
  }
  ADD_FAILURE() << "no error";
  return {ErrorCode::usage, ""};
}

class Exclude : public ::testing::Test {
 protected:
  /// The verdict of a pass on all devices except `lost`; `first` failed first.
  void expect_without(const Job& job, std::size_t lost, const std::string& first, const std::string& stage) {
    const Verdict& verdict = job.last_verdict();
    EXPECT_EQ(verdict.ran, Verdict::Ran::devices) << to_string(verdict);
    EXPECT_EQ(verdict.excluded.size(), lost);
    const std::string text = to_string(verdict);
    EXPECT_NE(text.find(", without " + std::to_string(lost) + " that failed"), std::string::npos) << text;
    EXPECT_NE(text.find(first), std::string::npos) << text;
    EXPECT_NE(text.find(" failed in " + stage + ": "), std::string::npos) << text;
    expect_same_on_all_ranks(comm_, text);
    EXPECT_FALSE(job.on_host());
  }

  [[nodiscard]] std::string last_rank() const { return "rank" + std::to_string(comm_.size() - 1); }

  mpi::Communicator comm_ = world();
  ScopedVariable simulate_{"TESSERA_SIMULATE", "*:2xH200"};
  ScopedVariable no_fault_{"TESSERA_FAULT", std::nullopt};
};

class ExcludeInAPass : public Exclude,
                       public ::testing::WithParamInterface<std::tuple<const char*, const char*>> {};

TEST_P(ExcludeInAPass, TheOtherDevicesComputeThePassAgainAndAllLaterOnes) {
  const auto [point, stage] = GetParam();
  const ScopedVariable variable("TESSERA_FAULT", std::string(point) + "@" + last_rank() + ".device1:pass2");
  Job job(comm_, excluding());
  const Plan plan = job.plan(1000, 16);
  const auto devices = static_cast<int>(job.inventory().devices().size());
  EXPECT_EQ(bits(map_units(job, plan)), bits(expected_map(job, plan)));
  EXPECT_EQ(job.last_verdict().devices, devices);

  const std::string lost = "rank " + std::to_string(comm_.size() - 1);
  EXPECT_EQ(bits(scatter_units(job, plan)), bits(expected_map(job, plan)));
  expect_without(job, 1, lost, stage);
  EXPECT_EQ(job.last_verdict().devices, devices - 1);

  expect_all_verbs(job, plan);
  expect_without(job, 1, lost, stage);
  const Plan next = job.plan(1000, 16);
  EXPECT_NE(next.fingerprint(), plan.fingerprint());
  for (const PlannedTile& tile : next.tiles())
    EXPECT_FALSE(tile.rank == comm_.size() - 1 && tile.device == 1);
  expect_all_verbs(job, next);
}

TEST_F(Exclude, ADeviceOfWhichOneShareFailedStillCounts) {
  if (comm_.size() < 2) GTEST_SKIP() << "needs ranks that share a device";
  const ScopedVariable shared("TESSERA_SIMULATE", "*:H200@node");
  const ScopedVariable fault("TESSERA_FAULT", "throw@rank1:pass1");
  JobOptions options = moving();
  options.allow_sharing = true;
  Job job(comm_, options);
  const Plan plan = job.plan(1000, 16);
  EXPECT_EQ(bits(map_units(job, plan)), bits(expected_map(job, plan)));
  const Verdict& verdict = job.last_verdict();
  EXPECT_EQ(verdict.devices, 1) << verdict;
  EXPECT_EQ(verdict.shares, comm_.size() - 1) << verdict;
  EXPECT_NE(to_string(verdict).find(", without 1 share that failed: rank 1 "), std::string::npos) << verdict;
  EXPECT_EQ(job.inventory().gpus(), 1);
}

INSTANTIATE_TEST_SUITE_P(Stages, ExcludeInAPass,
                         ::testing::Values(std::tuple("bind", "bind"), std::tuple("allocate", "allocate"),
                                           std::tuple("throw", "tile"), std::tuple("fail", "tile")),
                         [](const auto& point) { return std::string(std::get<0>(point.param)); });

TEST_F(Exclude, ADeviceIsCountedOnceHoweverOftenItFails) {
  const ScopedVariable variable("TESSERA_FAULT", "fail@rank0.device1:pass1, throw@rank0.device1:pass1");
  Job job(comm_, excluding());
  const Plan plan = job.plan(1000, 16);
  EXPECT_EQ(bits(map_units(job, plan)), bits(expected_map(job, plan)));
  expect_without(job, 1, "rank 0", "tile");
}

TEST_F(Exclude, DevicesThatFailTogetherAreLeftOutTogether) {
  const ScopedVariable variable("TESSERA_FAULT", "throw@rank*.device0:pass1");
  Job job(comm_, excluding());
  const Plan plan = job.plan(999, 8);
  EXPECT_EQ(bits(reduce_units(job, plan)), bits(expected_sums(999, 8)));
  expect_without(job, static_cast<std::size_t>(comm_.size()), "rank 0", "tile");
  EXPECT_EQ(job.last_verdict().devices, comm_.size());
}

TEST_F(Exclude, MapAndScatterMoveTheUnitsOfARankWithoutADevice) {
  if (comm_.size() == 1) GTEST_SKIP() << "needs another rank";
  const ScopedVariable variable("TESSERA_FAULT", "throw@rank0.device0:pass1, fail@rank0.device1:pass2");
  Job job(comm_, moving());
  const Plan plan = job.plan(1000, 16);
  for (int pass = 0; pass < 3; ++pass) {
    EXPECT_EQ(bits(map_units(job, plan)), bits(expected_map(job, plan)));
    EXPECT_EQ(bits(scatter_units(job, plan)), bits(expected_map(job, plan)));
  }
  expect_without(job, 2, "rank 0", "tile");
  EXPECT_TRUE(job.local_range(job.plan(1000, 16)).empty() == (comm_.rank() == 0));
}

TEST_F(Exclude, AReductionWhoseDataCannotMoveAsksForANewPlan) {
  if (comm_.size() == 1) GTEST_SKIP() << "needs another rank";
  const ScopedVariable variable("TESSERA_FAULT", "throw@rank0:pass1");
  Job job(comm_, moving());
  const Plan plan = job.plan(1000, 16);
  const Error error = error_of(comm_, [&] { (void)reduce_units(job, plan); });
  EXPECT_EQ(error.code(), ErrorCode::outdated_plan);
  EXPECT_NE(std::string(error.what()).find("rank 0 ("), std::string::npos) << error.what();
  EXPECT_EQ(job.last_verdict().ran, Verdict::Ran::none);
  EXPECT_EQ(bits(reduce_units(job, job.plan(1000, 16))), bits(expected_sums(1000, 16)));
  expect_without(job, 2, "rank 0", "tile");
  EXPECT_EQ(error_of(comm_, [&] { (void)reduce_units(job, plan); }).code(), ErrorCode::outdated_plan);
}

TEST_F(Exclude, NoUnitMovesUnlessTheOptionsSaySo) {
  if (comm_.size() == 1) GTEST_SKIP() << "needs another rank";
  const ScopedVariable variable("TESSERA_FAULT", "throw@rank0:pass1");
  Job job(comm_, excluding());
  const Plan plan = job.plan(1000, 16);
  auto units = local_units(job, plan);
  const auto double_units = [&](const Plan& used) {
    job.scatter(used, units, no_real_device, [](const HostTile&, std::span<double> part) {
      for (double& unit : part) unit *= 2;
    });
  };
  EXPECT_EQ(error_of(comm_, [&] { double_units(plan); }).code(), ErrorCode::outdated_plan);
  EXPECT_EQ(bits(units), bits(local_units(job, plan))) << "the input is restored";
  const Plan next = job.plan(1000, 16);
  units = job.move(units, plan, next);
  double_units(next);
  auto expected = local_units(job, next);
  for (double& unit : expected) unit *= 2;
  EXPECT_EQ(bits(units), bits(expected));
}

TEST_F(Exclude, UnitsOfATypeThatCannotBeCopiedAsBytesAskForANewPlan) {
  if (comm_.size() == 1) GTEST_SKIP() << "needs another rank";
  const ScopedVariable variable("TESSERA_FAULT", "throw@rank0:pass1");
  Job job(comm_, moving());
  const Plan plan = job.plan(100);
  const auto lengths = [&](const Plan& used) {
    const std::vector<std::string> words(static_cast<std::size_t>(job.local_range(used).size()), "word");
    return job.map<int>(used, words, no_real_device,
                        [](const HostTile&, std::span<const std::string> in, std::span<int> out) {
                          std::ranges::transform(in, out.begin(), [](const std::string& word) {
                            return static_cast<int>(word.size());
                          });
                        });
  };
  EXPECT_EQ(error_of(comm_, [&] { (void)lengths(plan); }).code(), ErrorCode::outdated_plan);
  const Plan next = job.plan(100);
  EXPECT_EQ(lengths(next), std::vector<int>(static_cast<std::size_t>(job.local_range(next).size()), 4));
}

TEST_F(Exclude, AWrongCallOnOneRankEndsAPassThatMovesUnits) {
  if (comm_.size() == 1) GTEST_SKIP() << "needs another rank";
  const ScopedVariable variable("TESSERA_FAULT", "throw@rank0:pass1");
  Job job(comm_, moving());
  const Plan plan = job.plan(1000);
  EXPECT_EQ(bits(map_units(job, plan)), bits(expected_map(job, plan)));
  auto units = local_units(job, plan);
  if (comm_.rank() == 1) units.pop_back();
  EXPECT_THROW((void)job.map<double>(plan, units, no_real_device,
                                     [](const HostTile&, std::span<const double>, std::span<double>) {}),
               Error);
  EXPECT_EQ(bits(map_units(job, plan)), bits(expected_map(job, plan)));
}

TEST_F(Exclude, WithoutAnyDeviceTheJobFallsBack) {
  const ScopedVariable variable("TESSERA_FAULT", "throw@rank*.device0:pass1, throw@rank*.device1:pass2");
  Job job(comm_, excluding());
  const Plan plan = job.plan(1000, 16);
  EXPECT_EQ(bits(scatter_units(job, plan)), bits(expected_map(job, plan)));
  const Plan of_those_left = job.plan(1000, 16);
  EXPECT_EQ(bits(scatter_units(job, plan)), bits(expected_map(job, plan)));
  EXPECT_TRUE(std::ranges::all_of(job.inventory().devices(), &InventoryDevice::excluded));
  EXPECT_EQ(job.plan(1000, 16).fingerprint(), of_those_left.fingerprint()) << "data was loaded by it";
  EXPECT_EQ(job.last_verdict().ran, Verdict::Ran::fallback);
  EXPECT_EQ(job.last_verdict().failure.device, 1);
  expect_same_on_all_ranks(comm_, to_string(job.last_verdict()));
  EXPECT_TRUE(job.on_host());
  expect_all_verbs(job, plan);
}

TEST_F(Exclude, UnderPolicyGpuTheLastDeviceIsRequired) {
  const ScopedVariable variable("TESSERA_FAULT", "throw@rank*.device0:pass1, throw@rank*.device1:pass2");
  JobOptions options = excluding();
  options.policy = Policy::gpu;
  Job job(comm_, options);
  const Plan plan = job.plan(1000, 16);
  EXPECT_EQ(bits(reduce_units(job, plan)), bits(expected_sums(1000, 16)));
  EXPECT_EQ(error_of(comm_, [&] { (void)reduce_units(job, plan); }).code(), ErrorCode::job_fault);
}

TEST_F(Exclude, AsAnErrorAFailureLeavesTheInputUntouched) {
  const ScopedVariable variable("TESSERA_FAULT", "throw@" + last_rank() + ".device0:pass1");
  JobOptions options;
  options.on_device_failure = OnDeviceFailure::error;
  Job job(comm_, options);
  const Plan plan = job.plan(1000);
  auto units = local_units(job, plan);
  const auto pass = [&] {
    job.scatter(plan, units, no_real_device,
                [](const HostTile&, std::span<double> part) { std::ranges::fill(part, 0.0); });
  };
  EXPECT_EQ(error_of(comm_, pass).code(), ErrorCode::job_fault);
  EXPECT_EQ(bits(units), bits(local_units(job, plan)));
  EXPECT_EQ(error_of(comm_, pass).code(), ErrorCode::job_fault) << "in any later pass too";
}

class ExcludeInTheSetUp : public Exclude, public ::testing::WithParamInterface<const char*> {};

TEST_P(ExcludeInTheSetUp, TheOthersMakeTheJob) {
  if (comm_.size() == 1 && GetParam() == std::string("probe")) GTEST_SKIP() << "needs another rank";
  const ScopedVariable variable("TESSERA_FAULT", std::string(GetParam()) + "@" + last_rank() + ".device0");
  JobOptions options = excluding();
  if (GetParam() == std::string("score")) {
    options.score_model = ScoreModel::measured;
    options.measure = [](Tile&) { return 1; };
    options.measure_on_host = [](const HostTile&) { return 1; };
  }
  Job job(comm_, options);
  expect_without(job, 1, "rank " + std::to_string(comm_.size() - 1), GetParam());
  const int lost = GetParam() == std::string("probe") ? 2 : 1;  // all of a rank that sees none
  EXPECT_EQ(job.last_verdict().devices, 2 * comm_.size() - lost);
  expect_all_verbs(job, even_plan(job, 1000, 16));
  EXPECT_EQ(job.last_verdict().devices, 2 * comm_.size() - lost);
}

INSTANTIATE_TEST_SUITE_P(Stages, ExcludeInTheSetUp, ::testing::Values("probe", "claim", "score"),
                         [](const auto& point) { return std::string(point.param); });

TEST_F(Exclude, CollectivesAreOverTheDevicesThatAreLeft) {
  const ScopedVariable variable("TESSERA_FAULT", "throw@" + last_rank() + ".device1:pass1");
  Job job(comm_, excluding());
  (void)map_units(job, job.plan(100));
  std::vector<std::vector<double>> values(2, {1.0, 2.0});
  std::vector<double*> arrays{values[0].data(), values[1].data()};
  if (comm_.rank() == comm_.size() - 1) arrays[1] = nullptr;
  job.collectives().sum(std::span<double* const>(arrays), 2);
  const double devices = 2.0 * comm_.size() - 1;
  EXPECT_EQ(values[0], (std::vector<double>{devices, 2 * devices}));
  EXPECT_EQ(error_of(comm_,
                     [&] {
                       job.collectives().broadcast(std::vector<void*>(arrays.begin(), arrays.end()), 16,
                                                   comm_.size() - 1, 1);
                     })
                .code(),
            ErrorCode::usage);
}

TEST_F(Exclude, ABalancerLeavesAPlanWithALostDeviceAtOnce) {
  const ScopedVariable variable("TESSERA_FAULT", "throw@" + last_rank() + ".device0:pass1");
  Job job(comm_, excluding());
  Balancer balancer(job, job.plan(1000, 16));
  auto units = local_units(job, balancer.plan());
  EXPECT_EQ(balancer.rebalance().has_value(), false);
  EXPECT_EQ(bits(map_units(job, balancer.plan())), bits(expected_map(job, balancer.plan())));
  const auto left = balancer.rebalance();
  ASSERT_TRUE(left);
  EXPECT_EQ(balancer.plan().fingerprint(), job.plan(1000, 16).fingerprint());
  units = job.move(units, *left, balancer.plan());
  EXPECT_EQ(bits(units), bits(local_units(job, balancer.plan())));
  EXPECT_EQ(bits(map_units(job, balancer.plan())), bits(expected_map(job, balancer.plan())));
}

TEST_F(Exclude, RanksThatDifferInTheOptionAreRefused) {
  if (comm_.size() == 1) GTEST_SKIP() << "needs another rank";
  JobOptions options;
  if (comm_.rank() == 0) options.on_device_failure = OnDeviceFailure::exclude;
  const Error error = error_of(comm_, [&] { Job job(comm_, options); });
  EXPECT_EQ(error.code(), ErrorCode::usage);
  EXPECT_NE(std::string(error.what()).find("failure leads to exclude"), std::string::npos) << error.what();
}

/// Devices and the passes in which they fail, in the form of TESSERA_FAULT: `lost` random ones, then all of
/// rank `ends` one by one.
std::string losses(int ranks, int devices, int passes, int lost, int ends) {
  std::mt19937_64 random(512);
  const auto below = [&](int bound) {
    return static_cast<int>(random() % static_cast<std::uint64_t>(bound));
  };
  const std::vector<const char*> points{"bind", "allocate", "throw", "fail"};
  std::set<std::pair<int, int>> chosen;
  std::string text;
  const auto lose = [&](int rank, int device, int before) {
    if (!chosen.insert({rank, device}).second) return;
    text += (text.empty() ? "" : ",") + std::string(points[static_cast<std::size_t>(below(4))]) + "@rank" +
            std::to_string(rank) + ".device" + std::to_string(device) + ":pass" +
            std::to_string(1 + below(before));
  };
  for (int device = 0; device < devices; ++device) lose(ends, device, passes / 2);
  while (std::ssize(chosen) < lost) lose(below(ranks), below(devices), passes);
  return text;
}

TEST(ExcludeLarge, AJobOf512DevicesThatLosesHalfOfThemNeverEndsOnTheCpu) {
  const mpi::Communicator comm = world();
  if (comm.size() != 8) GTEST_SKIP() << "needs 8 ranks";
  constexpr int passes = 200;
  const ScopedVariable simulate("TESSERA_SIMULATE", "*:64xH200");
  // A device without units in a pass's plan does not fail in the pass.
  const ScopedVariable variable("TESSERA_FAULT", losses(8, 64, passes, 256, 3));
  Job job(comm, moving());
  ASSERT_EQ(job.inventory().devices().size(), 512U);
  constexpr std::int64_t units = 4096;
  constexpr std::int64_t block = 4;
  const auto sums = bits(expected_sums(units, block));
  Plan plan = job.plan(units, block);
  int plans = 1;
  for (int pass = 0; pass < passes; ++pass) {
    if (pass % 3 == 0) {
      ASSERT_EQ(bits(map_units(job, plan)), bits(expected_map(job, plan))) << pass;
    } else if (pass % 3 == 1) {
      ASSERT_EQ(bits(scatter_units(job, plan)), bits(expected_map(job, plan))) << pass;
    } else {
      std::vector<double> sum;
      try {
        sum = reduce_units(job, plan);
      } catch (const Error& error) {
        ASSERT_EQ(error.code(), ErrorCode::outdated_plan) << error.what();
        plan = job.plan(units, block);
        ++plans;
        sum = reduce_units(job, plan);
      }
      ASSERT_EQ(bits(sum), sums) << pass;
    }
    ASSERT_EQ(job.last_verdict().ran, Verdict::Ran::devices) << pass;
  }
  EXPECT_FALSE(job.on_host());
  EXPECT_EQ(job.last_verdict().devices, 512 - static_cast<int>(job.last_verdict().excluded.size()));
  EXPECT_GE(job.last_verdict().excluded.size(), 240U);
  EXPECT_EQ(plans, 2) << "one rank has lost all of its devices";
}

}  // namespace
}  // namespace tessera::testing

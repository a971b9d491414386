// SPDX-License-Identifier: Apache-2.0
// A reduction by a reducer gives the same bits whichever devices fail, and however the job reacts.
#include "mpi/job/reduce_testing.hpp"
#include "support/errors.hpp"

#include <tessera/error.hpp>
#include <tessera/job/array.hpp>

namespace tessera::testing {
namespace {

class ReduceFaults : public ::testing::Test {
 protected:
  [[nodiscard]] static JobOptions options_of(OnDeviceFailure action) {
    JobOptions options;
    options.on_device_failure = action;
    return options;
  }

  mpi::Communicator comm_ = world();
  ScopedVariable simulate_{"TESSERA_SIMULATE", "*:2xH200"};
  ScopedVariable no_fault_{"TESSERA_FAULT", std::nullopt};
};

class ReduceFaultsAt : public ReduceFaults, public ::testing::WithParamInterface<const char*> {
 protected:
  const ScopedVariable fault_{"TESSERA_FAULT", std::string(GetParam()) + "@rank" +
                                                   std::to_string(comm_.size() - 1) + ".device1:pass2"};
};

TEST_P(ReduceFaultsAt, TheHostsGiveTheSameBits) {
  Job job(comm_, options_of(OnDeviceFailure::cpu));
  const Plan plan = job.plan(3001, 16);
  for (const auto ran : {Verdict::Ran::devices, Verdict::Ran::fallback, Verdict::Ran::fallback}) {
    EXPECT_EQ(shape_of(job, plan), expected_shape(3001, 16));
    EXPECT_EQ(job.last_verdict().ran, ran) << job.last_verdict();
    expect_same_on_all_ranks(comm_, to_string(job.last_verdict()));
  }
}

TEST_P(ReduceFaultsAt, TheOtherDevicesGiveTheSameBits) {
  Job job(comm_, options_of(OnDeviceFailure::exclude));
  const Plan plan = job.plan(3001, 16);
  for (const std::size_t lost : {0, 1, 1}) {
    EXPECT_EQ(shape_of(job, plan, 1), expected_shape(3001, 16));
    EXPECT_EQ(job.last_verdict().ran, Verdict::Ran::devices) << job.last_verdict();
    EXPECT_EQ(job.last_verdict().excluded.size(), lost);
  }
  EXPECT_EQ(shape_of(job, job.plan(3001, 16)), expected_shape(3001, 16));
}

TEST_P(ReduceFaultsAt, WithoutAWayOutEveryRankIsTold) {
  Job job(comm_, options_of(OnDeviceFailure::error));
  const Plan plan = job.plan(3001, 16);
  EXPECT_EQ(shape_of(job, plan), expected_shape(3001, 16));
  EXPECT_THROW((void)shape_of(job, plan), Error);
}

INSTANTIATE_TEST_SUITE_P(Stages, ReduceFaultsAt, ::testing::Values("bind", "allocate", "throw", "fail"));

TEST_F(ReduceFaults, BlocksOfArraysThatMoveToAnotherRankAreInTheirPlaces) {
  if (comm_.size() == 1) GTEST_SKIP() << "needs another rank";
  const ScopedVariable fault("TESSERA_FAULT", "throw@rank0:pass1");
  JobOptions options = options_of(OnDeviceFailure::exclude);
  options.may_move_units = true;
  Job job(comm_, options);
  const Plan plan = job.plan(1000, 16);
  Array<std::int64_t> numbers(job, plan);
  std::int64_t unit = job.local_range(plan).begin;
  for (std::int64_t& number : numbers.overwrite()) number = unit++;
  const auto shape =
      job.reduce(arrays(numbers.read()), Shape{}, no_device,
                 [](const HostTile& tile, std::uint64_t& value, std::span<const std::int64_t> own) {
                   EXPECT_EQ(own.front(), tile.range.begin);
                   value = shape_of_block({own.front(), own.back() + 1});
                 });
  EXPECT_EQ(shape, expected_shape(1000, 16));
  EXPECT_EQ(job.last_verdict().excluded.size(), 2u) << job.last_verdict();
  error_of(ErrorCode::outdated_plan, [&] { (void)shape_of(job, plan); });
}

}  // namespace
}  // namespace tessera::testing

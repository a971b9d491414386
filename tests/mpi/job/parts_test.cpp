// SPDX-License-Identifier: Apache-2.0
// Tiles that exceed the memory budget are computed in parts, several at a time, each unit once.
#include "mpi/job/job_testing.hpp"
#include "support/errors.hpp"

#include <tessera/device/backend.hpp>
#include <tessera/error.hpp>
#include <tessera/job/stop_request.hpp>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <map>
#include <mutex>
#include <set>
#include <stdexcept>

namespace tessera::testing {
namespace {

constexpr std::int64_t block = 8;
/// The budget of a T4 in these tests holds six blocks.
constexpr std::int64_t bytes_per_unit = (std::int64_t{8} << 30) / 50;

JobOptions with_parts(int parts_in_flight) {
  JobOptions options = with_threads(1);
  options.parts_in_flight = parts_in_flight;
  return options;
}

/// A barrier for this many calls, which fails after a timeout.
class Meeting {
 public:
  explicit Meeting(int calls) : missing_(calls) {}
  void wait() {
    std::unique_lock lock(mutex_);
    if (--missing_ <= 0) all_there_.notify_all();
    const bool met = all_there_.wait_for(lock, std::chrono::seconds(30), [&] { return missing_ <= 0; });
    if (!met) throw std::runtime_error("no other part came");
  }

 private:
  std::mutex mutex_;
  std::condition_variable all_there_;
  int missing_;
};

class Parts : public ::testing::TestWithParam<int> {
 protected:
  [[nodiscard]] JobOptions options() const { return with_parts(GetParam()); }

  ScopedVariable simulate_{"TESSERA_SIMULATE", "*:2xT4"};
  ScopedVariable fault_{"TESSERA_FAULT", std::nullopt};
  mpi::Communicator comm_ = world();
};

TEST_P(Parts, EveryUnitIsMappedOnce) {
  Job job(comm_, options());
  for (const std::int64_t units : {1, 97, 1000, 4003}) {
    const Plan plan = job.plan(units, block);
    EXPECT_EQ(bits(map_units(job, plan, bytes_per_unit)), bits(expected_map(job, plan))) << units;
  }
}

TEST_P(Parts, EveryUnitIsSummedOnce) {
  Job job(comm_, options());
  for (const std::int64_t units : {1, 97, 4003}) {
    const Plan plan = job.plan(units, block);
    EXPECT_EQ(bits(reduce_units(job, plan, bytes_per_unit)), bits(expected_sums(units, block))) << units;
  }
}

TEST_P(Parts, EveryUnitIsChangedOnceByCallsThatShareTheBudget) {
  Job job(comm_, options());
  const Plan plan = job.plan(4003, block);
  auto units = local_units(job, plan);
  std::mutex mutex;
  std::set<int> busy;
  std::map<int, std::int64_t> parts_of_device;
  job.scatter(
      plan, units, no_real_device,
      [&](const HostTile& tile, std::span<double> part) {
        {
          const std::lock_guard lock(mutex);
          EXPECT_TRUE(busy.insert(tile.thread).second) << "two calls on one thread";
          EXPECT_LT(tile.thread, tile.threads);
          EXPECT_EQ(tile.threads, 2 * GetParam()) << "a thread for each lane of two devices";
          EXPECT_LE(tile.range.size(), 6 / GetParam() * block);
          ++parts_of_device[tile.thread % 2];
        }
        for (std::size_t i = 0; i < part.size(); ++i) {
          EXPECT_EQ(part[i], unit_value(tile.range.begin + static_cast<std::int64_t>(i)))
              << "of another part";
          part[i] = unit_result(part[i]);
        }
        const std::lock_guard lock(mutex);
        busy.erase(tile.thread);
      },
      bytes_per_unit);
  EXPECT_EQ(bits(units), bits(expected_map(job, plan)));
  EXPECT_EQ(job.last_verdict().ran, Verdict::Ran::devices) << job.last_verdict();
  for (const PlannedTile& tile : plan.tiles_of(comm_.rank()))
    EXPECT_GE(parts_of_device[tile.device], (tile.units.size() - 1) / (6 * block) + 1);
}

TEST_P(Parts, SoManyPartsAreInFlight) {
  const ScopedVariable simulate("TESSERA_SIMULATE", "*:T4");
  Job job(comm_, options());
  const Plan plan = job.plan(1000 * comm_.size(), block);
  std::vector<char> units(static_cast<std::size_t>(job.local_range(plan).size()));
  Meeting first_calls(GetParam());
  std::mutex mutex;
  std::set<const Arena*> arenas;
  std::atomic<int> calls = 0;
  job.scatter(
      plan, units, no_real_device,
      [&](const HostTile&, std::span<char>) {
        {
          const std::lock_guard lock(mutex);
          arenas.insert(probe_backend("parts").arena);
        }
        if (calls++ < GetParam()) first_calls.wait();
      },
      bytes_per_unit);
  EXPECT_EQ(job.last_verdict().ran, Verdict::Ran::devices) << job.last_verdict();
  EXPECT_EQ(std::ssize(arenas), GetParam()) << "each lane has its own";
  EXPECT_FALSE(arenas.contains(nullptr));
}

TEST_P(Parts, ATileOfOnePartIsOneCall) {
  Job job(comm_, options());
  const Plan plan = job.plan(4 * block * comm_.size(), block);
  std::atomic<int> calls = 0;
  std::vector<char> units(static_cast<std::size_t>(job.local_range(plan).size()));
  job.scatter(
      plan, units, no_real_device, [&](const HostTile&, std::span<char>) { ++calls; }, bytes_per_unit);
  EXPECT_EQ(calls, std::ssize(plan.tiles_of(comm_.rank())));
}

TEST_P(Parts, PartsThatFailTogetherAreOneFailure) {
  JobOptions excluding = options();
  excluding.on_device_failure = OnDeviceFailure::exclude;
  Job job(comm_, excluding);
  const Plan plan = job.plan(4000, block);
  const auto units = local_units(job, plan);
  Meeting failing(GetParam());
  std::atomic<int> calls = 0;
  const auto results = job.map<double>(
      plan, units, no_real_device,
      [&](const HostTile& tile, std::span<const double> in, std::span<double> out) {
        if (comm_.rank() == 0 && tile.thread % 2 == 0 && calls++ < GetParam()) {
          failing.wait();
          throw std::runtime_error("all lanes fail");
        }
        std::ranges::transform(in, out.begin(), unit_result);
      },
      bytes_per_unit);
  EXPECT_EQ(bits(results), bits(expected_map(job, plan)));
  EXPECT_EQ(calls, comm_.rank() == 0 ? GetParam() : 0) << "the failed device is not used again";
  ASSERT_EQ(job.last_verdict().excluded.size(), 1U) << job.last_verdict();
  EXPECT_EQ(job.last_verdict().excluded[0].reason, "all lanes fail");
  expect_same_on_all_ranks(comm_, to_string(job.last_verdict()));
}

TEST_P(Parts, AFailedPartFailsItsTile) {
  const ScopedVariable simulate("TESSERA_SIMULATE", "*:T4");
  Job job(comm_, options());
  const Plan plan = job.plan(4000 * comm_.size(), block);
  const auto units = local_units(job, plan);
  const Range mine = job.local_range(plan);
  std::atomic<bool> failed = false;
  const auto results = job.map<double>(
      plan, units, no_real_device,
      [&](const HostTile& tile, std::span<const double> in, std::span<double> out) {
        if (tile.range.begin == mine.begin && !failed.exchange(true))
          throw std::runtime_error("the first part");
        std::ranges::transform(in, out.begin(), unit_result);
      },
      bytes_per_unit);
  EXPECT_EQ(bits(results), bits(expected_map(job, plan)));
  EXPECT_EQ(job.last_verdict().ran, Verdict::Ran::fallback);
  EXPECT_EQ(job.last_verdict().failure.reason, "the first part");
}

TEST_P(Parts, AStopCutsThePartsOfAllLanesShort) {
  StopRequest stop(comm_, {.signals = {}});
  JobOptions stoppable = options();
  stoppable.stop = &stop;
  Job job(comm_, stoppable);
  const Plan plan = job.plan(4000, block);
  std::vector<char> units(static_cast<std::size_t>(job.local_range(plan).size()));
  error_of(ErrorCode::interrupted, [&] {
    job.scatter(
        plan, units, no_real_device, [&](const HostTile&, std::span<char>) { stop.request("a test"); },
        bytes_per_unit);
  });
}

INSTANTIATE_TEST_SUITE_P(InFlight, Parts, ::testing::Values(1, 2, 3),
                         [](const auto& test) { return std::to_string(test.param); });

TEST(PartsInFlight, AreOneToEightAndTheSameOnEveryRank) {
  const mpi::Communicator comm = world();
  for (const int wrong : {0, -1, 9}) EXPECT_THROW(Job(comm, with_parts(wrong)), Error) << wrong;
  if (comm.size() == 1) return;
  expect_error(ErrorCode::usage, "parts in flight 1",
               [&] { const Job job(comm, with_parts(comm.rank() == 0 ? 1 : 2)); });
}

}  // namespace
}  // namespace tessera::testing

// SPDX-License-Identifier: Apache-2.0
#include <tessera/job/stop_request.hpp>

#include <tessera/error.hpp>
#include <tessera/topology/simulate.hpp>

#include "job/state.hpp"
#include "mpi/job/job_testing.hpp"
#include "support/errors.hpp"
#include "support/on_cpu.hpp"

#include <atomic>
#include <csignal>
#include <functional>
#include <stdexcept>
#include <string>

namespace tessera::testing {
namespace {

constexpr std::int64_t units_per_rank = 2000;

/// A job with a stop request, on one host thread per rank or on simulated devices.
class Stops : public ::testing::TestWithParam<const char*> {
 protected:
  Job make_job(int threads = 1) {
    JobOptions options = with_threads(threads);
    options.stop = &stop_;
    return Job(comm_, options);
  }
  /// A pass in which `work` is called for each of this rank's units, in order.
  void pass(Job& job, const std::function<void(std::int64_t)>& work) {
    const Plan plan = job.plan(units_per_rank * comm_.size());
    std::vector<char> units(static_cast<std::size_t>(job.local_range(plan).size()));
    done_ = 0;
    (void)job.map<char>(plan, std::span<const char>(units), no_real_device,
                        [&](const HostTile& tile, std::span<const char>, std::span<char>) {
                          for (std::int64_t unit = tile.range.begin; unit < tile.range.end; ++unit, ++done_)
                            work(unit);
                        });
  }
  /// The cause, if every rank is interrupted.
  std::string interruption(const std::function<void()>& work) const {
    return on_all_ranks(comm_, error_if_any(ErrorCode::interrupted, work));
  }
  [[nodiscard]] int last() const { return comm_.size() - 1; }
  [[nodiscard]] bool is_last() const { return comm_.rank() == last(); }
  [[nodiscard]] std::string by_last(const std::string& what) const {
    return "stopped by " + what + " on rank " + std::to_string(last());
  }

  ScopedVariable simulate_{"TESSERA_SIMULATE", GetParam()};
  ScopedVariable no_gpu_{"CUDA_VISIBLE_DEVICES", ""};
  mpi::Communicator comm_ = world();
  StopRequest stop_{comm_};
  std::atomic<std::int64_t> done_ = 0;
};

constexpr const char* nothing_simulated = "rank999:T4";
INSTANTIATE_TEST_SUITE_P(Hosts, Stops, ::testing::Values(nothing_simulated));
INSTANTIATE_TEST_SUITE_P(Devices, Stops, ::testing::Values("*:2xT4"));

TEST_P(Stops, ASignalOnOneRankCutsThePassOfAll) {
  Job job = make_job();
  EXPECT_EQ(job.on_host(), std::string(GetParam()) == nothing_simulated);
  const std::int64_t all = job.local_range(job.plan(units_per_rank * comm_.size())).size();
  std::atomic<std::int64_t> seen = 0;
  const std::string cause = interruption([&] {
    pass(job, [&](std::int64_t) {
      if (++seen == all / 10 && is_last()) (void)std::raise(SIGUSR1);
      // The others would otherwise take until tomorrow.
      if (!is_last()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    });
  });
  EXPECT_EQ(cause, by_last("SIGUSR1"));
  EXPECT_LT(done_, all);
  EXPECT_TRUE(stop_.agreed());
  // No later pass begins.
  EXPECT_EQ(interruption([&] { pass(job, [](std::int64_t) {}); }), by_last("SIGUSR1"));
  EXPECT_EQ(done_, 0);
}

TEST_P(Stops, ARankThatIsDoneTellsThoseThatWork) {
  if (comm_.size() == 1) GTEST_SKIP() << "needs a rank that waits for another";
  Job job = make_job();
  const std::int64_t all = job.local_range(job.plan(units_per_rank * comm_.size())).size();
  std::atomic<std::int64_t> seen = 0;
  const std::string cause = interruption([&] {
    pass(job, [&](std::int64_t) {
      // The request arrives in the rank's last unit: nothing is left to cut short, and it reaches the vote.
      if (++seen == all && is_last()) (void)std::raise(SIGTERM);
      if (!is_last()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    });
  });
  EXPECT_EQ(cause, by_last("SIGTERM"));
  if (is_last()) {
    EXPECT_EQ(done_, all);
  }
  if (!is_last()) {
    EXPECT_LT(done_, all);
  }
}

TEST_P(Stops, APassThatWasDoneIsAResult) {
  Job job = make_job();
  const Plan plan = job.plan(10);
  std::atomic<std::int64_t> seen = 0;
  const auto sums = job.reduce(plan, 1, no_real_device, [&](const HostTile& tile, std::span<double> partial) {
    partial[0] += static_cast<double>(tile.range.size());
    // The request arrives in the tile that a thread begins last.
    if ((seen += tile.range.size()) == 10 && comm_.size() == 1) (void)std::raise(SIGUSR1);
  });
  EXPECT_EQ(sums[0], 10);
  if (comm_.size() == 1 && job.on_host()) {
    EXPECT_EQ(interruption([&] { pass(job, [](std::int64_t) {}); }), by_last("SIGUSR1"));
  }
}

TEST_P(Stops, ARequestAndAnAgreementOutsideAPass) {
  EXPECT_FALSE(stop_.agree());
  EXPECT_EQ(stop_.cause(), "");
  if (is_last()) stop_.request("a full disk");
  EXPECT_EQ(stop_.requested(), is_last());
  EXPECT_TRUE(stop_.agree());
  EXPECT_TRUE(stop_.requested());
  EXPECT_EQ(stop_.cause(), "a full disk on rank " + std::to_string(last()));
  EXPECT_TRUE(stop_.agree());
  Job job = make_job();
  EXPECT_EQ(interruption([&] { pass(job, [](std::int64_t) {}); }), by_last("a full disk"));
}

TEST_P(Stops, PollingSpreadsARequest) {
  if (is_last()) stop_.request("the last rank");
  stop_.poll();
  while (!stop_.requested()) stop_.poll();
  EXPECT_TRUE(stop_.agree());
}

TEST_P(Stops, AnErrorIsGraverThanARequest) {
  Job job = make_job();
  // Failures on devices are repaired on hosts, where the request then counts.
  const bool on_host = job.on_host();
  try {
    pass(job, [&](std::int64_t) {
      // A request of another rank could end the pass before the mistake is made.
      if (comm_.rank() != 0) return;
      (void)std::raise(SIGUSR1);
      throw std::runtime_error("a mistake");
    });
    ADD_FAILURE() << "the pass went well";
  } catch (const Error& error) {
    if (on_host) {
      EXPECT_EQ(error.code(), ErrorCode::job_fault) << error.what();
    }
  } catch (const std::runtime_error& error) {
    EXPECT_EQ(std::string(error.what()), "a mistake");
  }
  comm_.barrier();
}

TEST_P(Stops, UnitsThatDevicesHadChangedAreRestored) {
  Job job = make_job();
  const Plan plan = job.plan(units_per_rank * comm_.size());
  std::vector<int> units(static_cast<std::size_t>(job.local_range(plan).size()), 1);
  const auto untouched = units;
  std::atomic<int> calls = 0;
  EXPECT_EQ(interruption([&] {
              job.scatter(plan, std::span(units), no_real_device, [&](const HostTile&, std::span<int> part) {
                for (int& unit : part) unit = 2;
                if (++calls == 3 && is_last()) (void)std::raise(SIGUSR1);
                if (!is_last()) std::this_thread::sleep_for(std::chrono::milliseconds(10));
              });
            }),
            by_last("SIGUSR1"));
  if (!job.on_host()) {
    EXPECT_EQ(units, untouched);
  }
}

using StopRequests = OverRanks;

TEST_F(StopRequests, ATimeLimitIsARequest) {
  const ScopedVariable no_gpu("CUDA_VISIBLE_DEVICES", "");
  StopRequest stop(comm, {.signals = {}, .time_limit = std::chrono::milliseconds(20)});
  JobOptions options = with_threads(2);
  options.stop = &stop;
  Job job(comm, options);
  const Plan plan = job.plan(1000 * comm.size());
  const auto passes = [&] {
    for (;;) (void)reduce_units(job, plan);
  };
  EXPECT_EQ(error_of(ErrorCode::interrupted, passes), "stopped by the time limit of 20 ms");
}

TEST_F(StopRequests, ATileRemembersThatItWasTold) {
  StopRequest stop(comm, {.signals = {}});
  const DeviceContext context(simulated_devices("*:T4", 0).front());
  BufferPool pool(make_upstream(context));
  DeviceLane driven;
  const auto call = [&](const StopRequest* by) {
    return driven.make_tile({0, 1}, {0, 1}, 0, context, pool, 0, by);
  };
  const Tile tile = call(&stop);
  const Tile other = call(&stop);
  const Tile without = call(nullptr);
  EXPECT_FALSE(tile.stopping());
  EXPECT_FALSE(tile.told_to_stop());
  stop.request("a test");
  EXPECT_FALSE(tile.told_to_stop()) << "it has not asked since";
  EXPECT_TRUE(tile.stopping());
  EXPECT_TRUE(tile.told_to_stop());
  EXPECT_FALSE(other.told_to_stop());
  EXPECT_FALSE(without.stopping());
}

TEST_F(StopRequests, MisuseIsRefused) {
  EXPECT_THROW(StopRequest(comm, {.signals = {SIGKILL}}), Error);
  EXPECT_THROW(StopRequest(comm, {.time_limit = std::chrono::milliseconds(-1)}), Error);
  EXPECT_FALSE(StopRequest(comm, {.time_limit = std::chrono::milliseconds::max()}).requested()) << "no limit";
  const StopRequest again(comm);
  EXPECT_FALSE(again.requested());
}

TEST_F(StopRequests, OneThatWasMadeOverOtherRanksThanTheJobIsRefused) {
  const auto refusal_by = [](const mpi::Communicator& of_job, StopRequest& stop) {
    const JobOptions options = on_cpu(0, &stop);
    return error_if_any(ErrorCode::usage, [&] { const Job job(of_job, options); }).value_or("");
  };
  StopRequest of_all(comm, {.signals = {}});
  const auto alone = comm.split(comm.rank());
  StopRequest of_one(alone, {.signals = {}});
  EXPECT_EQ(refusal_by(comm, of_all), "");
  EXPECT_EQ(refusal_by(alone, of_one), "");
  EXPECT_EQ(refusal_by(alone, of_all).empty(), comm.size() == 1);
  // The same ranks in another order, and equally many other ranks.
  MPI_Comm reversed = MPI_COMM_NULL;
  ASSERT_EQ(MPI_Comm_split(comm.native(), 0, -comm.rank(), &reversed), MPI_SUCCESS);
  {
    const auto turned_round = mpi::Communicator::duplicate_of(reversed);
    EXPECT_EQ(refusal_by(turned_round, of_all), "");
  }
  MPI_Comm_free(&reversed);
  if (comm.size() < 4) return;  // too few ranks for two disjoint sets
  const auto of_job = comm.split(comm.rank() % 2);
  StopRequest of_neighbours(comm.split(comm.rank() / 2), {.signals = {}});
  for (StopRequest* const stop : {&of_neighbours, &of_one})
    EXPECT_TRUE(refusal_by(of_job, *stop).starts_with("JobOptions::stop has other ranks than the job"));
}

TEST_F(StopRequests, AMistakeOfOneRankIsToldToAll) {
  const bool on_last = comm.rank() == comm.size() - 1;
  const auto refusal = [&](const StopOptions& options) {
    return error_of(ErrorCode::usage, [&] { const StopRequest stop(comm, options); });
  };
  EXPECT_EQ(refusal({.time_limit = std::chrono::milliseconds(on_last ? -1 : 1)}),
            "StopOptions::time_limit is negative: give a positive time, or 0 for no limit");
  EXPECT_EQ(refusal({.signals = {on_last ? SIGKILL : SIGUSR1}}),
            "signal 9 cannot be caught: remove this signal from StopOptions::signals");
  EXPECT_FALSE(StopRequest(comm).requested()) << "and what was taken is given back";
}

TEST_F(StopRequests, PassesHaveTheSameBits) {
  const ScopedVariable no_gpu("CUDA_VISIBLE_DEVICES", "");
  StopRequest stop(comm);
  for (const char* devices : {nothing_simulated, "*:2xT4"}) {
    const ScopedVariable simulate("TESSERA_SIMULATE", devices);
    for (const int threads : {1, 3}) {
      JobOptions options = with_threads(threads);
      options.stop = &stop;
      Job job(comm, options);
      const Plan plan = job.plan(10'007, 7);
      EXPECT_EQ(bits(reduce_units(job, plan)), bits(expected_sums(10'007, 7)));
      EXPECT_EQ(bits(map_units(job, plan)), bits(expected_map(job, plan)));
    }
  }
}

}  // namespace
}  // namespace tessera::testing

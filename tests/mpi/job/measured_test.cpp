// SPDX-License-Identifier: Apache-2.0
#include "job/score/measured_scores.hpp"
#include "mpi/job/job_testing.hpp"
#include "support/errors.hpp"

#include <tessera/error.hpp>
#include <tessera/job/stop_request.hpp>

#include <pthread.h>

#include <chrono>
#include <stdexcept>
#include <thread>

namespace tessera::testing {
namespace {

JobOptions measured_by(std::function<std::int64_t(const HostTile&)> on_host = {}) {
  JobOptions options;
  options.score_model = ScoreModel::measured;
  options.measure = [](Tile&) -> std::int64_t { throw std::logic_error("there is no device to run on"); };
  options.measure_on_host = std::move(on_host);
  return options;
}

using MeasuredScores = OverRanks;

TEST_F(MeasuredScores, AreInProportionHoweverLongAUnitTakes) {
  const std::vector<double> seconds{0.6, 1, 2, 60};
  const double slow = seconds[static_cast<std::size_t>(comm.rank()) % seconds.size()];
  const auto scores = scores_of(comm, std::vector<double>{slow, 0, 2 * slow});
  const double fastest = 0.6;  // rank 0's
  EXPECT_NEAR(static_cast<double>(scores[0]), fastest / slow * 0x1p30, 1);
  EXPECT_EQ(scores[1], 0u) << "it could not be measured";
  EXPECT_NEAR(static_cast<double>(scores[2]), fastest / slow * 0x1p29, 1);
}

TEST_F(MeasuredScores, OfSimulatedDevicesGoByTheirFigures) {
  const ScopedVariable simulate("TESSERA_SIMULATE", "*:T4+H200");
  const auto scores_of_job = [](const Job& job) {
    std::vector<double> scores;
    for (const auto& device : job.inventory().devices()) scores.push_back(static_cast<double>(device.score));
    return scores;
  };
  const auto measured = scores_of_job(Job(world(), measured_by()));
  const auto judged = scores_of_job(Job(world()));
  const double fastest = *std::ranges::max_element(judged);
  for (std::size_t i = 0; i < judged.size(); ++i)
    EXPECT_NEAR(measured[i], judged[i] / fastest * static_cast<double>(measured_score_of_fastest), 1);
}

TEST_F(MeasuredScores, OfADeviceThatRanksShareAreMeasuredAsShared) {
  const ScopedVariable simulate("TESSERA_SIMULATE", "*:H200@node");
  auto options = measured_by();
  options.allow_sharing = true;
  const Job job(world(), options);
  for (const auto& device : job.inventory().devices()) EXPECT_EQ(device.score, measured_score_of_fastest);
}

TEST_F(MeasuredScores, DecideThePlan) {
  const ScopedVariable simulate("TESSERA_SIMULATE", "*:T4");
  // All take the same time, for numbers of units that differ far more than clocks do.
  Job job(comm, measured_by([&](const HostTile& tile) {
            EXPECT_EQ(tile.threads, 1);
            return comm.rank() == 0 ? std::int64_t{1} << 40 : 1;
          }));
  ASSERT_FALSE(job.on_host());
  EXPECT_EQ(job.inventory().devices()[0].score, measured_score_of_fastest);
  const Plan plan = job.plan(1000);
  EXPECT_GE(plan.range_of(0).size(), 900);
  EXPECT_EQ(bits(map_units(job, plan)), bits(expected_map(job, plan)));
}

TEST_F(MeasuredScores, OfARunThatFailsOnOneRankMakeAllFallBack) {
  const ScopedVariable simulate("TESSERA_SIMULATE", "*:T4");
  const int last = comm.size() - 1;
  const std::function<std::int64_t()> failures[] = {
      [] { return std::int64_t{0}; }, [] { return std::int64_t{-3}; },
      []() -> std::int64_t { throw std::runtime_error("no clock"); }};
  for (const auto& fail : failures) {
    Job job(comm, measured_by([&](const HostTile&) { return comm.rank() == last ? fail() : 5; }));
    EXPECT_TRUE(job.on_host());
    const Verdict& verdict = job.last_verdict();
    EXPECT_EQ(verdict.ran, Verdict::Ran::fallback);
    EXPECT_EQ(verdict.failure.stage, "score");
    EXPECT_EQ(verdict.failure.rank, last);
    expect_same_on_all_ranks(comm, to_string(verdict));
    const Plan plan = job.plan(100);
    EXPECT_EQ(bits(map_units(job, plan)), bits(expected_map(job, plan)));
  }
}

TEST_F(MeasuredScores, AreAnErrorOnAllRanksWhereOneHasNothingToTime) {
  const ScopedVariable simulate("TESSERA_SIMULATE", "*:T4");
  auto options = measured_by();
  if (comm.rank() + 1 == comm.size()) options.measure = nullptr;
  EXPECT_THROW(Job(comm, options), Error);
  if (comm.rank() + 1 == comm.size()) options = {};
  if (comm.size() > 1) {
    options.measure = [](Tile&) { return std::int64_t{1}; };
    EXPECT_THROW(Job(comm, options), Error) << "the ranks want different scores";
  }
}

/// The message of the Error(usage) that every rank gets instead of a job.
std::string refusal_of(const mpi::Communicator& comm, const JobOptions& options) {
  return error_of(ErrorCode::usage, [&] { const Job job(comm, options); });
  return {};
}

TEST_F(MeasuredScores, ARankThatMeasuresAnswersTheOthers) {
  const ScopedVariable simulate("TESSERA_SIMULATE", "*:T4");
  StopRequest stop(comm, {.signals = {}});
  const bool asks = comm.rank() == comm.size() - 1;
  // Every function waits for an event that only the thread that answers other ranks receives.
  auto options = measured_by([&](const HostTile&) {
    if (asks) stop.request("the last rank");
    while (!stop.requested()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return std::int64_t{1};
  });
  options.stop = &stop;
  const Job job(comm, options);
  EXPECT_FALSE(job.on_host());
  EXPECT_TRUE(stop.requested());
}

TEST_F(MeasuredScores, MisuseInOneFunctionIsAUsageErrorOnAllRanks) {
  const ScopedVariable simulate("TESSERA_SIMULATE", "*:T4");
  const bool last = comm.rank() == comm.size() - 1;
  const std::pair<std::function<void()>, const char*> mistakes[] = {
      {[] { pthread_exit(nullptr); }, "ended its thread (pthread_exit"},
      {[&] { comm.barrier(); }, "a collective call, for example Job::run, was made outside the main thread"},
      {[&] { const Job inner(comm); },
       "a collective call, for example Job::run, was made outside the main thread"}};
  for (const auto& [mistake, said] : mistakes) {
    for (const bool of_all : {true, false}) {
      const std::string refusal = refusal_of(comm, measured_by([&, &mistake = mistake](const HostTile&) {
                                               if (of_all || last) mistake();
                                               return std::int64_t{1};
                                             }));
      EXPECT_NE(refusal.find(said), std::string::npos) << refusal;
    }
  }
  EXPECT_FALSE(Job(comm).on_host()) << "and the devices are free again";
}

TEST_F(MeasuredScores, OfSimulatedDevicesAreTimedOnAllRanksOrOnNone) {
  const ScopedVariable simulate("TESSERA_SIMULATE", "*:T4");
  if (comm.size() == 1) GTEST_SKIP() << "one rank cannot disagree";
  const auto on_host = [](const HostTile&) { return std::int64_t{1}; };
  const int last = comm.size() - 1;
  const std::string refusal = refusal_of(comm, comm.rank() == last ? measured_by() : measured_by(on_host));
  EXPECT_TRUE(refusal.starts_with("the ranks have different job options")) << refusal;
  EXPECT_NE(refusal.find("has a measure on the host; rank " + std::to_string(last)), std::string::npos)
      << refusal;
  expect_same_on_all_ranks(comm, refusal);
  // `measure` is not called under another score model.
  JobOptions options;
  if (comm.rank() == last) options.measure_on_host = on_host;
  EXPECT_FALSE(Job(comm, options).on_host());
}

TEST_F(MeasuredScores, OfTimesAndFiguresAreNotCompared) {
  ClaimedDevice real;
  ClaimedDevice simulated;
  simulated.info.simulated = true;
  const bool last = comm.rank() == comm.size() - 1;
  const auto can = [&](const std::vector<ClaimedDevice>& devices, const JobOptions& options) {
    return measurable(comm, devices, options);
  };
  const auto timed = measured_by([](const HostTile&) { return std::int64_t{1}; });
  EXPECT_EQ(can({}, measured_by()), Measurable::yes);
  EXPECT_EQ(can({real, real}, measured_by()), Measurable::yes);
  EXPECT_EQ(can({simulated}, measured_by()), Measurable::yes);
  EXPECT_EQ(can({simulated, real}, measured_by()), Measurable::mixed);
  EXPECT_EQ(can({simulated, real}, timed), Measurable::yes);
  EXPECT_EQ(can({real}, last ? JobOptions{} : timed), Measurable::no);
  if (comm.size() > 1) {
    EXPECT_EQ(can({last ? real : simulated}, measured_by()), Measurable::mixed);
    EXPECT_EQ(can(last ? std::vector{real} : std::vector<ClaimedDevice>{}, measured_by()), Measurable::yes);
  }
}

}  // namespace
}  // namespace tessera::testing

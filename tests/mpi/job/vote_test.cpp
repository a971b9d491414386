// SPDX-License-Identifier: Apache-2.0
#include "job/consensus/vote.hpp"

#include <tessera/job/stop_request.hpp>

#include "mpi/job/job_testing.hpp"

#include <set>

namespace tessera::testing {
namespace {

Inventory hosts(int ranks) {
  std::vector<InventoryRank> all(static_cast<std::size_t>(ranks));
  for (int rank = 0; rank < ranks; ++rank) {
    all[static_cast<std::size_t>(rank)].rank = rank;
    all[static_cast<std::size_t>(rank)].hostname = "node" + std::to_string(rank);
  }
  return {std::move(all), {}};
}

class Votes : public ::testing::Test {
 protected:
  Ballot vote(const Ballot& mine, std::int64_t signature = 7) {
    return box_.vote(mine, signature, inventory_, "a vote");
  }
  /// A ballot with `outcome` on the ranks of `failed`, and success elsewhere.
  [[nodiscard]] Ballot mine(Outcome outcome, const std::set<int>& failed) const {
    Ballot ballot;
    if (!failed.contains(comm_.rank())) return ballot;
    ballot.outcome = outcome;
    ballot.failure.device = comm_.rank() + 10;
    ballot.failure.uuid = "GPU-of-" + std::to_string(comm_.rank());
    ballot.failure.stage = "tile";
    ballot.failure.reason = "two\nlines";
    return ballot;
  }

  mpi::Communicator comm_ = world();
  BallotBox box_{comm_};
  Inventory inventory_ = hosts(comm_.size());
};

TEST_F(Votes, AllWellIsSuccess) {
  for (int i = 0; i < 100; ++i) EXPECT_EQ(vote({}).outcome, Outcome::success);
}

TEST_F(Votes, EveryRankLearnsOfTheLowestThatFailed) {
  for (int first = 0; first < comm_.size(); ++first) {
    const Ballot decided = vote(mine(Outcome::device_failed, {first, comm_.size() - 1}));
    EXPECT_EQ(decided.outcome, Outcome::device_failed);
    EXPECT_EQ(decided.failure.rank, first);
    EXPECT_EQ(decided.failure.hostname, "node" + std::to_string(first));
    EXPECT_EQ(decided.failure.device, first + 10);
    EXPECT_EQ(decided.failure.uuid, "GPU-of-" + std::to_string(first));
    EXPECT_EQ(decided.failure.stage, "tile");
    EXPECT_EQ(decided.failure.reason, "two lines");
  }
}

TEST_F(Votes, FatalOutweighsALowerRanksDevice) {
  const int last = comm_.size() - 1;
  Ballot ballot = mine(Outcome::device_failed, {0});
  if (comm_.rank() == last) ballot = mine(Outcome::fatal, {last});
  const Ballot decided = vote(ballot);
  EXPECT_EQ(decided.outcome, Outcome::fatal);
  EXPECT_EQ(decided.failure.rank, last);
}

TEST_F(Votes, AStopIsGraverThanADeviceAndLessThanAnError) {
  const int last = comm_.size() - 1;
  if (last == 0) GTEST_SKIP() << "one rank brings one outcome";
  EXPECT_EQ(vote(mine(Outcome::stopped, {last})).outcome, Outcome::stopped);
  for (const auto& [other, decided] :
       {std::pair(Outcome::device_failed, Outcome::stopped), std::pair(Outcome::fatal, Outcome::fatal)}) {
    EXPECT_EQ(vote(mine(comm_.rank() == last ? Outcome::stopped : other, {0, last})).outcome, decided);
  }
}

TEST_F(Votes, RanksThatWaitSpreadARequestToStop) {
  StopRequest stop(comm_, {.signals = {}});
  BallotBox box(comm_, &stop);
  if (comm_.rank() == comm_.size() - 1) stop.request("the last rank");
  // Rank 0 does not reach the vote before it was notified.
  while (comm_.rank() == 0 && !stop.requested()) stop.poll();
  EXPECT_EQ(box.vote({}, 7, inventory_, "a vote").outcome, Outcome::success);
  EXPECT_TRUE(stop.agree());
}

TEST_F(Votes, DifferentSignaturesAreADisagreementOnEveryRank) {
  if (comm_.size() == 1) GTEST_SKIP() << "one rank cannot disagree";
  for (const std::int64_t other : {std::int64_t{8}, std::int64_t{-1}, std::int64_t{1} << 62}) {
    EXPECT_EQ(vote({}, comm_.rank() == comm_.size() - 1 ? other : 7).outcome, Outcome::disagreement);
    EXPECT_EQ(vote({}, other).outcome, Outcome::success);
  }
}

TEST(Signature, TellsEveryValueAndItsPlace) {
  EXPECT_EQ(signature_of({1, 2, 3}), signature_of({1, 2, 3}));
  EXPECT_NE(signature_of({1, 2, 3}), signature_of({1, 3, 2}));
  EXPECT_NE(signature_of({0}), signature_of({0, 0}));
  EXPECT_NE(signature_of({std::int64_t{1} << 40}), signature_of({0}));
}

}  // namespace
}  // namespace tessera::testing

// SPDX-License-Identifier: Apache-2.0
#include "mpi/job/job_testing.hpp"
#include "support/errors.hpp"

#include <tessera/error.hpp>

#include <random>

namespace tessera::testing {
namespace {

/// A plan that depends on the seed, the same on every rank.
Plan random_plan(int ranks, std::int64_t units, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<int> threads(static_cast<std::size_t>(ranks));
  for (int& count : threads) count = 1 + static_cast<int>(random() % 50);
  return Plan::over_hosts(units, threads);
}

struct Unit {
  std::int64_t number;
  std::int64_t value;
  friend bool operator==(const Unit&, const Unit&) = default;
};

std::vector<Unit> units_of(const Job& job, const Plan& plan) {
  std::vector<Unit> units;
  const Range mine = job.local_range(plan);
  for (std::int64_t unit = mine.begin; unit < mine.end; ++unit) units.push_back({unit, 7 * unit});
  return units;
}

TEST(Move, GivesEachRankItsUnitsInOrder) {
  const Job job(world(), with_threads(1));
  for (unsigned seed = 0; seed < 20; ++seed) {
    const std::int64_t units = seed < 3 ? seed : 1000;
    const Plan from = random_plan(job.comm().size(), units, seed);
    const Plan to = random_plan(job.comm().size(), units, seed + 1);
    EXPECT_EQ(job.move(units_of(job, from), from, to), units_of(job, to)) << seed;
  }
}

TEST(Move, RefusesWhatIsNotTheSameUnitsOnEveryRank) {
  const Job job(world(), with_threads(1));
  const int ranks = job.comm().size();
  const bool last = job.comm().rank() == ranks - 1;
  const Plan from = random_plan(ranks, 100, 1);
  const Plan to = random_plan(ranks, 100, 2);
  const auto refusal = [&](std::size_t units, const Plan& target) {
    const auto move = [&] { (void)job.move(std::vector<char>(units), from, target); };
    return on_all_ranks(job.comm(), error_if_any(ErrorCode::usage, move));
  };
  const auto mine = static_cast<std::size_t>(job.local_range(from).size());
  EXPECT_NE(refusal(mine + (last ? 1 : 0), to).find("units, but has"), std::string::npos);
  EXPECT_NE(refusal(mine, random_plan(ranks, 99, 2)).find("100 and 99 units"), std::string::npos);
  EXPECT_NE(refusal(mine, random_plan(ranks + 1, 100, 2)).find("ranks, but the job has"), std::string::npos);
  if (ranks > 1) {
    EXPECT_NE(refusal(mine, last ? from : to).find("make different moves"), std::string::npos);
  }
  EXPECT_EQ(refusal(mine, to), "no error");
}

}  // namespace
}  // namespace tessera::testing

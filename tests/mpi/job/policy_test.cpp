// SPDX-License-Identifier: Apache-2.0
#include "mpi/job/job_testing.hpp"
#include "support/errors.hpp"

#include <tessera/error.hpp>

#include <sched.h>

namespace tessera::testing {
namespace {

JobOptions with_policy(Policy policy) {
  JobOptions options;
  options.policy = policy;
  return options;
}

TEST(JobPolicy, CpuLooksForNoDevice) {
  const ScopedVariable simulate("TESSERA_SIMULATE", "*:2xH200");
  Job job(world(), with_policy(Policy::cpu));
  EXPECT_TRUE(job.on_host());
  EXPECT_TRUE(job.devices().empty());
  EXPECT_TRUE(job.inventory().devices().empty());
  EXPECT_FALSE(job.inventory().ranks()[0].hostname.empty());
  const Plan plan = job.plan(999);
  EXPECT_FALSE(plan.on_devices());
  EXPECT_EQ(bits(map_units(job, plan)), bits(expected_map(job, plan)));
  EXPECT_EQ(to_string(job.last_verdict()), "computed on the CPU: the policy is cpu");
}

TEST(JobPolicy, AJobUsesTheFractionOfItsDevicesMemoryThatItIsGiven) {
  const ScopedVariable simulate("TESSERA_SIMULATE", "*:H200");
  JobOptions options;
  for (const double fraction : {0.25, 0.5, 1.0}) {
    options.memory_fraction = fraction;
    const Job job(world(), options);
    for (const InventoryDevice& device : job.inventory().devices()) {
      const double part = fraction * static_cast<double>(device.total_memory_bytes);
      EXPECT_NEAR(static_cast<double>(device.memory_budget_bytes), part, 1) << fraction;
    }
  }
  for (const double wrong : {0.0, -1.0, 1.5, std::nan("")}) {
    options.memory_fraction = wrong;
    EXPECT_THROW(Job(world(), options), Error) << wrong;
  }
}

TEST(JobPolicy, GpuWithoutADeviceIsTheSameErrorOnEveryRank) {
  const ScopedVariable simulate("TESSERA_SIMULATE", "rank9999:T4");
  const auto comm = world();
  std::string message;
  message = error_of(ErrorCode::device_absent, [&] { const Job job(comm, with_policy(Policy::gpu)); });
  EXPECT_TRUE(message.starts_with("a GPU is required, but no GPU can be used: ")) << message;
  EXPECT_GT(message.size(), std::string("a GPU is required, but no GPU can be used: ").size());
  expect_same_on_all_ranks(comm, message);
}

TEST(JobPolicy, GpuNeedsOneDeviceInTheJobNotOneARank) {
  const ScopedVariable simulate("TESSERA_SIMULATE", "rank0:T4");
  Job job(world(), with_policy(Policy::gpu));
  EXPECT_FALSE(job.on_host());
  const Plan plan = job.plan(100);
  EXPECT_EQ(bits(map_units(job, plan)), bits(expected_map(job, plan)));
  EXPECT_EQ(to_string(job.last_verdict()), "computed on 1 simulated device");
}

TEST(JobPolicy, GpuAllowsAPassOnHostsAlone) {
  const ScopedVariable simulate("TESSERA_SIMULATE", "rank0:T4");
  Job job(world(), with_policy(Policy::gpu));
  const Plan plan = job.plan(100, 10);
  EXPECT_EQ(job.reduce(plan, 1, host_only,
                       [](const HostTile& tile, std::span<double> partial) {
                         partial[0] += static_cast<double>(tile.range.size());
                       }),
            std::vector<double>{100});
  EXPECT_EQ(job.last_verdict().absence, "the pass runs only on hosts");
  EXPECT_FALSE(job.on_host());
}

TEST(JobPolicy, BeforeTheFirstPassTheVerdictTellsTheHardware) {
  const ScopedVariable simulate("TESSERA_SIMULATE", "*:2xH200");
  const Job job(world());
  EXPECT_EQ(job.last_verdict().ran, Verdict::Ran::devices);
  EXPECT_EQ(job.last_verdict().devices, 2 * job.comm().size());
}

using JobDevices = OverRanks;

TEST_F(JobDevices, ArePooledByScoreAndPlannedByIt) {
  const ScopedVariable simulate("TESSERA_SIMULATE", "*:T4+H200");
  Job job(world());
  ASSERT_EQ(job.devices().size(), 2u);
  EXPECT_GT(job.devices().entries()[0].score, job.devices().entries()[1].score);
  EXPECT_NE(job.devices().device_at(0).name.find("H200"), std::string::npos);
  const Plan plan = job.plan(100'000);
  const auto tiles = plan.tiles_of(job.comm().rank());
  ASSERT_EQ(tiles.size(), 2u);
  EXPECT_GT(tiles[0].units.size(), tiles[1].units.size());
}

TEST_F(JobDevices, OneThatRanksShareCountsAsItsShare) {
  const ScopedVariable simulate("TESSERA_SIMULATE", "*:H200@node");
  {
    const Job alone(comm);
    EXPECT_EQ(alone.inventory().devices().size(), 1u);
  }
  JobOptions options;
  options.allow_sharing = true;
  Job job(comm, options);
  const auto devices = job.inventory().devices();
  ASSERT_EQ(devices.size(), static_cast<std::size_t>(comm.size()));
  EXPECT_EQ(devices[0].sharers, comm.size());
  EXPECT_EQ(job.devices().entries()[0].score, devices[static_cast<std::size_t>(comm.rank())].score);
  const Plan plan = job.plan(1000, 10);
  EXPECT_EQ(job.last_verdict().devices, 1) << "before the first pass";
  EXPECT_EQ(bits(reduce_units(job, plan)), bits(expected_sums(1000, 10)));
  EXPECT_EQ(job.inventory().gpus(), 1);
  EXPECT_EQ(job.inventory().is_shared(), comm.size() > 1);
  EXPECT_EQ(job.last_verdict().devices, 1);
  EXPECT_EQ(job.last_verdict().shares, comm.size() > 1 ? comm.size() : 0);
}

TEST_F(JobDevices, WhatAJobDrivesIsNoOtherJobs) {
  const ScopedVariable simulate("TESSERA_SIMULATE", "*:2xT4");
  std::optional<Job> first(std::in_place, comm);
  EXPECT_EQ(first->devices().size(), 2u);
  {
    Job second(comm);
    EXPECT_TRUE(second.on_host());
    const std::string verdict = to_string(second.last_verdict());
    EXPECT_NE(verdict.find("drive all 2 GPUs that this rank sees"), std::string::npos) << verdict;
    const Plan plan = second.plan(100);
    EXPECT_EQ(bits(map_units(second, plan)), bits(expected_map(second, plan)));
  }
  first.reset();
  Job third(comm);
  EXPECT_EQ(third.devices().size(), 2u) << "the first has ended";
}

TEST_F(JobDevices, JobsOfHalvesOfANodeShareNone) {
  const ScopedVariable simulate("TESSERA_SIMULATE", "*:H200+T4@node");
  const auto half = comm.split(comm.rank() % 2);
  Job job(half);
  std::vector<Uuid> mine;
  for (const auto& device : job.devices()) mine.push_back(device.info.uuid);
  auto all = comm.allgatherv(std::span<const Uuid>(mine));
  std::ranges::sort(all);
  EXPECT_EQ(all.size(), 2u);
  EXPECT_EQ(std::ranges::adjacent_find(all), all.end());
  const Plan plan = job.plan(1000, 10);
  EXPECT_EQ(bits(reduce_units(job, plan)), bits(expected_sums(1000, 10)));
  comm.barrier();  // the other half's job has been made before this one ends
}

TEST_F(JobDevices, JobsOfHalvesHaveTheDevicesOfTheirRanks) {
  const ScopedVariable simulate("TESSERA_SIMULATE", "*:2xH200");
  const Job job(comm.split(comm.rank() % 2));
  EXPECT_EQ(job.inventory().devices().size(), 2 * job.inventory().ranks().size()) << job.last_verdict();
  std::vector<Uuid> mine;
  for (const auto& device : job.inventory().devices_of(job.comm().rank())) mine.push_back(device.uuid);
  auto all = comm.allgatherv(std::span<const Uuid>(mine));
  std::ranges::sort(all);
  EXPECT_EQ(std::ssize(all), 2 * comm.size());
  EXPECT_EQ(std::ranges::adjacent_find(all), all.end()) << "a device of two ranks";
  comm.barrier();  // the other half's job has been made before this one ends
}

TEST_F(JobDevices, JobsThatShareOneDivideItsMemory) {
  const ScopedVariable simulate("TESSERA_SIMULATE", "*:T4");
  JobOptions options;
  options.allow_sharing = true;
  const Job first(comm, options);
  const Job second(comm, options);
  const auto budget = [](const Job& job) { return job.inventory().devices()[0].memory_budget_bytes; };
  EXPECT_EQ(second.inventory().devices()[0].sharers, 2);
  EXPECT_EQ(budget(first), std::int64_t{8} << 30);
  EXPECT_EQ(budget(second), std::int64_t{4} << 30) << "half of what the first has left";
}

TEST(JobThreads, AreAsAsked) {
  EXPECT_EQ(Job(world(), with_threads(3)).threads(), 3);
  EXPECT_EQ(Job(world(), with_threads(1)).threads(), 1);
}

TEST(JobThreads, AreThoseOfTheEnvironmentIfNotAsked) {
  const ScopedVariable openmp("OMP_NUM_THREADS", "1");
  const Job job(world());
  EXPECT_EQ(job.threads(), 1);
  EXPECT_EQ(job.host_threads().from, "OMP_NUM_THREADS");
}

TEST(JobThreads, ShareTheCoresOfANodeFairlyIfNotAsked) {
  const ScopedVariable openmp("OMP_NUM_THREADS", std::nullopt);
  const ScopedVariable slurm("SLURM_CPUS_PER_TASK", std::nullopt);
  const Job job(world());
  const auto ranks = job.inventory().ranks();
  // Ranks that may use the same cores of one node have at least one thread each, otherwise at most the number
  // of cores in all, equal to within one.
  for (const InventoryRank& rank : ranks) {
    int sharers = 0;
    for (const InventoryRank& other : ranks)
      sharers += other.node == rank.node && other.cpuset == rank.cpuset ? 1 : 0;
    if (rank.rank != job.comm().rank()) continue;
    EXPECT_GE(job.threads(), std::max(1, rank.usable_threads / sharers));
    EXPECT_LE(job.threads(), std::max(1, rank.allowed_threads / sharers + 1));
  }
  const auto threads = job.comm().allgather(job.threads());
  const bool no_quota = ranks[0].usable_threads == ranks[0].allowed_threads;
  if (no_quota && static_cast<int>(threads.size()) <= ranks[0].allowed_threads) {
    const bool all_share = std::ranges::all_of(ranks, [&](const InventoryRank& rank) {
      return rank.node == ranks[0].node && rank.cpuset == ranks[0].cpuset;
    });
    if (all_share) {
      EXPECT_EQ(std::accumulate(threads.begin(), threads.end(), 0), ranks[0].allowed_threads);
    }
  }
}

TEST(JobThreads, CutTheWorkOfAJobWithoutDevices) {
  const auto comm = world();
  JobOptions options = with_policy(Policy::cpu);
  options.threads = comm.rank() == 0 ? 3 : 1;
  Job job(comm, options);
  const std::int64_t units = 100 * (comm.size() + 2);
  const Plan plan = job.plan(units);
  EXPECT_EQ(job.local_range(plan).size(), 100 * options.threads);
  EXPECT_EQ(plan.fingerprint(), job.plan_for_hosts(units).fingerprint());
  EXPECT_EQ(bits(map_units(job, plan)), bits(expected_map(job, plan)));
}

TEST(JobMoves, WithItsStateIntact) {
  const ScopedVariable simulate("TESSERA_SIMULATE", "*:T4");
  Job made(world());
  Job job = std::move(made);
  const Plan plan = job.plan(50);
  EXPECT_EQ(bits(map_units(job, plan)), bits(expected_map(job, plan)));
}

}  // namespace
}  // namespace tessera::testing

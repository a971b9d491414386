// SPDX-License-Identifier: Apache-2.0
// tessera-info reports threads and memory according to the batch system's variables and real cgroups.
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>

#include "own_cgroup.hpp"
#include "run_program.hpp"

namespace tessera {
namespace {

using nlohmann::json;

constexpr const char* no_variables = "env -u OMP_NUM_THREADS -u SLURM_CPUS_PER_TASK ";

/// The report of `ranks` ranks that may all run on every core, under `variables`.
json ranks_of(const std::string& variables, int ranks) {
  const auto result =
      successful(run(no_variables + variables + " " TESSERA_MPIRUN " " + std::to_string(ranks) +
                     " --bind-to none " TESSERA_INFO " --policy cpu --json"));
  return json::parse(result.out).at("ranks");
}

TEST(InfoLimits, RanksDivideTheCoresThatTheyShare) {
  const json ranks = ranks_of("", 2);
  const int cores = ranks[0].at("threads");
  const std::string from = ranks[0].at("host_threads").at("from");
  EXPECT_NE(from.find("shared by 2 ranks"), std::string::npos) << from;
  int sum = 0;
  for (const auto& rank : ranks) sum += rank.at("host_threads").at("count").get<int>();
  // A quota over both may reduce their threads.
  EXPECT_LE(sum, std::max(2, cores));
  EXPECT_TRUE(ranks[0].at("host_threads").at("ignored").is_null());
}

TEST(InfoLimits, VariablesOfTheBatchSystem) {
  const json by_slurm = ranks_of("SLURM_CPUS_PER_TASK=1", 2);
  for (const auto& rank : by_slurm) {
    EXPECT_EQ(rank.at("host_threads").at("count"), 1);
    EXPECT_EQ(rank.at("host_threads").at("from"), "SLURM_CPUS_PER_TASK");
  }
  const json by_openmp = ranks_of("OMP_NUM_THREADS=1,4 SLURM_CPUS_PER_TASK=2", 2);
  EXPECT_EQ(by_openmp[1].at("host_threads").at("from"), "OMP_NUM_THREADS");
  const json too_many = ranks_of("SLURM_CPUS_PER_TASK=4096", 1);
  EXPECT_LE(too_many[0].at("host_threads").at("count"), too_many[0].at("threads"));
  const std::string from = too_many[0].at("host_threads").at("from");
  EXPECT_TRUE(from.starts_with("SLURM_CPUS_PER_TASK=4096, but only")) << from;
}

TEST(InfoLimits, TheTableSaysWhy) {
  const auto result =
      successful(run("env OMP_NUM_THREADS=many SLURM_CPUS_PER_TASK=1 " TESSERA_INFO " --policy cpu"));
  for (const char* part : {"Hosts\n", "SLURM_CPUS_PER_TASK",
                           "OMP_NUM_THREADS='many' is ignored, because the value is not a number of threads"})
    EXPECT_NE(result.out.find(part), std::string::npos) << part << " in\n" << result.out;
}

// A sanitizer's shadow memory exceeds that address space.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
TEST(InfoLimits, AnUlimit) {
  const auto result = successful(run("ulimit -v 8000000; " TESSERA_INFO " --policy cpu --json"));
  const json memory = json::parse(result.out).at("ranks")[0].at("memory");
  if (memory.at("from") != "ulimit -v") GTEST_SKIP() << "less than 8 GB is left: " << memory;
  EXPECT_EQ(memory.at("limit_bytes"), 8000000LL * 1024);
}
#endif

/// tessera-info in a cgroup.
json rank_in(const OwnCgroup& cgroup) {
  const auto result = successful(run(no_variables + cgroup.command(TESSERA_INFO " --policy cpu --json")));
  return json::parse(result.out).at("ranks")[0];
}

TEST(InfoLimits, AQuotaOfARealCgroup) {
  OwnCgroup cgroup("cpu");
  const bool old = cgroup.version() == 1;
  if (old) cgroup.set("cpu.cfs_period_us", "100000");
  cgroup.set(old ? "cpu.cfs_quota_us" : "cpu.max", old ? "150000" : "150000 100000");
  if (!cgroup.problem().empty()) GTEST_SKIP() << cgroup.problem();
  const json rank = rank_in(cgroup);
  EXPECT_EQ(rank.at("host_threads").at("count"), 1);
  if (rank.at("threads") == 1) GTEST_SKIP() << "there is but one core, quota or not";
  EXPECT_EQ(rank.at("host_threads").at("from"), "a cgroup's quota of 1.5 cores");
}

TEST(InfoLimits, TheMemoryOfARealCgroup) {
  OwnCgroup cgroup("memory");
  const std::string file = cgroup.version() == 1 ? "memory.limit_in_bytes" : "memory.max";
  cgroup.set(file, "536870912");
  if (!cgroup.problem().empty()) GTEST_SKIP() << cgroup.problem();
  const json memory = rank_in(cgroup).at("memory");
  EXPECT_EQ(memory.at("limit_bytes"), 536870912);
  EXPECT_EQ(memory.at("from"), cgroup.file(file));
  EXPECT_GT(memory.at("free_bytes"), 0);
  EXPECT_LT(memory.at("free_bytes"), 536870912);
}

}  // namespace
}  // namespace tessera

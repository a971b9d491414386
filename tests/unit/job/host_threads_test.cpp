// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <tessera/job/host_threads.hpp>

#include <optional>
#include <string>

#include "mpi/job/scoped_variable.hpp"

namespace tessera {
namespace {

using testing::ScopedVariable;

/// A rank that could keep 6 threads busy, and shares the cores with another.
HostThreads choose(int asked, const std::optional<std::string>& omp,
                   const std::optional<std::string>& slurm) {
  const ScopedVariable of_openmp("OMP_NUM_THREADS", omp);
  const ScopedVariable of_slurm("SLURM_CPUS_PER_TASK", slurm);
  InventoryRank rank;
  rank.usable_threads = 6;
  rank.fair_threads = 3;
  rank.fair_threads_from = "6 hardware threads, shared by 2 ranks";
  return choose_threads(asked, rank);
}

void expect(const HostThreads& threads, int count, const std::string& from, const std::string& ignored = "") {
  EXPECT_EQ(threads.count, count);
  EXPECT_EQ(threads.from, from);
  EXPECT_EQ(threads.ignored, ignored);
}

TEST(HostThreads, AreThoseAskedForWhateverTheMachineHas) {
  expect(choose(64, "2", "4"), 64, "as requested");
}

TEST(HostThreads, OpenMpComesBeforeSlurm) {
  expect(choose(0, "2", "4"), 2, "OMP_NUM_THREADS");
  expect(choose(0, {}, "4"), 4, "SLURM_CPUS_PER_TASK");
  expect(choose(0, "", "4"), 4, "SLURM_CPUS_PER_TASK");
}

TEST(HostThreads, OfAListTheFirstCounts) {
  expect(choose(0, " 5 , 2,1", {}), 5, "OMP_NUM_THREADS");
}

TEST(HostThreads, VariablesAreKeptToWhatCanRun) {
  expect(choose(0, "64", "4"), 6, "OMP_NUM_THREADS=64, but only 6 can run at once");
  expect(choose(0, {}, "7"), 6, "SLURM_CPUS_PER_TASK=7, but only 6 can run at once");
  expect(choose(0, "6", {}), 6, "OMP_NUM_THREADS");
}

TEST(HostThreads, WhatIsNoNumberOfThreadsIsPassedOver) {
  for (const std::string text : {"many", "0", "-1", "2.5", "4x", ",4", "99999999999", " "}) {
    SCOPED_TRACE(text);
    const std::string ignored =
        "OMP_NUM_THREADS='" + text + "' is ignored, because the value is not a number of threads";
    expect(choose(0, text, "4"), 4, "SLURM_CPUS_PER_TASK", ignored);
    expect(choose(0, text, {}), 3, "6 hardware threads, shared by 2 ranks", ignored);
  }
}

TEST(HostThreads, ElseAreAFairShare) {
  expect(choose(0, {}, {}), 3, "6 hardware threads, shared by 2 ranks");
  EXPECT_EQ(choose_threads(0, InventoryRank{}).count, 1);
}

}  // namespace
}  // namespace tessera

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <sched.h>
#include <sys/types.h>

#include <set>

namespace tessera::testing {

/// The CPU affinity of thread `id`; 0: the calling thread.
inline std::set<int> cpus_of(pid_t id) {
  cpu_set_t mask;
  CPU_ZERO(&mask);
  EXPECT_EQ(sched_getaffinity(id, sizeof mask, &mask), 0);
  std::set<int> cpus;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(cpu, &mask)) cpus.insert(cpu);
  }
  return cpus;
}

}  // namespace tessera::testing

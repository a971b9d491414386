// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "suite.hpp"

#include <tessera/job/job.hpp>

#include <cstdint>
#include <string>
#include <vector>

#include "common/memory_arguments.hpp"

namespace tessera::bench {

struct FitSuite {
  std::vector<std::string> models{"G4"};  ///< see `SimulatedModel`
  std::int64_t rows = 1'000'000;
  std::int64_t block_rows = 8192;
  apps::MemoryArguments memory;
  int repeats = 3;
  bool peer = true;  ///< run bam() beside it, if it is there
};

/// Times whole fits of simulated data in memory, with where the time went and the highest resident memory,
/// and on rank 0 mgcv's `bam(discrete = TRUE)` with as many threads as the job has in all.
/// *Collective.* What is measured is rank 0's to print.
[[nodiscard]] std::vector<Measurement> run_fit_suite(Job& job, const FitSuite& suite);

[[nodiscard]] Suite fit_suite();

}  // namespace tessera::bench

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "simulated.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tessera::bench {

/// What R's mgcv took for the same fit.
struct BamRuns {
  std::string version;          ///< of mgcv
  std::vector<double> seconds;  ///< elapsed time of each bam() alone
  double peak_resident_bytes = 0;
};

/// Runs `bam(discrete = TRUE, nthreads = threads)` on the model's data `repeats` times, in a process of its
/// own that is given the data in a temporary file. Nothing if Rscript or mgcv is not there. Throws
/// `tessera::Error(input)` if the run fails.
[[nodiscard]] std::optional<BamRuns> run_bam(const SimulatedModel& model, std::int64_t rows, int threads,
                                             int repeats);

}  // namespace tessera::bench

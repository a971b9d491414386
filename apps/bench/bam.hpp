// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "r_script.hpp"
#include "simulated.hpp"

#include <cstdint>
#include <optional>
#include <string>

namespace tessera::bench {

/// What R's mgcv is to compute.
struct BamWork {
  std::int64_t rows = 0;
  std::int64_t fitted_rows = 0;  ///< bam() is fitted to this many rows, the first ones; 0: all
  int threads = 1;
  int fits = 1;         ///< number of calls of bam(nthreads = threads)
  int predictions = 0;  ///< number of predictions of all rows, with standard errors, by the last fit
  std::string type = "response";  ///< type of the predictions
};

/// Runs bam() on the model's data in a child process, which reads the data from a temporary file. Figures:
/// "seconds", the elapsed time of each bam(); "processor", the CPU time of each bam() over all its threads
/// (absent if bam() uses a cluster); "prediction", the elapsed time of each predict(discrete = FALSE), in one
/// process per thread; and "discrete_prediction". Returns nothing if Rscript or mgcv is not installed. Throws
/// `Error(input)` if the run fails.
[[nodiscard]] std::optional<RRun> run_bam(const SimulatedModel& model, const BamWork& work);

}  // namespace tessera::bench

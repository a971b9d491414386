// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "simulated.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tessera::bench {

/// What R's mgcv is to do.
struct BamWork {
  std::int64_t rows = 0;
  std::int64_t fitted_rows = 0;  ///< the first of them, to which bam() fits; 0: all
  int threads = 1;
  int fits = 1;                   ///< bam(nthreads = threads)
  int predictions = 0;            ///< of all rows, with standard errors, by the last fit
  std::string type = "response";  ///< of the predictions
};

/// What it took.
struct BamRuns {
  std::string version;              ///< of mgcv
  std::vector<double> seconds;      ///< elapsed time of each bam() alone
  std::vector<double> processor;    ///< seconds of all its threads; empty with a cluster
  std::vector<double> predictions;  ///< and of each predict(discrete = FALSE), by a process for each thread
  std::vector<double> discrete_predictions;  ///< and of each predict(discrete = TRUE)
  double peak_resident_bytes = 0;
};

/// Runs bam() on the model's data in a process of its own, which is given the data in a temporary file.
/// Nothing if Rscript or mgcv is not there. Throws `tessera::Error(input)` if the run fails.
[[nodiscard]] std::optional<BamRuns> run_bam(const SimulatedModel& model, const BamWork& work);

}  // namespace tessera::bench

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "r_script.hpp"
#include "simulated.hpp"

#include <cstdint>
#include <optional>
#include <string>

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

/// Runs bam() on the model's data in a process of its own, which is given the data in a temporary file. Its
/// figures are "seconds", the elapsed time of each bam() alone; "processor", of all its threads, but not with
/// a cluster; "prediction", of each predict(discrete = FALSE), by a process for each thread; and
/// "discrete_prediction". Nothing if Rscript or mgcv is not there. Throws `tessera::Error(input)` if the run
/// fails.
[[nodiscard]] std::optional<RRun> run_bam(const SimulatedModel& model, const BamWork& work);

}  // namespace tessera::bench

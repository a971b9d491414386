// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "suite.hpp"

#include <cstdint>
#include <string>

namespace tessera::bench {

struct PredictSuite {
  std::string model = "G10";  ///< see `SimulatedModel`
  std::int64_t rows = 1'000'000;
  std::int64_t training_rows = 200'000;  ///< rows that the model is fitted to, at most
  int repeats = 3;
  bool peer = true;  ///< run mgcv's predict() beside it, if it is there
};

/// Times predictions of simulated data in memory, on the scale of the response, without and with standard
/// errors: of the job, of its hosts alone where it has devices, and on rank 0 of mgcv's predict.bam with as
/// many threads as the job has in all. *Collective.* What is measured is rank 0's to print.
[[nodiscard]] std::vector<Measurement> run_predict_suite(Job& job, const PredictSuite& suite);

[[nodiscard]] Suite predict_suite();

}  // namespace tessera::bench

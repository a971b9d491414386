// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "suite.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace tessera::bench {

struct GramSuite {
  std::vector<std::string> models = {"G4", "G10"};  ///< see `SimulatedModel`
  std::int64_t rows = 1'000'000;
  int repeats = 5;
  bool peer = true;  ///< form dense products beside it
};

/// Times one step of an iteration: X'WX, X'Wz and the deviance by a pass over the columns, which lie where
/// the job works already, in ns a row. Beside it, on one device or on the threads of a job of one rank, the
/// dense product by BLAS of an X that was written at the memory's speed. *Collective.* What is measured is
/// rank 0's to print.
[[nodiscard]] std::vector<Measurement> run_gram_suite(Job& job, const GramSuite& suite);

[[nodiscard]] Suite gram_suite();

}  // namespace tessera::bench

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "suite.hpp"

#include <tessera/job/job.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace tessera::bench {

struct CrossedSuite {
  /// "three": 2,000, 20,000 and 200 levels, any of which meet; "near": 20,000 and 15,000, of which one meets
  /// about five near ones, and 200; "apart": the same that meet any five; "dense": 4,000 and 3,000 in a fifth
  /// of the rows.
  std::vector<std::string> models{"three", "near", "dense"};
  std::int64_t rows = 1'000'000;
  int repeats = 1;
  bool peer = true;  ///< run lmer() beside it, if it is there
};

/// Times fits of crossed random effects in memory, with the highest resident memory, and on rank 0 lme4's
/// `lmer()`, with how far the two agree: by how much our criterion is above lmer's, both by lmer's function
/// at each one's variances; the largest relative difference of variances; and that of effects, in their
/// standard errors. *Collective.* What is measured is rank 0's to print.
[[nodiscard]] std::vector<Measurement> run_crossed_suite(Job& job, const CrossedSuite& suite);

[[nodiscard]] Suite crossed_suite();

}  // namespace tessera::bench

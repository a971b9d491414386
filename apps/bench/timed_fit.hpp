// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "simulated.hpp"

#include <tessera/gam/fit.hpp>
#include <tessera/job/job.hpp>

#include <vector>

namespace tessera::bench {

struct TimedFit {
  double seconds = 0;            ///< time of the slowest rank
  double processor_seconds = 0;  ///< CPU time of all threads and ranks
  std::vector<gam::PhaseTime> phases;
};

/// *Collective.* Times a fit of `model` to the rows of `table`. Throws `Error(not_converged)` if the fit does
/// not converge, because its time would not be comparable.
[[nodiscard]] TimedFit time_fit(Job& job, const SimulatedModel& model, const gam::Table& table,
                                const gam::MemoryOptions& memory = {});

}  // namespace tessera::bench

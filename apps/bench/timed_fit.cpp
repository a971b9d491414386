// SPDX-License-Identifier: Apache-2.0
#include "timed_fit.hpp"

#include "measurement.hpp"

#include <tessera/error.hpp>

#include <fmt/core.h>

#include <chrono>
#include <utility>

namespace tessera::bench {

TimedFit time_fit(Job& job, const SimulatedModel& model, const gam::Table& table,
                  const gam::MemoryOptions& memory) {
  using Clock = std::chrono::steady_clock;
  gam::FitOptions options;
  options.family = gam::family(model.family);
  options.memory = memory;
  job.comm().barrier();
  const double processor_before = processor_seconds();
  const auto start = Clock::now();
  gam::FitResult result = gam::fit(job, gam::parse_formula(model.formula()), table, options);
  const std::chrono::duration<double> elapsed = Clock::now() - start;
  const double processor = processor_seconds() - processor_before;
  if (!result.model.converged())
    throw Error(ErrorCode::not_converged, fmt::format("the fit of {} did not converge", model.name));
  return {job.comm().allreduce(elapsed.count(), mpi::Reduction::max),
          job.comm().allreduce(processor, mpi::Reduction::sum), std::move(result.phases)};
}

}  // namespace tessera::bench

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/fit/phase_clock.hpp"

#include <tessera/job/job.hpp>

#include <optional>
#include <span>
#include <string>

namespace tessera::gam {

/// How the fit of a run ended.
struct RunEnd {
  bool converged = false;
  int iterations = 0;               ///< of all runs of this fit
  std::optional<int> resumed_from;  ///< the iteration whose state this run went on from
  std::string log_problem{};        ///< why lines of the log could not be written; empty: they were
};

/// What ran where, and how it ended: ranks, devices, plan, verdict, seconds and bytes of each phase, for
/// run.json, with the checksum of the `model` that `save_model` gave. Not collective: every rank knows the
/// same. Throws `tessera::Error(input)` if the file cannot be written.
void save_run_report(const tessera::Job& job, const tessera::Plan& plan, std::span<const PhaseTime> phases,
                     const RunEnd& end, const std::string& model, const std::string& path);

}  // namespace tessera::gam

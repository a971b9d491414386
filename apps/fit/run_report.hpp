// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "fit.hpp"

#include <tessera/job/job.hpp>

#include <span>
#include <string>

namespace tessera::fit {

/// What ran where: ranks, devices, plan, verdict, seconds and bytes of each phase, for run.json. Not
/// collective: every rank knows the same. Throws `tessera::Error(input)` if the file cannot be written.
void save_run_report(const tessera::Job& job, const tessera::Plan& plan, std::span<const PhaseTime> phases,
                     const std::string& path);

}  // namespace tessera::fit

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/fit/fit_context.hpp"
#include "gam/fit/fit_options.hpp"
#include "gam/fit/phase_clock.hpp"
#include "gam/fit/progress.hpp"
#include "gam/formula/formula.hpp"
#include "gam/model/model.hpp"
#include "gam/table/frame.hpp"

#include <tessera/job/job.hpp>

#include <string>
#include <vector>

namespace tessera::gam {

/// What a fit reads of a table: the formula's variables, and the weights. Numbers it must have for smooths
/// other than re, offsets, weights, and a response that is not binomial: what else is text is a factor.
[[nodiscard]] FrameRequest request_for(const Formula& formula, const FitOptions& options);

/// Fits the model to rows that are in memory: this rank's part of `plan`, whose block is the unit of
/// reproducibility. *Collective.* The model is complete on rank 0; the other ranks get its coefficients
/// and scalars. Throws the same `tessera::Error` on every rank; `FellBack` as it says; a model that has not
/// converged is returned with `converged` false. With a stop request, `Error(interrupted)`.
///
/// Performance iteration with fast REML, as mgcv's `bam(method = "fREML")`, with its halving of steps that
/// overshoot (step_halving.hpp): Wood, Goude and Shaw, "Generalized additive models for large data sets",
/// Applied Statistics 64 (2015); Wood et al., JASA 112 (2017).
[[nodiscard]] Model fit_frame(tessera::Job& job, const tessera::Plan& plan, Frame frame,
                              const Formula& formula, const FitOptions& options, Progress& progress,
                              std::vector<PhaseTime>& phases, const FitControl& control = {});

/// Reads the table and fits; starts over on the CPU where a device fails. *Collective.*
[[nodiscard]] Model fit_file(tessera::Job& job, const std::string& path, const Formula& formula,
                             const FitOptions& options, Progress& progress, std::vector<PhaseTime>& phases,
                             tessera::Plan& plan, const FitControl& control = {});

}  // namespace tessera::gam

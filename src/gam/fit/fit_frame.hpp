// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/data/frame/frame.hpp"
#include "gam/fit/run/fit_context.hpp"
#include "gam/model/model.hpp"

namespace TESSERA_NAMESPACE::gam {

/// *Collective.* Fits the model to rows in memory, this rank's part of the plan. The plan's blocks are the
/// units of reproducible sums. The model is complete on rank 0; other ranks get its coefficients and scalars.
/// Throws `tessera::Error`, the same on every rank; `Error(interrupted)` if the job is asked to stop; and
/// `FellBack`. A model that has not converged is returned with `converged` false.
///
/// Performance iteration with fast REML, as mgcv's `bam(method = "fREML")`, including its halving of steps
/// that overshoot (step_halving.hpp): Wood, Goude and Shaw, "Generalized additive models for large data
/// sets", Applied Statistics 64 (2015); Wood et al., JASA 112 (2017).
[[nodiscard]] FittedModel fit_frame(const FitContext& fit, Frame frame);

}  // namespace TESSERA_NAMESPACE::gam

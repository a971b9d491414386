// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/fit/run/fit_context.hpp"
#include "gam/model/model.hpp"
#include "gam/rows/row_pass.hpp"

#include <optional>

namespace TESSERA_NAMESPACE::gam {

/// *Collective.* The moments of the response alone, in the units of the fit. Throws `FellBack`.
[[nodiscard]] RawMoments response_moments(const FitContext& fit, const Rows& rows);

/// Deviances that need no pass over the rows.
struct KnownDeviances {
  std::optional<RawDeviance> left;  ///< of the fit
  std::optional<RawDeviance> null;  ///< of the mean, without offset
};

/// *Collective.* What a fit leaves of the response, as mgcv reports it: `FittedModel::deviance`,
/// `null_deviance` (of a constant mean without offset, or where the family has parameters of the best
/// intercept beside the offset) and `r_squared_adjusted`, in the user's units. The model has its coefficients
/// and edf, in the design of `rows`. Returns the sum of the prior weights, which are ones where the null
/// deviance is `known`. Cost: three passes, which no crossproduct is in, for what is not. Throws `FellBack`;
/// `Error(input)` where the constant mean is none of the family.
double measure_deviance(const FitContext& fit, RowPass& pass, const Rows& rows, const KnownDeviances& known,
                        FittedModel& model);

/// *Collective.* Akaike's criterion as bam has it, R's family()$aic + 2 edf, of a model that has its
/// scale and edf, and the sum of its prior `weights`. `misfit`: its deviance, or of a gaussian model of
/// correlated rows the sum of squares of its standardised residuals. NaN for a custom family and a quasi one.
/// Cost: one look at the response, on the host's threads.
[[nodiscard]] double akaike(const FitContext& fit, const Rows& rows, const FittedModel& model, double weights,
                            double misfit);

}  // namespace TESSERA_NAMESPACE::gam

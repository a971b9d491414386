// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/fit/run/fit_context.hpp"
#include "gam/model/model.hpp"
#include "gam/rows/row_pass.hpp"

#include <optional>

namespace TESSERA_NAMESPACE::gam {

/// *Collective.* The moments of the response alone, in the units of the fit. Throws `FellBack`.
[[nodiscard]] RawMoments response_moments(const FitContext& fit, const Rows& rows);

/// An intercept and nothing else beside the offset, if there is one.
struct NullModel {
  double intercept = 0;  ///< in the units of the fit
  double deviance = 0;   ///< as the passes sum it; NaN if no intercept gives each row a mean of the family
};

/// *Collective.* The null model of these rows, with their weights and the values of their family: of the mean
/// of the responses where there is no offset, as in glm, and else of the least deviance, which is sought from
/// there by Fisher scoring. Correlation of rows is left out, as in bam. Cost: two passes over one column, or
/// some ten. Throws `FellBack`; `Error(input)` where the mean of the responses is none of the family.
[[nodiscard]] NullModel null_model(const FitContext& fit, const Rows& rows);

/// Deviances that need no pass over the rows.
struct KnownDeviances {
  std::optional<RawDeviance> left;  ///< of the fit
  std::optional<RawDeviance> null;  ///< of the mean, without offset
};

/// *Collective.* What a fit leaves of the response, as mgcv's gam reports it: `FittedModel::deviance`,
/// `null_deviance` (of `null_model`) and `r_squared_adjusted`, whose mean has no offset, in the user's units.
/// The model has its coefficients and edf, in the design of `rows`. Returns the sum of the prior weights,
/// which are ones where the null deviance is `known`. Cost: three passes, which no crossproduct is in, for
/// what is not known, and those of `null_model` with an offset. Throws as that does.
double measure_deviance(const FitContext& fit, RowPass& pass, const Rows& rows, const KnownDeviances& known,
                        FittedModel& model);

/// *Collective.* Akaike's criterion as bam has it, R's family()$aic + 2 edf, of a model that has its
/// scale and edf, and the sum of its prior `weights`. `misfit`: its deviance, or of a gaussian model of
/// correlated rows the sum of squares of its standardised residuals. NaN for a custom family and a quasi one.
/// Cost: one look at the response, on the host's threads.
[[nodiscard]] double akaike(const FitContext& fit, const Rows& rows, const FittedModel& model, double weights,
                            double misfit);

}  // namespace TESSERA_NAMESPACE::gam

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/fit/run/fit_context.hpp"
#include "gam/model/model.hpp"
#include "gam/rows/row_pass.hpp"

#include <optional>

namespace TESSERA_NAMESPACE::gam {

/// *Collective.* The moments of the response alone, in the units of the fit. Throws `FellBack`.
[[nodiscard]] RawMoments response_moments(const FitContext& fit, const Rows& rows);

/// A model with only an intercept, and the offset if there is one.
struct NullModel {
  double intercept = 0;  ///< in the units of the fit
  double deviance = 0;   ///< as passes sum it; NaN if no intercept keeps every mean in the family's range
};

/// *Collective.* Deviance, null deviance and AIC of a model with several linear predictors, as mgcv defines
/// them; its R-squared is NaN, as is a null deviance that the family does not have.
void measure_several(const FitContext& fit, RowPass& pass, const Rows& rows, const RawMoments& moments,
                     FittedModel& model);

/// *Collective.* The null model of these rows, with their weights and family. Without offset its mean is the
/// mean of the responses, as in glm. With an offset its intercept is that of least deviance, found by Fisher
/// scoring from that mean. Correlation of rows is ignored, as in bam. Cost: two passes over one column
/// without offset, about ten with offset. Throws `FellBack`; `Error(input)` if the mean of the responses is
/// outside the family's range.
[[nodiscard]] NullModel null_model(const FitContext& fit, const Rows& rows);

/// Deviances that are known without a pass over the rows.
struct KnownDeviances {
  std::optional<RawDeviance> left;  ///< deviance of the fit
  std::optional<RawDeviance> null;  ///< deviance of a constant mean without offset
};

/// *Collective.* Goodness of fit as mgcv's gam reports it, in the user's units: `FittedModel::deviance`,
/// `null_deviance` (of `null_model`) and `r_squared_adjusted`, whose mean excludes the offset. `model` must
/// have its coefficients and edf, in the design of `rows`. Returns the sum of the prior weights; if the null
/// deviance is `known`, all weights are 1. Cost: for unknown values three passes without crossproducts, and
/// with an offset the passes of `null_model`. Throws like `null_model`.
double measure_deviance(const FitContext& fit, RowPass& pass, const Rows& rows, const KnownDeviances& known,
                        FittedModel& model);

/// *Collective.* Akaike's criterion as in bam, R's family()$aic + 2 edf, for a model with known scale and
/// edf. `weights`: the sum of the prior weights. `misfit`: the deviance, or for a gaussian model of
/// correlated rows the sum of squares of the standardised residuals. NaN for a custom or quasi family. Cost:
/// one scan of the response on host threads.
[[nodiscard]] double akaike(const FitContext& fit, const Rows& rows, const FittedModel& model, double weights,
                            double misfit);

}  // namespace TESSERA_NAMESPACE::gam

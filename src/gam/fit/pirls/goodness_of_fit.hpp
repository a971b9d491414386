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
  double deviance = 0;   ///< in the fit's units; NaN if no intercept keeps all means in the family's range
};

/// *Collective.* Deviance, null deviance and AIC of a model with several linear predictors, as mgcv defines
/// them. R-squared is NaN; the null deviance is NaN if the family defines none.
void measure_several(const FitContext& fit, RowPass& pass, const Rows& rows, const RawMoments& moments,
                     FittedModel& model);

/// *Collective.* The null model with the weights and family of `rows`. Without an offset, its mean is the
/// mean response, as in glm. With an offset, or if `Family::null_is_likeliest`, its intercept minimises the
/// deviance, by Fisher scoring. Ignores correlation of rows, as bam does. Cost: two passes over one column;
/// about ten with Fisher scoring. Throws `FellBack`; `Error(input)` if no predictor has the mean response.
[[nodiscard]] NullModel null_model(const FitContext& fit, const Rows& rows);

struct KnownDeviances {
  std::optional<RawDeviance> left;  ///< of the fit
  std::optional<RawDeviance> null;  ///< of a constant mean without offset
};

/// *Collective.* Goodness of fit as mgcv's gam reports it, in the user's units: `FittedModel::deviance`,
/// `null_deviance` (of `null_model`) and `r_squared_adjusted`, whose mean excludes the offset. `model` must
/// have its coefficients and edf, in the design of `rows`. Returns the sum of the prior weights; `known.null`
/// must be empty unless all weights are 1. Cost: three passes without crossproducts for unknown values,
/// and with an offset the passes of `null_model`. Throws like `null_model`.
double measure_deviance(const FitContext& fit, RowPass& pass, const Rows& rows, const KnownDeviances& known,
                        FittedModel& model);

/// *Collective.* AIC as in bam (R's family()$aic + 2 edf) for a model with known scale and edf. `weights`:
/// the sum of the prior weights. `misfit`: the deviance, or for a Gaussian model of correlated rows the sum
/// of squared standardised residuals. NaN for a custom or quasi family. Cost: one scan of the response.
[[nodiscard]] double akaike(const FitContext& fit, const Rows& rows, const FittedModel& model, double weights,
                            double misfit);

}  // namespace TESSERA_NAMESPACE::gam

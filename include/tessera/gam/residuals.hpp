// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/gam/fit.hpp>
#include <tessera/gam/model.hpp>
#include <tessera/gam/predict.hpp>
#include <tessera/gam/table.hpp>
#include <tessera/job/job.hpp>

namespace TESSERA_NAMESPACE::gam {

/// Type of residual, or another quantity, of a row of the fit with mean mu, response y and prior weight w.
/// Families with several linear predictors have `deviance`, `pearson` and `response`, and `all` of these;
/// classes have no mean, so that only `deviance` is a number.
enum class ResidualType {
  deviance,  ///< sign(y - mu) times the root of the row's deviance
  pearson,   ///< (y - mu) sqrt(w / V(mu)), V the family's variance; NaN for scat, betar, ocat, elf, zip,
             ///< censored and custom families
  response,  ///< y - mu
  working,   ///< (y - mu) times the slope of the link
  partial,   ///< the Pearson residual, or the working one if that is NaN: for partial residual plots
  fitted,    ///< not a residual: mu
  linear_predictor,  ///< eta, with all offsets
  working_weight,    ///< w (dmu/deta)^2 / V(mu), the row's weight in the last working model
  all,               ///< all of these except `partial`, each in a column of this name
  fit                ///< the columns `fitted`, `linear_predictor`, `working_weight` and `deviance`
};

struct ResidualOptions {
  ResidualType type = ResidualType::deviance;
  bool variables = false;  ///< copy the variables of the model's terms to `Predictions::kept`
  MemoryOptions memory{};  ///< where the columns are stored
};

/// *Collective.* Residuals of this rank's rows of a model's table, as `residuals.gam` of mgcv: one
/// column, "residual"; several for `ResidualType::all` and `ResidualType::fit`. Rows excluded from the fit
/// have NaN. Ignores the correlation of neighbours (rho).
///
/// Throws like `check`. Blocks. Cost: one pass over the rows on the job's host threads; memory: the
/// variables of the model, and a number for each row. The bits do not depend on ranks and threads.
[[nodiscard]] TESSERA_EXPORT Predictions residuals(Job& job, const Model& model, const Table& table,
                                                   const ResidualOptions& options = {},
                                                   FitObserver* observer = nullptr);

}  // namespace TESSERA_NAMESPACE::gam

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/gam/fit.hpp>
#include <tessera/gam/model.hpp>
#include <tessera/gam/predict.hpp>
#include <tessera/gam/table.hpp>
#include <tessera/job/job.hpp>

namespace TESSERA_NAMESPACE::gam {

/// Type of residual, or another quantity, of a row with mean mu, response y and prior weight w. Families with
/// several linear predictors have only `deviance`, `pearson` and `response`, and `all` means these three.
/// Families of classes have no mean: only `deviance` is a number.
enum class ResidualType {
  deviance,  ///< sign(y - mu) times the square root of the row's deviance
  pearson,   ///< (y - mu) sqrt(w / V(mu)) with the variance function V; NaN for scat, betar, ocat, elf, zip,
             ///< censored and custom families
  response,  ///< y - mu
  working,   ///< (y - mu) times the derivative of the link
  partial,   ///< for partial residual plots: the Pearson residual, or the working residual if the former is
             ///< NaN
  fitted,    ///< not a residual: the mean mu
  linear_predictor,  ///< the linear predictor eta, with all offsets
  working_weight,    ///< w (dmu/deta)^2 / V(mu), the row's weight in the last working model
  all,               ///< all of the above except `partial`, each in a column of this name
  fit                ///< the columns `fitted`, `linear_predictor`, `working_weight` and `deviance`
};

struct ResidualOptions {
  ResidualType type = ResidualType::deviance;
  bool variables = false;  ///< copy the variables of the model's terms to `Predictions::kept`
  MemoryOptions memory{};  ///< where the columns are stored
};

/// *Collective.* Residuals of this rank's rows of a model's table, like `residuals.gam` of mgcv: one column,
/// "residual", or several for `ResidualType::all` and `ResidualType::fit`. NaN in rows excluded from the fit.
/// The correlation of neighbouring rows (rho) is ignored.
///
/// Throws like `check`. Blocks. Cost: one pass over the rows on the job's host threads; memory: the variables
/// of the model, and the columns. The bits do not depend on the number of ranks and threads.
[[nodiscard]] TESSERA_EXPORT Predictions residuals(Job& job, const Model& model, const Table& table,
                                                   const ResidualOptions& options = {},
                                                   FitObserver* observer = nullptr);

}  // namespace TESSERA_NAMESPACE::gam

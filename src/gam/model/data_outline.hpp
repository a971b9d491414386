// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/data/frame/variable_summary.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace TESSERA_NAMESPACE::gam {

/// A histogram, over the complete rows, of a variable of a smooth.
struct VariableOutline {
  std::string name;
  double min = 0;
  double max = 0;
  std::vector<std::int64_t> counts;  ///< sampled rows in each of the equal intervals of [min, max]
};

/// The range of a smooth's variable over the rows in which its by variable has the smooth's level, or is not
/// zero.
struct CurveExtent {
  std::string smooth;  ///< label
  double least = 0;
  double greatest = 0;
};

/// Statistics of the data: extents, counts, typical values, and the residuals of a sample of the rows.
/// Reports show them, and predictions over some variables use typical values of the others. No row is stored,
/// but a row's linear predictor and residual together reveal its response: see `FitOptions::residuals`.
/// Linear predictors are rounded to nine significant digits and residuals to six, more than a plot shows.
/// Empty for a model file of a version that did not store them.
struct DataOutline {
  std::vector<VariableOutline> variables;  ///< variables of splines, in the order of the design
  /// (first) linear predictor of the sampled rows, with the offset, in their order.
  std::vector<double> linear_predictor;
  std::vector<double> deviance_residual;  ///< sign(y - mu) sqrt(deviance), including the prior weight
  /// For an AR1 model: standardised deviance residuals, (r(i) - rho r(i - 1)) / sqrt(1 - rho^2), of the
  /// sampled rows; and their autocorrelation at lags 1, 2, ..., over all rows.
  std::vector<double> standardised_residual{};
  std::vector<double> autocorrelation{};
  /// mgcv's var.summary, for the variables of the formula's right-hand side and the columns that they read.
  std::vector<VariableSummary> summaries{};
  std::vector<Occupancy> occupancy{};  ///< for each smooth of two numeric variables
  std::vector<CurveExtent> curves{};   ///< of many models: for each smooth of one number
  /// Of many models: changes of the coefficients that change no row, since other terms determine a function.
  std::vector<std::vector<double>> undetermined{};
};

}  // namespace TESSERA_NAMESPACE::gam

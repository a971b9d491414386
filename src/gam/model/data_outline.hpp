// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/data/frame/variable_summary.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace TESSERA_NAMESPACE::gam {

/// Range and histogram of the variable of a spline.
struct VariableOutline {
  std::string name;
  double min = 0;
  double max = 0;
  std::vector<std::int64_t> counts;  ///< sampled rows in equal intervals of [min, max]
};

/// The range of a smooth's variable over the rows in which its by variable has its level, or is not zero.
struct CurveExtent {
  std::string smooth;  ///< label
  double least = 0;
  double greatest = 0;
};

/// Statistics of the data for reports, and typical values for predictions over some of the variables. No row
/// is stored, but a row's linear predictor and residual together reveal its response: see
/// `FitOptions::residuals`. Linear predictors are rounded to nine significant digits, residuals to six. Empty
/// if the version that wrote the model file did not store statistics.
struct DataOutline {
  std::vector<VariableOutline> variables;  ///< variables of splines, in the order of the design
  /// The (first) linear predictor of the sampled rows, with the offset, in row order.
  std::vector<double> linear_predictor;
  std::vector<double> deviance_residual;  ///< sign(y - mu) sqrt(deviance), including the prior weight
  /// For an AR1 model: standardised deviance residuals, (r(i) - rho r(i - 1)) / sqrt(1 - rho^2), of the
  /// sampled rows; and their autocorrelation at lags 1, 2, ..., over all rows.
  std::vector<double> standardised_residual{};
  std::vector<double> autocorrelation{};
  /// mgcv's var.summary, for the variables of the formula's right-hand side and the columns that they read.
  std::vector<VariableSummary> summaries{};
  std::vector<Occupancy> occupancy{};  ///< for each pair of variables of a two-dimensional smooth
  std::vector<CurveExtent> curves{};   ///< for many models: one for each smooth of one numeric variable
  /// For many models: directions of the coefficients that change no linear predictor.
  std::vector<std::vector<double>> undetermined{};
};

}  // namespace TESSERA_NAMESPACE::gam

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/table/frame/variable_summary.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace TESSERA_NAMESPACE::gam {

/// Where the complete rows lie in a variable of a smooth.
struct VariableOutline {
  std::string name;
  double min = 0;
  double max = 0;
  std::vector<std::int64_t> counts;  ///< of the sampled rows in as many equal parts of [min, max]
};

/// What a report shows of the data, and what predictions of some variables take for the others: extents,
/// counts, typical values, and the residuals of a sample of the rows. It holds no row, but a linear predictor
/// and a residual together tell that row's response: `FitOptions::residuals`.
/// Linear predictors are rounded to nine significant digits and residuals to six, more than a plot shows.
/// Empty for a model of a program that did not keep it.
struct DataOutline {
  std::vector<VariableOutline> variables;  ///< of splines, in the order of the design
  std::vector<double> linear_predictor;    ///< one a sampled row, with its offset; in the order of the rows
  std::vector<double> deviance_residual;   ///< sign(y - mu) sqrt(deviance), with its prior weight
  /// Of a model of correlated rows: deviance residuals less what the row before tells, one a sampled row; and
  /// their autocorrelation at lags from 1 on, over all rows.
  std::vector<double> standardised_residual{};
  std::vector<double> autocorrelation{};
  /// mgcv's var.summary, of the variables of the formula's right-hand side and of the columns that these
  /// read.
  std::vector<VariableSummary> summaries{};
  std::vector<Occupancy> occupancy{};  ///< of the variables of each smooth of two numbers
};

}  // namespace TESSERA_NAMESPACE::gam

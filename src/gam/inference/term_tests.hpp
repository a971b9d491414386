// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/design/design.hpp"
#include "gam/linalg/parted_matrix.hpp"
#include "gam/reml/working_model.hpp"

#include <tessera/gam/terms.hpp>

#include <limits>
#include <string>
#include <vector>

namespace TESSERA_NAMESPACE::gam {

/// A coefficient against zero: t with `residual_df` degrees of freedom if the scale is estimated, else
/// normal.
[[nodiscard]] CoefficientTest test_coefficient(const std::string& name, double estimate,
                                               double standard_error, bool scale_estimated,
                                               double residual_df);

/// The tests of R's `summary.gam` (mgcv 1.8).
///
/// A coefficient: estimate over its posterior standard error, t with `residual_df` degrees of freedom if the
/// scale is estimated, else normal. A smooth with a null space: Wood's test of f = 0 with fractional rank;
/// one that its penalty can take to zero (re, cp): the test of a zero variance component.
///
/// `gram` is X'WX of the last working model, in coefficients; `residual_df` n minus the total edf. The
/// statistic of a fractional rank depends on the sign convention of an eigenvector (its p-value does not),
/// so it can differ in the third digit from what another parameterisation of the smooth reports.
///
/// Source: Wood, Biometrika 100 (2013), 221-228, and Biometrika 100 (2013), 1005-1010. Cost: O(p^3) where
/// there are several random effects, else O(K^3) for each smooth of K coefficients.
///
/// A term that the penalty can shrink to zero is not tested if it has more than `largest_tested`
/// coefficients: its statistic, reference df and p-value are NaN.
[[nodiscard]] TermTests test_terms(const Design& design, const RemlFit& fit, const PartedMatrix& gram,
                                   bool scale_estimated, double residual_df,
                                   int largest_tested = std::numeric_limits<int>::max());

/// Whether the test of a block is omitted: a large block, or a block of the part if there is a factor smooth
/// in the part, as their covariance is unknown.
[[nodiscard]] bool is_left_untested(const Design& design, const CoefBlock& block, int largest_tested);

}  // namespace TESSERA_NAMESPACE::gam

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/design/design.hpp"
#include "gam/linalg/parted_matrix.hpp"
#include "gam/reml/working_model.hpp"

#include <tessera/gam/terms.hpp>

#include <limits>
#include <span>
#include <string>
#include <vector>

namespace TESSERA_NAMESPACE::gam {

/// Tests a coefficient against zero: by t if the scale is estimated, else by a normal distribution.
[[nodiscard]] CoefficientTest test_coefficient(const std::string& name, double estimate,
                                               double standard_error, bool scale_estimated,
                                               double residual_df);

/// A joint test of several coefficients against zero, as in mgcv's `anova.gam`.
struct JointTest {
  int rank = 0;          ///< rank of the coefficients' covariance
  double statistic = 0;  ///< F if the scale is estimated, else chi-squared
  double p_value = 0;
};
/// Wald test with the pseudo-inverse of the covariance.
[[nodiscard]] JointTest test_jointly(const Matrix& covariance, std::span<const double> coef,
                                     bool scale_estimated, double residual_df);

/// The tests of R's `summary.gam` (mgcv 1.8).
///
/// A coefficient: estimate divided by posterior standard error, t with `residual_df` degrees of freedom if
/// the scale is estimated, else normal. A smooth with a null space: Wood's test of f = 0 with fractional
/// rank. A smooth that its penalty can shrink to zero (re, cc, cp): the test of a zero variance component.
///
/// `gram`: X'WX of the last working model, by coefficient; `residual_df`: n minus the total edf. With a
/// fractional rank the statistic (but not its p-value) depends on the sign convention of an eigenvector. It
/// may differ in the third digit from the statistic for another parameterisation of the smooth.
///
/// Source: Wood, Biometrika 100 (2013), 221-228, and Biometrika 100 (2013), 1005-1010. Cost: O(p^3) if there
/// are several random effects, else O(K^3) for each smooth of K coefficients.
///
/// A term that the penalty can shrink to zero is not tested if it has more than `largest_tested`
/// coefficients: its statistic, reference df and p-value are NaN.
[[nodiscard]] TermTests test_terms(const Design& design, const RemlFit& fit, const PartedMatrix& gram,
                                   bool scale_estimated, double residual_df,
                                   int largest_tested = std::numeric_limits<int>::max());

/// Whether a block is not tested, because it is large, or because it is in a part with a factor smooth, so
/// that its covariance is not known.
[[nodiscard]] bool is_left_untested(const Design& design, const CoefBlock& block, int largest_tested);

}  // namespace TESSERA_NAMESPACE::gam

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/fit/run/fit_context.hpp"
#include "gam/rows/row_pass.hpp"

#include <span>
#include <vector>

namespace TESSERA_NAMESPACE::gam {

/// Convergence tolerance: the predicted gain relative to the log likelihood.
constexpr double small_gain = 1e-13;
/// Convergence tolerance if approximate parameters suffice.
constexpr double rough_gain = 1e-6;

struct LikeliestParameters {
  std::vector<double> values;
  /// False if the maximum is indistinguishable from a limit, such as an infinite theta: beyond `values` the
  /// likelihood rises by a negligible amount.
  bool determined = true;
  /// Negative log likelihood before the last, unchecked step, up to terms that depend only on the response.
  double minus_log = 0;
};

/// Descent step -|H|^-1 g of limited length, where |H| has the absolute eigenvalues of H. H is first scaled
/// to a unit diagonal, because the curvature in a parameter that tends to infinity is negligible.
[[nodiscard]] std::vector<double> descent_step(const RawLikelihood& at);

/// *Collective.* Maximises the likelihood over the parameters of the family of `pass`, at the means of
/// `raw_coef`. Uses Newton's method on the working scales from `begin`, the current values, as mgcv's
/// estimate.theta. A step is halved while it raises the negative log likelihood. The last step, whose
/// predicted decrease is below `gain_to_end`, is not checked. Leaves the result in `pass`, or the initial
/// values if the likelihood is not finite. `with_intercept`: the first threshold of ordered classes moves
/// too. Ranks get the same bits. Cost: one pass without crossproducts per step. Throws `FellBack`.
[[nodiscard]] LikeliestParameters likeliest_parameters(const FitContext& fit, RowPass& pass,
                                                       const Family& begin, std::span<const double> raw_coef,
                                                       bool with_intercept, double gain_to_end = small_gain);

}  // namespace TESSERA_NAMESPACE::gam

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/fit/run/fit_context.hpp"
#include "gam/rows/row_pass.hpp"

#include <span>
#include <vector>

namespace TESSERA_NAMESPACE::gam {

/// A search for the maximum ends if the predicted gain is below this fraction of the log likelihood.
constexpr double small_gain = 1e-13;
/// As `small_gain`, where approximate parameters suffice.
constexpr double rough_gain = 1e-6;

/// The parameters of the family that maximise the likelihood.
struct LikeliestParameters {
  std::vector<double> values;
  /// False if the maximum is indistinguishable from a limit, such as an infinite theta: beyond `values` the
  /// likelihood rises by a negligible amount.
  bool determined = true;
  /// Negative log likelihood before the last, unchecked step, up to terms that depend only on the response.
  double minus_log = 0;
};

/// -|H|^-1 g, where |H| has the absolute eigenvalues of H: a descent direction everywhere, of limited length.
/// H is first scaled to a unit diagonal, since the curvature in a parameter that tends to infinity is
/// negligible.
[[nodiscard]] std::vector<double> descent_step(const RawLikelihood& at);

/// *Collective.* Maximises the likelihood at the means of `raw_coef` over the parameters of the family of
/// `pass`, from `begin`, their current values: by Newton's method on the working scales, as in mgcv's
/// estimate.theta. A step is halved while it raises the negative log likelihood; the last step predicts a
/// decrease below `gain_to_end`, and is taken unchecked. Leaves the result in `pass`, or the initial values
/// if the likelihood is not finite. `with_intercept`: thresholds of classes move together, relative to the
/// predictor. Every rank gets the bits of rank 0. Cost: one pass without products per
/// step; at the end of a fit one or two steps. Throws `FellBack`.
[[nodiscard]] LikeliestParameters likeliest_parameters(const FitContext& fit, RowPass& pass,
                                                       const Family& begin, std::span<const double> raw_coef,
                                                       bool with_intercept, double gain_to_end = small_gain);

}  // namespace TESSERA_NAMESPACE::gam

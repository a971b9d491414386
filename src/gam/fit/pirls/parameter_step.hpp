// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/fit/run/fit_context.hpp"
#include "gam/rows/row_pass.hpp"

#include <span>
#include <vector>

namespace tessera::gam {

/// Where the likelihood is largest.
struct LikeliestParameters {
  std::vector<double> values;
  /// False: the likelihood has no maximum that can be told from a limit, such as an infinite theta. It rises
  /// from `values` by nothing that counts.
  bool determined = true;
};

/// *Collective.* The parameters of the family of `pass`, which are `begin` there, at which the likelihood of
/// the means of `raw_coef` is largest: by Newton's method on the working scales, as in mgcv's estimate.theta.
/// A step is halved while it raises minus the log likelihood, and is the last where it can lower it by a part
/// in 10^13 alone. Ends with the values in `pass`, and with those it began from where the likelihood is not
/// finite. Every rank has the same bits, those of rank 0. Cost: as many passes as steps, one or two at the
/// end of a fit, without products. Throws `FellBack`.
[[nodiscard]] LikeliestParameters likeliest_parameters(const FitContext& fit, RowPass& pass,
                                                       const Family& begin, std::span<const double> raw_coef);

}  // namespace tessera::gam

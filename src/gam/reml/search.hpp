// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/reml/criterion.hpp"

#include <functional>
#include <optional>
#include <span>
#include <vector>

namespace tessera::gam {

/// A place where V is least among its neighbours.
struct RemlOptimum {
  std::vector<double> log_sp;
  RemlCriterion::Evaluation at;
  int iterations = 0;   ///< Newton's, on the way here
  int evaluations = 0;  ///< of V, on the way here
  bool converged = false;
};

/// Newton's method with exact derivatives from `start`, downhill all the way. Nothing if V cannot be
/// evaluated at the start. `leave` is asked before each iteration, and ends the way there, not converged.
[[nodiscard]] std::optional<RemlOptimum> descend(
    const RemlCriterion& criterion, std::span<const double> start,
    const std::function<bool(const RemlOptimum&)>& leave = [](const RemlOptimum&) { return false; });

/// Goes on from an optimum to a lower one, as long as one is found: V may have several, and where a parameter
/// is at infinity V is flat, so that no derivative leads back from there. Starts are
///
/// * along each parameter, the others held, wherever V has another minimum (`RemlProfile`);
/// * for a parameter that ended where V is flat, a finite value; for another, infinity;
/// * the default, and all parameters well above and below it;
///
/// and all parameters are free on the way from each. The most promising comes first. Large models try as many
/// starts as take a small multiple of the evaluations that the optimum took; small ones try all. The same
/// bits for the same criterion and optimum.
[[nodiscard]] RemlOptimum search_elsewhere(const RemlCriterion& criterion, RemlOptimum best);

}  // namespace tessera::gam

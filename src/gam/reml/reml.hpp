// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/design/design.hpp"
#include "gam/linalg/algebra.hpp"
#include "gam/reml/penalty_basis.hpp"
#include "gam/reml/working_model.hpp"

#include <span>
#include <vector>

namespace TESSERA_NAMESPACE::gam {

/// Which minimum of V to find.
enum class Search {
  none,    ///< none: the start, as a fit that has not converged
  local,   ///< the minimum reached from the start
  global,  ///< the lowest minimum of descents from several starts
};

/// Minimises the REML criterion V of a working model over the log smoothing parameters (and log phi if the
/// scale is not known) by Newton's method with exact derivatives, from the log lambdas `start` (empty: a
/// default from the diagonals). `bases`: `penalty_bases(design)`, which the caller reuses from step to step.
/// Pure: the same bits for the same input and kind of algebra. A smoothing parameter that tends to infinity
/// stops where its gradient vanishes; a start is clamped to at most 10 above and 20 below the default, since
/// no descent returns from where V is flat.
///
/// Throws `tessera::Error(input)` if the unpenalised columns are linearly dependent, naming the block, or if
/// there are no more rows than unpenalised coefficients; `Error(not_converged)` if X'WX + S stays singular.
/// Cost: some ten evaluations of O(p^3 + M p^2) operations for p coefficients and M smoothing parameters; a
/// global search takes at least as many again, and up to ten times as many if that takes no more than
/// seconds. Source: Wood, Li, Shaddick and Augustin, JASA 112 (2017), sec. 2; Wood, JRSSB 73 (2011).
[[nodiscard]] RemlFit fit_reml(const WorkingModel& model, const Design& design,
                               const std::vector<BlockBasis>& bases, bool scale_known,
                               std::span<const double> start, const Algebra& algebra, Search search);

/// Like the above, for a single working model: computes the bases itself, on one thread.
[[nodiscard]] RemlFit fit_reml(const WorkingModel& model, const Design& design, bool scale_known,
                               std::span<const double> start = {});

}  // namespace TESSERA_NAMESPACE::gam

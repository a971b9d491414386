// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/design/design.hpp"
#include "gam/linalg/algebra.hpp"
#include "gam/reml/penalty_basis.hpp"
#include "gam/reml/working_model.hpp"

#include <span>
#include <vector>

namespace TESSERA_NAMESPACE::gam {

enum class Search {
  none,    ///< none: the start, reported as not converged
  local,   ///< the minimum reached from the start
  global,  ///< the lowest minimum of descents from several starts
};

/// Minimises the REML criterion of a working model over the log smoothing parameters (and log phi if the
/// scale is not known) by Newton's method with exact derivatives. Starts at the log lambdas `start`; empty: a
/// default from the diagonals. A start is clamped to at most 10 above and 20 below the default, because REML
/// may be flat further away. A smoothing parameter that tends to infinity stops when its gradient vanishes.
/// `bases`: `penalty_bases(design)`. Pure: the same bits for the same input and kind of algebra.
///
/// Throws `tessera::Error(input)` if the unpenalised columns are linearly dependent, naming the block, or if
/// there are no more rows than unpenalised coefficients; `Error(not_converged)` if X'WX + S stays singular.
/// Cost: some ten evaluations of O(p^3 + M p^2) operations for p coefficients and M smoothing parameters. A
/// global search takes at least as many again, and up to ten times as many if they take only seconds. Source:
/// Wood, Li, Shaddick and Augustin, JASA 112 (2017), sec. 2; Wood, JRSSB 73 (2011).
[[nodiscard]] RemlFit fit_reml(const WorkingModel& model, const Design& design,
                               const std::vector<BlockBasis>& bases, bool scale_known,
                               std::span<const double> start, const Algebra& algebra, Search search);

/// `fit_reml` with a global search for a single working model; computes the bases itself, on one thread.
[[nodiscard]] RemlFit fit_reml(const WorkingModel& model, const Design& design, bool scale_known,
                               std::span<const double> start = {});

}  // namespace TESSERA_NAMESPACE::gam

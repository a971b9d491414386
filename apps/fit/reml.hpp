// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "algebra.hpp"
#include "design.hpp"
#include "matrix.hpp"
#include "penalty_basis.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace tessera::fit {

/// The working linear model of one step, in coefficients: residuals r = z - X base with weights W.
/// Written about `base` so that a residual sum of squares is not the difference of two large numbers.
struct WorkingModel {
  Matrix gram;                   ///< X'WX
  std::vector<double> gradient;  ///< X'W r
  double residual = 0;           ///< r'W r
  std::vector<double> base;
  std::int64_t rows = 0;  ///< n
};

struct RemlFit {
  std::vector<double> log_sp;  ///< of every penalty of every block, in order
  std::vector<double> coef;
  double scale = 1;
  double score = 0;               ///< V at the optimum
  Matrix inverse;                 ///< (X'WX + S)^-1; the posterior covariance is `scale` times this
  std::vector<double> edf;        ///< of each coefficient: diagonal of F = (X'WX + S)^-1 X'WX
  std::vector<double> edf1;       ///< diagonal of 2F - FF, for reference degrees of freedom
  double penalised_deviance = 0;  ///< weighted residual sum of squares plus b'Sb
  int iterations = 0;
  bool converged = false;
};

/// How far to look for the least V.
enum class Search {
  local,   ///< downhill from the start
  global,  ///< then from elsewhere too, for a lower optimum
};

/// Minimises the REML criterion V of a working model over the log smoothing parameters (and log phi if
/// the scale is not known) by Newton's method with exact derivatives, from `start` (empty: a default
/// from the diagonals). `bases` are `penalty_bases(design)`, which are worth keeping from step to step. Pure:
/// the same bits for the same input and algebra, which does the larger part of the work. A smoothing
/// parameter whose V is flat at infinity is left where its gradient vanishes; a start that far out is drawn
/// back to within 10 above and 20 below the default, so that a flat V of an earlier step does not hold it
/// there.
///
/// Throws `tessera::Error(input)` if the unpenalised columns are linearly dependent, naming the block, or if
/// there are no more rows than unpenalised coefficients; `Error(not_converged)` if X'WX + S stays singular.
/// Cost: O(p^3 + M p^2) for each of some ten evaluations, p coefficients, M smoothing parameters; a global
/// search takes as many again at least, and up to ten times as many where that takes no more than seconds.
/// Source: Wood, Li, Shaddick and Augustin, JASA 112 (2017), sec. 2; Wood, JRSSB 73 (2011).
[[nodiscard]] RemlFit fit_reml(const WorkingModel& model, const Design& design,
                               const std::vector<BlockBasis>& bases, bool scale_known,
                               std::span<const double> start, const Algebra& algebra, Search search);

/// The same where one working model is all there is: finds the bases, on one thread.
[[nodiscard]] RemlFit fit_reml(const WorkingModel& model, const Design& design, bool scale_known,
                               std::span<const double> start = {});

}  // namespace tessera::fit

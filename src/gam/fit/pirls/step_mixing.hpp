// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/linalg/parted_matrix.hpp"

#include <cstddef>
#include <span>
#include <vector>

/// Anderson mixing of steps of performance iteration that do not settle. Performance iteration seeks the
/// fixed point b = F(b) of the map from coefficients to the solution of their working model. Full steps F(b)
/// - b may alternate forever between two points, or converge slowly. Anderson mixing ends a step at the point
/// at which the last few steps, assumed linear in b, predict the shortest next step. Mixing does not change
/// the fixed point.
///
/// Source: Anderson, Journal of the ACM 12 (1965); Walker and Ni, SIAM J. Numer. Anal. 49 (2011).
namespace TESSERA_NAMESPACE::gam {

/// A full step from `coef`.
struct PastStep {
  std::vector<double> coef;
  std::vector<double> step;

  friend bool operator==(const PastStep&, const PastStep&) = default;
};

/// Steps before this iteration are taken in full: most fits settle without mixing.
constexpr int first_mixed_iteration = 10;
/// Like `first_mixed_iteration`, if estimates may be infinite: full steps reveal separation earlier.
constexpr int first_mixed_where_separable = 40;
/// Like `first_mixed_iteration`, with several linear predictors: mixing would delay quadratic convergence.
constexpr int first_mixed_of_several = 20;
/// Like `first_mixed_iteration`, with estimated thresholds of classes: each step shrinks only by a factor of
/// about five, so that mixing pays early.
constexpr int first_mixed_of_classes = 4;
constexpr std::size_t max_past_steps = 4;

/// Length of a step in the linear predictor: sqrt(s'X'WX s).
[[nodiscard]] double length(const PartedMatrix& gram, std::span<const double> step);

/// End of step `now` when mixed with `past`, oldest first; half-way along `now` if `past` is empty. Past
/// steps are ignored if `now` is much longer than the last past step, because they failed to predict `now`.
[[nodiscard]] std::vector<double> mixed_end(const PartedMatrix& gram, const PastStep& now,
                                            std::span<const PastStep> past);

}  // namespace TESSERA_NAMESPACE::gam

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/linalg/parted_matrix.hpp"

#include <cstddef>
#include <span>
#include <vector>

/// Anderson mixing of steps of performance iteration that do not settle.
///
/// Performance iteration seeks the fixed point b = F(b) of the map from coefficients to the solution of their
/// working model. Full steps F(b) - b may alternate forever between two points, or converge slowly. Anderson
/// mixing ends a step where the last few steps, assumed linear in b, predict the shortest next step. It
/// leaves the fixed point unchanged.
///
/// Source: Anderson, Journal of the ACM 12 (1965); Walker and Ni, SIAM Journal on Numerical Analysis 49
/// (2011).
namespace TESSERA_NAMESPACE::gam {

/// A full step and its start.
struct PastStep {
  std::vector<double> coef;
  std::vector<double> step;

  friend bool operator==(const PastStep&, const PastStep&) = default;
};

/// Steps before this iteration are taken in full: most fits settle without mixing.
constexpr int first_mixed_iteration = 10;
/// Like `first_mixed_iteration`, for models whose estimates may be infinite: full steps that diverge reveal
/// separation earlier than mixed ones.
constexpr int first_mixed_where_separable = 40;
/// Like `first_mixed_iteration`, with several linear predictors, whose Newton steps converge quadratically:
/// half a step, the first mixed one, would only delay them.
constexpr int first_mixed_of_several = 20;
/// Like `first_mixed_iteration`, with estimated thresholds of classes, which move after each step: full steps
/// only shrink by a factor of five each, so that mixing pays early.
constexpr int first_mixed_of_classes = 4;
/// Maximum number of past steps that are mixed with the current one.
constexpr std::size_t max_past_steps = 4;

/// |s| with |s|^2 = s'X'WX s: the length of a step in the linear predictor.
[[nodiscard]] double length(const PartedMatrix& gram, std::span<const double> step);

/// End of step `now` when mixed with `past`, oldest first; half-way along it if `past` is empty. Past steps
/// are ignored if `now` is much longer than the last one, since they failed to predict it.
[[nodiscard]] std::vector<double> mixed_end(const PartedMatrix& gram, const PastStep& now,
                                            std::span<const PastStep> past);

}  // namespace TESSERA_NAMESPACE::gam

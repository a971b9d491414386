// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/design/design.hpp"

#include <span>
#include <vector>

/// Rules of step halving (a backtracking line search) for steps of performance iteration that overshoot; the
/// loop is `PirlsLoop::halve_step` (pirls.cpp).
///
/// At the solution of a working model the penalised deviance D(b) + b'Sb of the model itself, with S at the
/// new smoothing parameters, may exceed its value at the start of the step. mgcv's bam (bgam.fit) then halves
/// the step, at most six times, until the penalised deviance does not rise. The first step has no start
/// coefficients, and is not halved.
namespace TESSERA_NAMESPACE::gam {

/// b'Sb on the line b = (1 - t) begin + t end.
struct PenaltyOnLine {
  double begin = 0;   ///< b'Sb at t = 0
  double across = 0;  ///< begin'S end
  double end = 0;     ///< b'Sb at t = 1
  [[nodiscard]] double at(double t) const noexcept {
    return (1 - t) * ((1 - t) * begin + 2 * t * across) + t * t * end;
  }
};

/// For each penalty of the design a matrix D with S = D'D; empty for a diagonal penalty, or one of levels.
/// With lambda near e^40 the rounding errors of lambda b'(Sb) hide any change of the deviance where Sb is
/// zero; those of lambda |Db|^2 are negligible. Cost: O(p^3) for each penalty of p coefficients.
[[nodiscard]] std::vector<Matrix> penalty_roots(const Design& design);

/// `roots`: those of the design, or none; `log_sp` in the form of `RemlFit`. Cost: O(p^2) for each penalty of
/// p coefficients.
[[nodiscard]] PenaltyOnLine penalty_on_line(const Design& design, std::span<const Matrix> roots,
                                            std::span<const double> log_sp, std::span<const double> begin,
                                            std::span<const double> end);

/// Maximum number of times that one step is halved because the penalised deviance rises.
constexpr int rise_halvings = 6;

/// The same with several linear predictors, as in mgcv's gam.fit5: a step of Newton's method may be far too
/// long.
constexpr int newton_halvings = 30;

/// Relative rises of the penalised deviance that are ignored. bam halves on a rise of any size, but near the
/// end rises are rounding, and halving only causes delay. A mixed step leads to the fixed point, which need
/// not be lower at these smoothing parameters: only one that diverges is halved.
constexpr double rise_of_step = 1e-10;
constexpr double rise_of_mixed_step = 1e-4;

/// Whether the penalised deviance rises by more than a fraction of itself.
[[nodiscard]] constexpr bool is_rise(double before, double after, double fraction = rise_of_step) noexcept {
  return after - before > fraction * (0.1 + (before < 0 ? -before : before));
}

}  // namespace TESSERA_NAMESPACE::gam

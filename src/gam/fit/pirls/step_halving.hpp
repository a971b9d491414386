// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/design/design.hpp"

#include <span>
#include <vector>

/// Step halving (a backtracking line search) in `PirlsLoop::halve_step`.
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

/// For each penalty S of the design a matrix D with S = D'D; empty for a diagonal penalty, or a penalty of
/// levels. If lambda is near e^40 and Sb = 0, rounding errors of lambda b'(Sb) hide any change of the
/// deviance, but those of lambda |Db|^2 are negligible. Cost: O(p^3) for each penalty of p coefficients.
[[nodiscard]] std::vector<Matrix> penalty_roots(const Design& design);

/// `roots`: of `penalty_roots`, or empty; `log_sp` as in `RemlFit`. Cost: O(p^2) per penalty.
[[nodiscard]] PenaltyOnLine penalty_on_line(const Design& design, std::span<const Matrix> roots,
                                            std::span<const double> log_sp, std::span<const double> begin,
                                            std::span<const double> end);

constexpr int rise_halvings = 6;

/// Limit of halvings with several linear predictors, as in mgcv's gam.fit5: Newton steps may be far too long.
constexpr int newton_halvings = 30;

/// Relative rises of the penalised deviance that are ignored. bam halves on any rise, but near the end rises
/// are rounding errors. A mixed step approaches the fixed point, whose penalised deviance may be higher at
/// these smoothing parameters: only a diverging mixed step is halved.
constexpr double rise_of_step = 1e-10;
constexpr double rise_of_mixed_step = 1e-4;

[[nodiscard]] constexpr bool is_rise(double before, double after, double fraction = rise_of_step) noexcept {
  return after - before > fraction * (0.1 + (before < 0 ? -before : before));
}

}  // namespace TESSERA_NAMESPACE::gam

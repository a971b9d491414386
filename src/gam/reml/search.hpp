// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/reml/criterion.hpp"

#include <functional>
#include <optional>
#include <span>
#include <vector>

namespace TESSERA_NAMESPACE::gam {

/// The end of a descent: a local minimum of REML if `converged`.
struct RemlOptimum {
  std::vector<double> log_sp;
  RemlCriterion::Evaluation at;
  int iterations = 0;
  int evaluations = 0;  ///< of REML
  bool converged = false;
};

/// The lowest minimum found, and `log_sp` of slightly higher minima, lowest first.
struct RemlOptima {
  RemlOptimum lowest;
  std::vector<std::vector<double>> others;
};

/// Newton's method with line search from `start`. Second derivatives are exact, or approximate and corrected
/// by past steps. REML increases at most by rounding. Empty if REML cannot be evaluated at the start. `leave`
/// is called before each iteration; if it returns true, the descent ends as not converged.
[[nodiscard]] std::optional<RemlOptimum> descend(
    const RemlCriterion& criterion, std::span<const double> start,
    const std::function<bool(const RemlOptimum&)>& leave = [](const RemlOptimum&) { return false; });

/// The predicted decrease of REML if Newton's method is about to converge; else empty.
[[nodiscard]] std::optional<double> fall_ahead(const RemlCriterion::Evaluation& at);

/// Repeats descents from other starts as long as one ends below the best optimum so far; returns the lowest.
/// REML may have several local minima, and no derivative leads back from infinite parameters. Starts are
///
/// * along each parameter, with the others fixed, every other minimum of REML (`RemlProfile`);
/// * for a parameter that ended where REML is flat, a finite value; for any other, infinity;
/// * the default, and all parameters well above and below it;
///
/// and each descent moves all parameters. A descent is abandoned if it returns to the optimum, or is about to
/// converge far above it. The most promising start comes first. The search ends after `evaluations`
/// evaluations in total. Several descents run concurrently if the criterion's algebra has enough threads; the
/// bits are those of a sequential search. The start `tried`, whose descent ended at `best`, is skipped.
[[nodiscard]] RemlOptima multistart_search(const RemlCriterion& criterion, RemlOptimum best,
                                           double evaluations, std::span<const double> tried = {});

/// Memory, in doubles, of `count` concurrent evaluations of REML with `core_size` coefficients in the core;
/// at most a gibibyte.
[[nodiscard]] double doubles_of_evaluations(double core_size, int count);

/// The `evaluations` for `multistart_search`: enough for all starts of a small model, a fixed number per
/// parameter for a large one, but none for a large one with approximate second derivatives.
[[nodiscard]] double affordable_evaluations(const RemlCriterion& criterion);

}  // namespace TESSERA_NAMESPACE::gam

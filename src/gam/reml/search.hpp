// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/reml/criterion.hpp"

#include <functional>
#include <optional>
#include <span>
#include <vector>

namespace tessera::gam {

/// A local minimum of V.
struct RemlOptimum {
  std::vector<double> log_sp;
  RemlCriterion::Evaluation at;
  int iterations = 0;   ///< of Newton's method from the start
  int evaluations = 0;  ///< of V since the start
  bool converged = false;
};

/// Newton's method from `start`, with exact derivatives or with second ones that steps correct, in which V
/// increases by no more than rounding. Nothing if V cannot be evaluated at the start. `leave` is called
/// before each iteration; true ends the descent, not converged.
[[nodiscard]] std::optional<RemlOptimum> descend(
    const RemlCriterion& criterion, std::span<const double> start,
    const std::function<bool(const RemlOptimum&)>& leave = [](const RemlOptimum&) { return false; });

/// By how much V will fall, roughly, where Newton's method is about to converge; nothing elsewhere.
[[nodiscard]] std::optional<double> fall_ahead(const RemlCriterion::Evaluation& at);

/// Replaces an optimum by a lower one as long as a descent from another start finds one. V may have several
/// local minima, and where a parameter tends to infinity V is flat, so that no derivative leads back. Starts
/// are
///
/// * along each parameter, the others held, wherever V has another minimum (`RemlProfile`);
/// * for a parameter that ended where V is flat, a finite value; for another, infinity;
/// * the default, and all parameters well above and below it;
///
/// and all parameters are free in each descent, which is left where it returns to the optimum, or is about to
/// converge far above it. The most promising start comes first. No descent begins or goes on after so many
/// `evaluations` in all. Descents from several starts are made at once where the criterion's algebra has the
/// threads; the bits are those of one after another. A descent from `tried` is not made again: `best` is its
/// end.
[[nodiscard]] RemlOptimum search_elsewhere(const RemlCriterion& criterion, RemlOptimum best,
                                           double evaluations, std::span<const double> tried = {});

/// Doubles that `count` evaluations of V with so many coefficients in its core take, if so many are made at
/// once: a gibibyte of them at most.
[[nodiscard]] double doubles_of_evaluations(double core_size, int count);

/// For `search_elsewhere`: as many as all starts of a small model take; of a large one, some for each
/// parameter, and none where second derivatives are approximate.
[[nodiscard]] double affordable_evaluations(const RemlCriterion& criterion);

}  // namespace tessera::gam

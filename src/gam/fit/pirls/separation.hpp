// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/rows/row_pass.hpp"

#include <tessera/job/job.hpp>

#include <optional>
#include <span>
#include <string>

namespace TESSERA_NAMESPACE::gam {

/// *Collective.* Detects separation: whether the last step is along a direction in which the likelihood rises
/// without bound. The responses of some rows are at a limit of the mean (`Limits`: 0, or for the binomial 1),
/// their fitted means are close to it and the step has moved them closer, while the linear predictors of all
/// other rows move by at most `still`. The likelihood then has no maximum: coefficients grow by about one
/// unit per step, while the deviance falls ever more slowly. Returns one line that names the level or term,
/// the same on every rank; empty without separation.
///
/// Classes are separated too if a step makes some of them ever less likely in rows that have others, or, in a
/// fit that ends `without_end`, unconverged, if each row's own class is the likely one.
///
/// A finite estimate is never mistaken for separation, however extreme its means: near a finite estimate,
/// Newton steps vanish.
///
/// Source of the directions: Albert and Anderson, "On the existence of maximum likelihood estimates in
/// logistic regression models", Biometrika 71 (1984). Cost: one scan of the rows on the host's threads,
/// unless the step is so small that no row can move far.
[[nodiscard]] std::optional<std::string> find_separation(const tessera::Job& job, const Rows& rows,
                                                         std::span<const double> raw_coef,
                                                         std::span<const double> raw_step, double still,
                                                         bool without_end);

}  // namespace TESSERA_NAMESPACE::gam

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/rows/row_pass.hpp"

#include <tessera/job/job.hpp>

#include <optional>
#include <span>
#include <string>

namespace tessera::gam {

/// *Collective.* Whether the last step of an iteration is along a direction in which the likelihood rises for
/// ever: the responses of some rows are at a limit of the means (`Limits`: 0, or for the binomial 1), their
/// fitted means are close to it and the step has moved them further there, while all other rows stand still
/// within `still` of the linear predictor. The likelihood then has no maximum: coefficients grow by about one
/// unit a step for ever, as the deviance falls by less and less. Returns one line that says which level or
/// term it is, the same on every rank; nothing if the step is not of that kind.
///
/// A finite estimate is not taken for it, however extreme its means: near one, Newton's steps vanish.
///
/// Albert and Anderson, "On the existence of maximum likelihood estimates in logistic regression models",
/// Biometrika 71 (1984), for the directions; one look at the rows on the host's threads.
[[nodiscard]] std::optional<std::string> find_separation(const tessera::Job& job, const Rows& rows,
                                                         std::span<const double> raw_coef,
                                                         std::span<const double> raw_step, double still);

}  // namespace tessera::gam

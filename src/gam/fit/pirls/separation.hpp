// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/rows/row_pass.hpp"

#include <tessera/job/job.hpp>

#include <optional>
#include <span>
#include <string>

namespace TESSERA_NAMESPACE::gam {

/// *Collective.* Detects separation: whether the last step is along a direction in which the likelihood rises
/// without bound. Returns one line that names the level or term, the same on every rank; empty without
/// separation.
///
/// A row is separated if its response is at a limit of the mean (`Limits`: 0; for the binomial also 1), its
/// fitted mean is near this limit, and the step moves the mean closer. There is separation if rows are
/// separated and the step changes the linear predictors of all other rows by at most `still`. The likelihood
/// has no maximum: coefficients grow by about 1 per step, the deviance falls ever more slowly.
///
/// In a family of classes, a row is separated if the step makes other classes that are nearly impossible in
/// this row still less likely. There is separation if the step changes no other row. A fit that ended
/// unconverged (`without_end`) is also separated if every row's own class has a probability above 1/2.
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

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/model/model.hpp"

#include <string>
#include <vector>

namespace tessera::gam {

/// The summary that R users know from `summary.gam`: the parametric table, the smooth table with edf and
/// p-values, adjusted R-squared, deviance explained, REML, scale and n.
[[nodiscard]] std::string summary_text(const FittedModel& model);

/// The two tables as the summary has them: a row of headings, then one a coefficient or smooth; the name
/// first and the stars of its p-value last.
using TextTable = std::vector<std::vector<std::string>>;
[[nodiscard]] TextTable coefficient_table(const FittedModel& model);
[[nodiscard]] TextTable smooth_table(const FittedModel& model);

}  // namespace tessera::gam

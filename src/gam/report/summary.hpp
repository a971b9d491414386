// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/model/model.hpp"
#include "gam/report/text_table.hpp"

#include <string>

namespace TESSERA_NAMESPACE::gam {

/// The summary in the form of R's `summary.gam`: the parametric table, the smooth table with edf and
/// p-values, adjusted R-squared, deviance explained, REML, scale and n.
[[nodiscard]] std::string summary_text(const FittedModel& model);

[[nodiscard]] TextTable coefficient_table(const FittedModel& model);
[[nodiscard]] TextTable smooth_table(const FittedModel& model);

}  // namespace TESSERA_NAMESPACE::gam

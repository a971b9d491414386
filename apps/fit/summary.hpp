// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model.hpp"

#include <string>

namespace tessera::fit {

/// The summary that R users know from `summary.gam`: the parametric table, the smooth table with edf and
/// p-values, adjusted R-squared, deviance explained, REML, scale and n.
[[nodiscard]] std::string summary_text(const Model& model);

}  // namespace tessera::fit

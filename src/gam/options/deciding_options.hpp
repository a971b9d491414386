// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/gam/fit.hpp>
#include <tessera/gam/table_options.hpp>

#include <string>
#include <utility>
#include <vector>

namespace TESSERA_NAMESPACE::gam {

using DecidingOption = std::pair<std::string, std::string>;

/// The options on which a fit's iterates depend, for the fingerprint of a checkpoint.
[[nodiscard]] std::vector<DecidingOption> deciding_options(const FitOptions& options);
[[nodiscard]] std::vector<DecidingOption> deciding_options(const TableOptions& options);

}  // namespace TESSERA_NAMESPACE::gam

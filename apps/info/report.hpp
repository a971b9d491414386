// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "survey.hpp"

namespace tessera::info {

/// The survey as tables.
[[nodiscard]] std::string table_report(const Survey& survey);

/// The survey as one JSON object.
[[nodiscard]] std::string json_report(const Survey& survey);

}  // namespace tessera::info

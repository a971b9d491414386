// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "survey.hpp"

namespace tessera::info {

[[nodiscard]] std::string table_report(const Survey& survey);

[[nodiscard]] std::string json_report(const Survey& survey);

}  // namespace tessera::info

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "survey.hpp"

namespace tessera::info {

/// One row for all nodes that are alike: a job of a thousand ranks on one screen.
[[nodiscard]] std::string node_table(const Survey& survey);

}  // namespace tessera::info

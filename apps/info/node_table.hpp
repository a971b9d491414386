// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "survey.hpp"

namespace tessera::info {

/// A table with one row for all identical nodes, so that a job of a thousand ranks fits one screen.
[[nodiscard]] std::string node_table(const Survey& survey);

}  // namespace tessera::info

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/partition/plan.hpp>

#include <string>

namespace tessera::info {

[[nodiscard]] std::string plan_table(const Plan& plan);

/// Writes the text tile by tile, because a `Json` value of a million tiles takes many times the memory.
[[nodiscard]] std::string plan_json(const Plan& plan);

}  // namespace tessera::info

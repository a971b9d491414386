// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/partition/plan.hpp>

#include <string>

namespace tessera::info {

[[nodiscard]] std::string plan_table(const Plan& plan);

/// Writes the plan as one JSON object, tile by tile, without a document in memory: a plan may have a million
/// tiles.
[[nodiscard]] std::string plan_json(const Plan& plan);

}  // namespace tessera::info

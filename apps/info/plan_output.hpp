// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/partition/plan.hpp>

#include <string>

namespace tessera::info {

[[nodiscard]] std::string plan_table(const Plan& plan);

/// The plan as the text of a JSON object, written tile by tile: a `Json` value of a million tiles would take
/// many times the memory of the text.
[[nodiscard]] std::string plan_json(const Plan& plan);

}  // namespace tessera::info

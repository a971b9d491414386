// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/partition/plan.hpp>

#include <string>

namespace tessera::info {

/// The plan as a table for a person, under a heading.
[[nodiscard]] std::string plan_table(const Plan& plan);

/// The plan as one JSON object, written at once rather than built as a document: a plan may have a
/// million tiles.
[[nodiscard]] std::string plan_json(const Plan& plan);

}  // namespace tessera::info

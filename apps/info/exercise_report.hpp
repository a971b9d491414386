// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/job/exercise.hpp>

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace tessera::info {

/// The result of an exercise (`tessera::exercise`) and the devices it ran on.
struct ExercisedJob {
  Inventory inventory;
  Exercise found;
};

/// The result of an exercise as tables under a heading. Without `every_device`, devices without a fault are
/// counted, not listed.
[[nodiscard]] std::string exercise_table(const ExercisedJob& job, bool every_device);

/// The result as JSON, always with every device. A rate that was not measured is null.
[[nodiscard]] nlohmann::ordered_json exercise_json(const ExercisedJob& job);

/// A sentence for each device or sum that failed.
[[nodiscard]] std::vector<std::string> failures_of(const ExercisedJob& job);

}  // namespace tessera::info

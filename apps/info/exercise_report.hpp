// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/job/exercise.hpp>

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace tessera::info {

struct ExercisedJob {
  Inventory inventory;
  Exercise found;
};

/// The results as a text. Without `every_device`, devices that are neither broken nor slow are only counted.
[[nodiscard]] std::string exercise_table(const ExercisedJob& job, bool every_device);

/// Lists every device. A rate that was not measured is null.
[[nodiscard]] nlohmann::ordered_json exercise_json(const ExercisedJob& job);

/// One sentence for each device that failed, was left out or cannot be read, and for each failed sum.
[[nodiscard]] std::vector<std::string> failures_of(const ExercisedJob& job);

}  // namespace tessera::info

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/gam/table.hpp>
#include <tessera/job/host_team.hpp>
#include <tessera/partition/plan.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::bench {

/// A uniform number in (0, 1) for each index of each of 64 streams.
[[nodiscard]] double uniform(int stream, std::int64_t index);

/// A model with simulated data: terms of variables that are uniform in (0, 1). A row's numbers depend only on
/// its index, so that every rank can make its own part.
struct SimulatedModel {
  std::string name;         ///< "G4"
  std::string description;  ///< description in one line
  std::string family;       ///< the family, as R and `gam::family` write it
  int variables = 4;        ///< number of variables without the response
  std::string term;         ///< the text of each term; {} stands for its variables
  int of_term = 1;          ///< number of variables of each term
  /// The number of variables, from the first on, of each further linear predictor.
  std::vector<int> further{};

  [[nodiscard]] std::string formula() const;
  /// The value of a variable in a row; variable 0 is the response.
  [[nodiscard]] double value(int variable, std::int64_t row) const;
  /// The rank's part `range` of `plan` as a table, computed by the team's threads.
  [[nodiscard]] gam::Table table(const Plan& plan, Range range, HostTeam& team) const;
};

[[nodiscard]] const std::vector<SimulatedModel>& simulated_models();
/// The model of this name. Throws `Error(usage)` for an unknown name.
[[nodiscard]] const SimulatedModel& simulated_model(std::string_view name);

}  // namespace tessera::bench

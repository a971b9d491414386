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

/// Pseudo-random number in (0, 1): a hash of the stream, 0 to 63, and the index.
[[nodiscard]] double uniform(int stream, std::int64_t index);

/// A model and its simulated data, with variables uniform in (0, 1). A row depends only on its index, so that
/// each rank generates its own rows.
struct SimulatedModel {
  std::string name;
  std::string description;
  std::string family;  ///< the family, as R and `gam::family` write it
  int variables = 4;   ///< number of variables without the response
  std::string term;    ///< the text of each term; {} stands for its variables
  int of_term = 1;     ///< number of variables of each term
  /// Number of variables, from the first on, of each further linear predictor.
  std::vector<int> further{};

  [[nodiscard]] std::string formula() const;
  /// The value of a variable in a row; variable 0 is the response.
  [[nodiscard]] double value(int variable, std::int64_t row) const;
  /// Generates rows `range` of `plan` on the threads of `team`.
  [[nodiscard]] gam::Table table(const Plan& plan, Range range, HostTeam& team) const;
};

[[nodiscard]] const std::vector<SimulatedModel>& simulated_models();
/// Throws `Error(usage)` for an unknown name.
[[nodiscard]] const SimulatedModel& simulated_model(std::string_view name);

}  // namespace tessera::bench

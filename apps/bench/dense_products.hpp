// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/job/host_team.hpp>

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace tessera::bench {

/// X'X of a dense X, by BLAS: what is done instead of a crossproduct that knows where X is zero.
struct DenseProducts {
  std::function<void()> write;                                          ///< zeros to all of X
  std::vector<std::pair<std::string, std::function<void()>>> products;  ///< by the name of the routine
};

/// Of so many rows, random numbers, on the threads of the team, a part of the rows each. All must stay as
/// long as the functions.
[[nodiscard]] DenseProducts dense_products(std::int64_t rows, int columns, HostTeam& team);

}  // namespace tessera::bench

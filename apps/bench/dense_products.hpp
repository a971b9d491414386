// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/job/host_team.hpp>

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace tessera::bench {

/// X'X of a dense X by BLAS, the alternative to a crossproduct that knows the zeros of X.
struct DenseProducts {
  std::function<void()> write;                                          ///< sets all of X to zero
  std::vector<std::pair<std::string, std::function<void()>>> products;  ///< by the name of the routine
};

/// For `rows` rows of random numbers, divided among the threads of the team. The arguments must outlive the
/// functions.
[[nodiscard]] DenseProducts dense_products(std::int64_t rows, int columns, HostTeam& team);

}  // namespace tessera::bench

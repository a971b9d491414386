// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/dense_model.hpp"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace TESSERA_NAMESPACE::gam::testing {

/// A working model of a small random design whose REML criterion is hard to minimise: crossed and nested
/// groupings, empty and weak effects, many smooths of related variables, tensor products, by, and few rows.
struct RandomModel {
  DenseModel model{0};
  WorkingModel working;
  bool scale_known = false;
  std::string formula;  ///< R formula, with response z and weights w
  std::vector<std::pair<std::string, std::vector<double>>> numbers;
  std::vector<std::pair<std::string, std::vector<std::string>>> factors;
};

/// Depends only on `seed`, on every machine.
[[nodiscard]] RandomModel random_model(std::uint64_t seed);

}  // namespace TESSERA_NAMESPACE::gam::testing

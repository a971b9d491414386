// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tessera::gam {

/// How the fields of a file are read, where its user has something to say about that.
struct TableOptions {
  std::vector<std::string> missing{"NA"};  ///< fields that stand for a missing value
  std::vector<std::string> factors{};      ///< columns whose fields are levels, numbers too
  std::vector<std::string> numbers{};      ///< columns that must be numbers, those in quotes too
  std::int64_t block_rows = 8192;          ///< rows in which the order of additions is fixed
};

}  // namespace tessera::gam

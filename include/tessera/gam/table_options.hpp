// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/version.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace TESSERA_NAMESPACE::gam {

/// How the fields of a file are parsed.
struct TableOptions {
  std::vector<std::string> missing{"NA"};  ///< fields that denote a missing value
  std::vector<std::string> factors{};      ///< columns that are factors, including numeric ones
  std::vector<std::string> numbers{};      ///< columns that must be numbers, even if quoted
  std::int64_t block_rows = 8192;          ///< rows per block of the reproducible sums
};

/// Where columns are stored between the passes of a fit.
struct MemoryOptions {
  /// Per-node limit for columns, in bytes, over all ranks of the node; default: 75 % of free memory. Columns
  /// beyond it are in scratch files, which every pass reads.
  std::optional<std::int64_t> node_bytes{};
  /// Folder of the scratch files, on a disk. Empty: $TMPDIR, or else /var/tmp.
  std::string scratch{};
  /// Per-device limit for columns and the passes' workspace, in bytes; default, and upper limit: the job's
  /// budget of the device (`InventoryDevice::memory_budget_bytes`). Columns beyond it are uploaded in each
  /// pass.
  std::optional<std::int64_t> device_bytes{};
};

}  // namespace TESSERA_NAMESPACE::gam

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
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

/// Where the columns lie that a fit goes over again and again.
struct MemoryOptions {
  /// Bytes that those of all ranks of a node may take of its memory; nothing: three quarters of what is free.
  /// Others are in scratch files, which passes read.
  std::optional<std::int64_t> node_bytes{};
  /// The folder of these, which is on a disk. Empty: $TMPDIR, or else /var/tmp.
  std::string scratch{};
  /// Bytes that columns, and scratch of the passes, may take of a device's memory; nothing: the job's budget
  /// of it (`InventoryDevice::memory_budget_bytes`), which is the most in any case. Others are copied there
  /// in each pass.
  std::optional<std::int64_t> device_bytes{};
};

}  // namespace tessera::gam

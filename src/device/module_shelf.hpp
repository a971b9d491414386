// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/version.hpp>

#include "base/descriptor.hpp"

#include <cstdint>
#include <ctime>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace TESSERA_NAMESPACE {

/// One file of a cache.
struct ShelvedModule {
  std::string name;
  std::int64_t bytes = 0;
  timespec last_use{};      ///< the file's modification time, which reads update
  bool unfinished = false;  ///< whether the file is being written, or its writer was killed
};

/// This user's files in one folder of the disk cache; other files are ignored. Processes on other nodes may
/// write, read and remove files concurrently, without locks: a missing file was removed by another process,
/// and is recompiled when needed. No member throws for errors of the file system.
class ModuleShelf {
 public:
  /// Opens the folder, if it exists.
  explicit ModuleShelf(const std::filesystem::path& folder);

  /// The files, last used first.
  [[nodiscard]] std::vector<ShelvedModule> list() const;
  /// Removes a file if it is still as listed, and its content shows that it is the cache's. Returns whether
  /// it did.
  [[nodiscard]] bool remove(const ShelvedModule& module) const;
  /// Evicts the least recently used (LRU) files, except `just_written`, until the rest has at most
  /// `max_bytes`; removes abandoned temporary files too.
  void bound(std::int64_t max_bytes, std::string_view just_written) const;

 private:
  base::Descriptor folder_;
};

/// Maximum size of one folder of the disk cache in bytes: $TESSERA_CACHE_MIB, or 256 MiB if that is not a
/// whole number.
[[nodiscard]] std::int64_t module_cache_limit();

}  // namespace TESSERA_NAMESPACE

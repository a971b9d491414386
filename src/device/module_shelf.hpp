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

struct ShelvedModule {
  std::string name;
  std::int64_t bytes = 0;
  timespec last_use{};      ///< the file's modification time, which reads update
  bool unfinished = false;  ///< whether the file is being written, or its writer was killed
};

/// This user's files in one folder of the disk cache; other files are ignored. Processes on other nodes may
/// write, read and remove files concurrently, without locks. A file that another process removed is compiled
/// again when needed. No member throws for errors of the file system.
class ModuleShelf {
 public:
  explicit ModuleShelf(const std::filesystem::path& folder);

  /// The files, most recently used first.
  [[nodiscard]] std::vector<ShelvedModule> list() const;
  /// Removes a file unless it changed since `list` or its content is not a module. Returns whether the file
  /// was removed.
  [[nodiscard]] bool remove(const ShelvedModule& module) const;
  /// Evicts least recently used files, except `just_written`, until the folder has at most `max_bytes`.
  /// Removes abandoned temporary files too.
  void bound(std::int64_t max_bytes, std::string_view just_written) const;

 private:
  base::Descriptor folder_;
};

/// Maximum size of one folder of the disk cache in bytes, from $TESSERA_CACHE_MIB; 256 MiB if the variable is
/// not set or is not a valid number.
[[nodiscard]] std::int64_t module_cache_limit();

}  // namespace TESSERA_NAMESPACE

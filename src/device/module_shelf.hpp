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

namespace tessera::inline TESSERA_ABI {

/// One file of a cache.
struct ShelvedModule {
  std::string name;
  std::int64_t bytes = 0;
  timespec last_use{};      ///< the time of its last change, which a read sets too
  bool unfinished = false;  ///< somebody writes it, or was ended while writing it
};

/// What this user keeps in one folder of code; other files, and other users', are passed over. Other
/// processes on other nodes may write, read and remove there at the same time, and nobody locks: a file that
/// is gone was removed by somebody else, and one that is missed is compiled anew. No member throws for what
/// is wrong with the disk.
class ModuleShelf {
 public:
  /// Opens the folder, if it is there.
  explicit ModuleShelf(const std::filesystem::path& folder);

  /// Why it could not be opened; empty if it is open.
  [[nodiscard]] const std::string& problem() const noexcept { return problem_; }

  /// The files, last used first.
  [[nodiscard]] std::vector<ShelvedModule> list() const;
  /// Removes a file that is still as it was listed. Returns whether it did.
  [[nodiscard]] bool remove(const ShelvedModule& module) const;
  /// Removes what has not been used for longest until the rest has at most `most_bytes`, but not the file
  /// `just_written`; and files that nobody can be writing any more.
  void bound(std::int64_t most_bytes, std::string_view just_written) const;
  /// The first bytes of a file that may be trusted, up to `most_bytes`; empty if there are none.
  [[nodiscard]] std::string head_of(const ShelvedModule& module, std::size_t most_bytes) const;

 private:
  base::Descriptor folder_;
  std::string problem_;
};

/// How much of a disk one folder of code may take: $TESSERA_CACHE_MIB, or 256 MiB.
struct ModuleCacheLimit {
  std::int64_t bytes = 0;
  std::string ignored;  ///< what is wrong with the variable; empty if nothing is
};
[[nodiscard]] ModuleCacheLimit module_cache_limit();

}  // namespace tessera::inline TESSERA_ABI

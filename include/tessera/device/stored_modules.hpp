// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/version.hpp>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

/// Lists and clears the disk cache of `ModuleCache`:
///
///     for (const tessera::StoredModuleFolder& folder : tessera::stored_modules().folders)
///       std::cout << folder.directory << ": " << folder.modules.size() << " files\n";
///
/// Each file holds compiled code for one source and one compute capability. Only this user's files in the
/// folders of `default_module_directories()` are considered. Any file may be removed at any time, also while
/// jobs run: it is recompiled when needed. The functions are not collective, do not throw for errors of the
/// file system, and are thread-safe. Cost: reading a folder, and the beginning of each file in it.
namespace tessera::inline TESSERA_ABI {

/// The key of a file, as far as it is readable.
struct StoredModuleOrigin {
  std::string source;      ///< `ModuleSource::name`
  std::string capability;  ///< compute capability of the devices, as "9.0"
  std::string compiler;    ///< with its version, as "nvrtc 13.0.88"
  std::string tessera;     ///< version of the library
};

struct StoredModule {
  /// SHA-256 of everything that the code depends on, in 64 digits: source, headers, options, and the rest of
  /// `origin`.
  std::string key;
  /// Empty if the file is of another version of Tessera, corrupt, truncated, or writable by others.
  std::optional<StoredModuleOrigin> origin;
  std::int64_t bytes = 0;
  /// When the file was last written or, to within an hour, loaded; by the clock of the file system.
  std::chrono::sys_seconds last_use;
};

/// A folder of the disk cache.
struct StoredModuleFolder {
  std::filesystem::path directory;
  std::vector<StoredModule> modules;  ///< last used first
  std::int64_t bytes = 0;             ///< of all of them
  std::string problem;  ///< why the folder could not be listed, e.g. because there is none; empty if it could
};

struct ModuleStore {
  std::vector<StoredModuleFolder> folders;  ///< in the order of search; none: there is no disk cache
  std::int64_t max_bytes = 0;               ///< maximum size of each folder
  std::string ignored;                      ///< why $TESSERA_CACHE_MIB was ignored; empty if it was not
};

[[nodiscard]] TESSERA_EXPORT ModuleStore stored_modules();

/// Removes all files, and returns those that it removed.
TESSERA_EXPORT ModuleStore clear_stored_modules();

}  // namespace tessera::inline TESSERA_ABI

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/version.hpp>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

/// What a `ModuleCache` keeps between runs, for who looks after the disk:
///
///     for (const tessera::StoredModules& folder : tessera::stored_modules().folders)
///       std::cout << folder.directory << ": " << folder.modules.size() << " files, " << folder.bytes << "
///       bytes\n";
///
/// Each file is compiled code for one source and one kind of device. All folders of
/// `default_module_directories()` are looked at, and in them this user's files alone. A file that is missed
/// is compiled anew, so that any may be removed at any time, also while jobs run. Neither function is
/// collective or throws for what is wrong with the disk; both are thread-safe. Cost: reading a folder, and
/// the beginning of each file in it.
namespace tessera::inline TESSERA_ABI {

/// What a file says that it is for.
struct StoredModuleOrigin {
  std::string source;      ///< the name of the source, as its program gave it
  std::string capability;  ///< compute capability of the devices, as "9.0"
  std::string compiler;    ///< with its version, as "nvrtc 13.0.88"
  std::string tessera;     ///< version of the library
};

struct StoredModule {
  /// SHA-256 of all that the code depends on, in 64 digits: source, headers, options, and the rest of
  /// `origin`.
  std::string key;
  /// Not given: of another version of Tessera, damaged, not to be trusted, or not written to its end.
  std::optional<StoredModuleOrigin> origin;
  std::int64_t bytes = 0;
  /// When it was last written or, to an hour, loaded. By the clock of the file system.
  std::chrono::sys_seconds last_use;
};

/// A folder.
struct StoredModules {
  std::filesystem::path directory;
  std::vector<StoredModule> modules;  ///< last used first
  std::int64_t bytes = 0;             ///< of all of them
  std::string problem;                ///< why it was not looked into, e.g. as there is none; empty if it was
};

struct ModuleStore {
  std::vector<StoredModules> folders;  ///< in the order in which code is looked for; none: nothing is kept
  std::int64_t most_bytes = 0;         ///< that each folder may have before what is last in it goes
  std::string
      ignored;  ///< what is wrong with $TESSERA_CACHE_MIB, so that it was passed over; empty if nothing
};

[[nodiscard]] TESSERA_EXPORT ModuleStore stored_modules();

/// Removes all of them, and returns what it removed.
TESSERA_EXPORT ModuleStore clear_stored_modules();

}  // namespace tessera::inline TESSERA_ABI

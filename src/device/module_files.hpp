// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/version.hpp>

#include <sys/stat.h>

#include <cstdint>
#include <filesystem>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace TESSERA_NAMESPACE {

struct ModuleFolder {
  std::filesystem::path path;
  std::filesystem::path base;  ///< the part of the path that must exist; empty: none
  /// The parent is world-writable: the folder is used only if it is not a link, belongs to this user, and is
  /// closed to others, because code in it is executed.
  bool in_public = false;
};

/// The default folders, in order: see `default_module_directories`.
[[nodiscard]] std::vector<ModuleFolder> default_module_folders();

/// The files of a module cache: texts by key, in folders that processes on several nodes may use
/// concurrently. Reads search all folders; writes go to the first that is writable, and evict the least
/// recently used files there.
///
/// A file is named by a hash of its key, and holds the whole key. All members are thread-safe; none
/// throws for errors of the file system.
class ModuleFiles {
 public:
  /// Without folders, nothing is stored. `max_bytes` limits each folder.
  ModuleFiles(std::vector<ModuleFolder> folders, std::int64_t max_bytes)
      : folders_(std::move(folders)), max_bytes_(max_bytes) {}

  struct Found {
    std::optional<std::string> text;
    /// A file exists, but it is truncated, corrupt, of another key, or not trusted (a link, not owned by this
    /// user or root, or writable by others).
    bool rejected = false;
  };
  [[nodiscard]] Found read(std::string_view key) const;

  /// Writes or replaces the file of `key`, and evicts others if necessary.
  void write(std::string_view key, std::string_view text);

  /// The folder of the last write; before that, the first one. Empty if there is none.
  [[nodiscard]] std::filesystem::path directory() const;
  /// Why the last write failed; empty if it succeeded.
  [[nodiscard]] std::string problem() const;

 private:
  std::vector<ModuleFolder> folders_;
  std::int64_t max_bytes_;
  mutable std::mutex mutex_;
  std::size_t last_ = 0;
  std::string problem_;
};

}  // namespace TESSERA_NAMESPACE

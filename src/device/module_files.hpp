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

namespace tessera::inline TESSERA_ABI {

/// A place for files, made where it is missing.
struct ModuleFolder {
  std::filesystem::path path;
  std::filesystem::path base;  ///< what of it must be there; empty: nothing
  /// It is where everybody may write: used only if it is no link, this user's, and closed to others. Code
  /// that is loaded must not come from somebody else.
  bool in_public = false;
};

/// Where modules are kept if nobody says where, in order: see `default_module_directories`.
[[nodiscard]] std::vector<ModuleFolder> default_module_folders();

/// Whether what is in a file may be run: it is this user's or root's, and nobody else can write to it. Nor is
/// it one that an opening or a reading would not come back from, as a pipe.
[[nodiscard]] bool is_trusted_module_file(const struct stat& file);

/// The files of a module cache: texts by key, in folders that many processes of many nodes may use at once.
/// What is looked for may be in any of them; what is written goes to the first that takes it, and pushes out
/// what has not been used there for longest.
///
/// A file is named by the SHA-256 of its key and holds the whole key. All members are thread-safe, and none
/// throws for what is wrong with the disk.
class ModuleFiles {
 public:
  /// Without folders nothing is held and nothing kept. Each of them has at most `most_bytes`.
  ModuleFiles(std::vector<ModuleFolder> folders, std::int64_t most_bytes)
      : folders_(std::move(folders)), most_bytes_(most_bytes) {}

  struct Found {
    std::optional<std::string> text;
    /// There was a file, but torn, corrupt or of another key; or a link, or not this user's or root's, or one
    /// that others may write to: what is loaded runs.
    bool rejected = false;
  };
  [[nodiscard]] Found read(std::string_view key) const;

  /// Replaces what is there, and makes room for it.
  void write(std::string_view key, std::string_view text);

  /// The folder that the last file was written to; before that, the first one. Empty if there is none.
  [[nodiscard]] std::filesystem::path directory() const;
  /// Why the last file could not be written anywhere; empty if it could.
  [[nodiscard]] std::string problem() const;

 private:
  std::vector<ModuleFolder> folders_;
  std::int64_t most_bytes_;
  mutable std::mutex mutex_;
  std::size_t last_ = 0;  ///< the folder of the last file written
  std::string problem_;
};

}  // namespace tessera::inline TESSERA_ABI

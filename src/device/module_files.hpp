// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tessera {

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

/// The files of a module cache: texts by key, in folders that many processes of many nodes may use at once.
/// What is looked for may be in any of them; what is written goes to the first that takes it.
///
/// A file is named by a hash of its key and holds the whole key, so two keys of one hash can only push each
/// other out. All members are thread-safe, and none throws for what is wrong with the disk.
class ModuleFiles {
 public:
  /// Without folders nothing is held and nothing kept.
  explicit ModuleFiles(std::vector<ModuleFolder> folders) : folders_(std::move(folders)) {}

  struct Found {
    std::optional<std::string> text;
    /// There was a file, but torn, corrupt or of another key; or a link, or not this user's or root's, or one
    /// that others may write to: what is loaded runs.
    bool rejected = false;
  };
  [[nodiscard]] Found read(std::string_view key) const;

  /// Replaces what is there.
  void write(std::string_view key, std::string_view text);

  /// The folder that the last file was written to; before that, the first one. Empty if there is none.
  [[nodiscard]] std::filesystem::path directory() const;
  /// Why the last file could not be written anywhere; empty if it could.
  [[nodiscard]] std::string problem() const;

 private:
  std::vector<ModuleFolder> folders_;
  mutable std::mutex mutex_;
  std::size_t last_ = 0;  ///< the folder of the last file written
  std::string problem_;
};

}  // namespace tessera

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

namespace tessera {

/// The files of a module cache: texts by key, in a folder that many processes of many nodes may use at once.
///
/// A file is named by a hash of its key and holds the whole key, so two keys of one hash can only push each
/// other out. All members are thread-safe, and none throws for what is wrong with the disk.
class ModuleFiles {
 public:
  /// An empty `directory` holds nothing and keeps nothing.
  explicit ModuleFiles(std::filesystem::path directory) : directory_(std::move(directory)) {}

  struct Found {
    std::optional<std::string> text;
    bool rejected = false;  ///< there was a file, but torn, corrupt or of another key
  };
  [[nodiscard]] Found read(std::string_view key) const;

  /// Makes the folder where it is missing. Replaces what is there.
  void write(std::string_view key, std::string_view text);

  [[nodiscard]] const std::filesystem::path& directory() const noexcept { return directory_; }
  /// Why the last file could not be written; empty if it could.
  [[nodiscard]] std::string problem() const;

 private:
  [[nodiscard]] std::filesystem::path file_of(std::string_view key) const;

  std::filesystem::path directory_;
  mutable std::mutex mutex_;
  std::string problem_;
};

}  // namespace tessera

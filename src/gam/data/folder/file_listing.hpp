// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/version.hpp>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "files/input_file.hpp"

namespace TESSERA_NAMESPACE::gam {

struct ListedFile {
  std::string path;
  files::FileState state;
  /// Columns encoded in folder names, as in "region=north/year=2020/part-0.csv", with their values for this
  /// file; no value: missing.
  std::vector<std::pair<std::string, std::optional<std::string>>> partition{};

  void members(const auto& to) {
    std::vector<std::string> names;
    std::vector<std::string> values;
    std::vector<char> there;
    for (const auto& [name, value] : partition) {
      names.push_back(name);
      values.push_back(value.value_or(""));
      there.push_back(value ? 1 : 0);
    }
    to(path, state, names, values, there);
    partition.resize(names.size());
    for (std::size_t i = 0; i < names.size(); ++i)
      partition[i] = {names[i], there[i] != 0 ? std::optional(values[i]) : std::nullopt};
  }
};

/// The files at these paths, in order. A folder stands for all files within it, also through symbolic links,
/// ordered by the bytes of their paths; files and folders whose names begin with '_' or '.' are excluded.
/// Folders named KEY=VALUE add columns (Hive partitioning): values are percent-decoded, and
/// `__HIVE_DEFAULT_PARTITION__` is missing. Not collective; reads no file. Throws `Error(input)` for a path
/// that cannot be read or is neither a regular file nor a folder, for a folder without files, and for files
/// whose folder names give different columns.
[[nodiscard]] std::vector<ListedFile> list_files(const std::vector<std::string>& paths);

/// The combined state of all files, which changes if any file changes. For several files: total size, time of
/// the last write, and as inode a hash of all paths, sizes and times.
[[nodiscard]] files::FileState state_of(const std::vector<ListedFile>& files);

/// The table's name in messages: its path, or its first path and the number of other paths.
[[nodiscard]] std::string name_of(const std::vector<std::string>& paths);

}  // namespace TESSERA_NAMESPACE::gam

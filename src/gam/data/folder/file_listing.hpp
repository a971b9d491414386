// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/version.hpp>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "files/input_file.hpp"

namespace TESSERA_NAMESPACE::gam {

/// One file of a table of several.
struct ListedFile {
  std::string path;
  files::FileState state;
  /// Columns that its folders name, as in "region=north/year=2020/part-0.csv", with their values; nothing:
  /// missing.
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

/// The files at these paths, in order; of a folder all files within it, also behind links, by the bytes of
/// their paths, except those whose names, or whose folders' names, begin with '_' or '.'. Folders named
/// KEY=VALUE partition a table, as Hive has them: values are percent-decoded, and
/// `__HIVE_DEFAULT_PARTITION__` is missing. Not collective. Throws `Error(input)` for a path that cannot be
/// read, is neither a regular file nor a folder, a folder without a file, and files whose folders name
/// different columns. Reads no file.
[[nodiscard]] std::vector<ListedFile> list_files(const std::vector<std::string>& paths);

/// The state of all files as one, which changes with each: of several, their total size, the last write, and
/// a hash of all paths, sizes and times as inode.
[[nodiscard]] files::FileState state_of(const std::vector<ListedFile>& files);

/// How messages name the table: its path, or its first path with the number of further ones.
[[nodiscard]] std::string name_of(const std::vector<std::string>& paths);

}  // namespace TESSERA_NAMESPACE::gam

// SPDX-License-Identifier: Apache-2.0
#include "gam/data/folder/file_listing.hpp"

#include "base/errors.hpp"
#include "base/hash.hpp"
#include "base/pluralised.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <filesystem>
#include <string_view>
#include <system_error>

namespace TESSERA_NAMESPACE::gam {
namespace {

namespace fs = std::filesystem;

struct stat status_of(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0)
    throw base::input_error("{}: cannot be read: {}", path, std::generic_category().message(errno));
  return status;
}

std::string percent_decoded(std::string_view text) {
  std::string decoded;
  while (!text.empty()) {
    unsigned char byte = 0;
    const char* const digits = text.data() + 1;
    if (text.size() > 2 && text[0] == '%' &&
        std::from_chars(digits, digits + 2, byte, 16).ptr == digits + 2) {
      decoded += static_cast<char>(byte);
      text.remove_prefix(3);
    } else {
      decoded += text[0];
      text.remove_prefix(1);
    }
  }
  return decoded;
}

/// Columns from folders KEY=VALUE in a path relative to the table's folder.
auto partition_of(const fs::path& within) {
  decltype(ListedFile::partition) partition;
  for (const fs::path& part : within.parent_path()) {
    const std::string text = part.string();
    const std::size_t equals = text.find('=');
    if (equals == std::string::npos || equals == 0) continue;
    const std::string value = percent_decoded(std::string_view(text).substr(equals + 1));
    partition.emplace_back(percent_decoded(std::string_view(text).substr(0, equals)),
                           value == "__HIVE_DEFAULT_PARTITION__" ? std::nullopt : std::optional(value));
  }
  return partition;
}

bool is_hidden(const fs::path& path) {
  const std::string name = path.filename().string();
  return name.starts_with('_') || name.starts_with('.');
}

ListedFile listed(const std::string& path) {
  const struct stat status = status_of(path);
  if (!S_ISREG(status.st_mode))
    throw base::input_error(
        "{}: is not a regular file: give a regular file, which ranks can read at any offset", path);
  return {.path = path, .state = files::state_of(status)};
}

std::vector<ListedFile> files_within(const std::string& folder) {
  std::vector<ListedFile> files;
  std::error_code failure;
  // A cycle of symbolic links ends with ELOOP after about 40 links.
  fs::recursive_directory_iterator entry(folder, fs::directory_options::follow_directory_symlink, failure);
  for (; !failure && entry != fs::recursive_directory_iterator(); entry.increment(failure)) {
    if (is_hidden(entry->path())) {
      entry.disable_recursion_pending();
      continue;
    }
    std::error_code unreadable;  // reported by `listed`
    if (entry->is_directory(unreadable)) continue;
    files.push_back(listed(entry->path().string()));
    files.back().partition = partition_of(entry->path().lexically_relative(folder));
  }
  if (failure) throw base::input_error("{}: the folder cannot be read: {}", folder, failure.message());
  if (files.empty())
    throw base::input_error("{}: the folder has no file: give a folder with the table's files", folder);
  std::ranges::sort(files, {}, &ListedFile::path);
  return files;
}

std::string keys_of(const ListedFile& file) {
  std::string keys;
  for (const auto& [name, value] : file.partition) keys += (keys.empty() ? "" : ", ") + name;
  return keys.empty() ? "none" : keys;
}

}  // namespace

std::vector<ListedFile> list_files(const std::vector<std::string>& paths) {
  std::vector<ListedFile> files;
  for (const std::string& path : paths) {
    std::vector<ListedFile> some;
    if (S_ISDIR(status_of(path).st_mode))
      some = files_within(path);
    else
      some.push_back(listed(path));
    std::ranges::move(some, std::back_inserter(files));
  }
  const auto other = std::ranges::find_if(
      files, [&](const ListedFile& file) { return keys_of(file) != keys_of(files.front()); });
  if (other != files.end())
    throw base::input_error(
        "{}: its folders name the columns ({}), but those of {} name ({}): give files of one table "
        "(names that begin with _ or . are skipped)",
        other->path, keys_of(*other), files.front().path, keys_of(files.front()));
  return files;
}

files::FileState state_of(const std::vector<ListedFile>& files) {
  if (files.size() == 1) return files.front().state;
  files::FileState all;
  for (const ListedFile& file : files) {
    all.size += file.state.size;
    all.written_ns = std::max(all.written_ns, file.state.written_ns);
    all.inode = base::split_mix(
        all.inode ^ base::fnv1a(fmt::format("{} {} {}", file.path, file.state.size, file.state.written_ns)));
  }
  return all;
}

std::string name_of(const std::vector<std::string>& paths) {
  if (paths.size() == 1) return paths.front();
  return fmt::format("{} and {} more", paths.front(), base::pluralised(paths.size() - 1, "path"));
}

}  // namespace TESSERA_NAMESPACE::gam

// SPDX-License-Identifier: Apache-2.0
#include "files/output_folder.hpp"

#include "base/errors.hpp"
#include "base/own_digits.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <utility>

namespace tessera::files {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view folder_prefix = ".tessera-";

base::Descriptor opened_folder(const std::string& path) {
  return base::Descriptor(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
}

}  // namespace

OutputFolder::OutputFolder(std::string path) : path_(std::move(path)) {
  while (path_.size() > 1 && path_.ends_with('/')) path_.pop_back();
  std::error_code absent;
  const fs::file_status status = fs::status(path_, absent);
  if (fs::exists(status) && !fs::is_directory(status))
    throw base::input_error("{}: a file has this name, but a folder is needed: give another name", path_);
  if (fs::is_directory(status) && !fs::is_empty(path_, absent))
    throw base::input_error("{}: the folder is not empty: remove the folder, or give another name", path_);
  const fs::path above = fs::path(path_).parent_path();
  above_ = above.empty() ? "." : above.string();
  remove_abandoned();
  constexpr int tries = 100;
  for (int i = 0; i < tries; ++i) {
    if (create_temporary()) return;
  }
  fail("cannot be created in a folder where new folders disappear", EAGAIN);
}

OutputFolder::~OutputFolder() {
  std::error_code stays;
  if (!committed_) fs::remove_all(temporary_, stays);
}

/// Removes nothing on a file system that cannot lock folders.
void OutputFolder::remove_abandoned() const {
  std::error_code ignored;
  for (fs::directory_iterator entry(above_, ignored), end; !ignored && entry != end;
       entry.increment(ignored)) {
    const std::string name = entry->path().filename().string();
    if (!name.starts_with(folder_prefix) ||
        !base::are_own_digits(std::string_view(name).substr(folder_prefix.size())))
      continue;
    const base::Descriptor folder = opened_folder(entry->path().string());
    const auto found = folder.status();
    std::error_code stays;
    if (found && found->st_uid == ::geteuid() && ::flock(folder.number(), LOCK_EX | LOCK_NB) == 0)
      fs::remove_all(entry->path(), stays);
  }
}

/// Returns false if another program has just removed the new folder as abandoned.
bool OutputFolder::create_temporary() {
  temporary_ = fmt::format("{}/{}{}", above_, folder_prefix, base::new_own_digits());
  if (::mkdir(temporary_.c_str(), 0777) != 0) fail("cannot be created", errno);
  held_ = opened_folder(temporary_);
  if (!held_.is_open() && errno != ENOENT) {
    const int reason = errno;
    ::rmdir(temporary_.c_str());
    fail("cannot be created", reason);
  }
  if (::flock(held_.number(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) return false;
  const auto found = held_.status();
  return found && found->st_nlink > 0;
}

std::string OutputFolder::commit() {
  if (std::rename(temporary_.c_str(), path_.c_str()) != 0) fail("cannot be put in place", errno);
  committed_ = true;
  const base::Descriptor above(::open(above_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (above.is_open() && above.flush()) return {};
  return fmt::format("{}: is in place, but may not survive a power failure: {}", path_, std::strerror(errno));
}

void OutputFolder::fail(const char* what, int error) const {
  throw base::input_error("{}: {}: {}", path_, what, std::strerror(error));
}

}  // namespace tessera::files

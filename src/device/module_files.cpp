// SPDX-License-Identifier: Apache-2.0
#include "device/module_files.hpp"

#include "base/descriptor.hpp"
#include "device/module_format.hpp"
#include "device/module_shelf.hpp"
#include "topology/linux/private_folder.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <system_error>
#include <utility>

namespace TESSERA_NAMESPACE {
namespace {

/// Maximum size of a file; compiled code has some hundred kB.
constexpr std::uintmax_t max_file_bytes = std::uintmax_t{1} << 28;

/// Writes `text` to a new file in the folder of `path`, and renames the file to `path`. Returns the system's
/// reason on failure, else an empty string.
std::string write_and_rename(const std::filesystem::path& path, std::string_view text) {
  std::string name = path.string() + ".XXXXXX";
  base::Descriptor file(mkostemp(name.data(), O_CLOEXEC));
  if (!file.is_open()) return std::strerror(errno);
  // Closes the file explicitly, because a full disk may be reported only by close().
  if (file.write(text) && file.close() && std::rename(name.c_str(), path.c_str()) == 0) return {};
  std::string problem = std::strerror(errno);
  (void)unlink(name.c_str());
  return problem;
}

/// Updates the modification time for LRU eviction, at most once an hour: ranks of many jobs may read the file
/// from one server.
void touch(const std::filesystem::path& path, const timespec& last_use) {
  constexpr std::time_t often_enough_s = 3600;
  if (std::time(nullptr) - last_use.tv_sec >= often_enough_s)
    (void)utimensat(AT_FDCWD, path.c_str(), nullptr, AT_SYMLINK_NOFOLLOW);
}

/// Whether the content of a file may be executed: a regular file (reading a pipe could block) that belongs to
/// this user or root, and that nobody else can write to.
bool is_trusted(const struct stat& file) {
  return S_ISREG(file.st_mode) && (file.st_uid == geteuid() || file.st_uid == 0) &&
         (file.st_mode & (S_IWGRP | S_IWOTH)) == 0 &&
         static_cast<std::uintmax_t>(file.st_size) <= max_file_bytes;
}

struct StoredFile {
  std::string content;  ///< empty if there is no usable file
  bool refused = false;
  timespec last_use{};
};

StoredFile stored_file(const std::filesystem::path& path) {
  const base::Descriptor file(::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!file.is_open()) return {.content = {}, .refused = errno == ELOOP};
  StoredFile stored;
  // Checks the open file, because the path may name another file by now.
  if (const auto status = file.status(); status && is_trusted(*status)) {
    stored.content = file.read_text(static_cast<std::size_t>(status->st_size)).value_or("");
    stored.last_use = status->st_mtim;
  }
  stored.refused = stored.content.empty();  // a valid file is not empty
  return stored;
}

/// Creates the folder if it is missing. Returns why the folder cannot be used; empty if it can be used.
std::string prepare(const ModuleFolder& folder) {
  std::error_code failed;
  if (!folder.base.empty() && !std::filesystem::is_directory(folder.base, failed))
    return folder.base.string() + " is not there";
  if (folder.in_public) {
    (void)mkdir(folder.path.c_str(), S_IRWXU);  // the result is checked below
    return detail::problem_of_private_folder(folder.path);
  }
  std::filesystem::create_directories(folder.path, failed);
  return failed ? failed.message() : std::string();
}

/// The variable's value if it is an absolute path, else empty.
std::filesystem::path place_in(const char* variable) {
  const char* const text = std::getenv(variable);
  return text != nullptr && *text == '/' ? text : "";
}

}  // namespace

std::vector<ModuleFolder> default_module_folders() {
  if (const char* own = std::getenv("TESSERA_CACHE_DIR")) {
    if (*own == '\0') return {};
    return {{own, {}, false}};
  }
  std::vector<ModuleFolder> folders;
  // A relative XDG_CACHE_HOME must be ignored (XDG Base Directory Specification 0.8).
  if (const auto cache = place_in("XDG_CACHE_HOME"); !cache.empty())
    folders.push_back({cache / "tessera", {}, false});
  else if (const auto home = place_in("HOME"); !home.empty())
    folders.push_back({home / ".cache" / "tessera", home, false});
  const auto given = place_in("TMPDIR");
  const std::filesystem::path temporary = given.empty() ? "/tmp" : given;
  folders.push_back({temporary / ("tessera-" + std::to_string(geteuid())), temporary, true});
  return folders;
}

ModuleFiles::Found ModuleFiles::read(std::string_view key) const {
  bool rejected = false;
  for (const ModuleFolder& folder : folders_) {
    if (folder.in_public && !detail::problem_of_private_folder(folder.path).empty()) continue;
    const std::filesystem::path path = folder.path / module_file_name(key);
    const StoredFile stored = stored_file(path);
    if (auto text = unpack_module(stored.content, key)) {
      touch(path, stored.last_use);
      return {std::move(text), false};
    }
    rejected = rejected || stored.refused || !stored.content.empty();
  }
  return {std::nullopt, rejected};
}

void ModuleFiles::write(std::string_view key, std::string_view text) {
  if (folders_.empty()) return;
  const std::string content = pack_module(key, text);
  const std::string name = module_file_name(key);
  if (static_cast<std::int64_t>(content.size()) > max_bytes_) {
    const std::lock_guard lock(mutex_);
    problem_ = "code of " + std::to_string(content.size()) +
               " bytes exceeds the limit of the code cache: raise TESSERA_CACHE_MIB";
    return;
  }
  std::string problems;
  for (std::size_t i = 0; i < folders_.size(); ++i) {
    const std::filesystem::path& path = folders_[i].path;
    std::string reason = prepare(folders_[i]);
    if (reason.empty()) reason = write_and_rename(path / name, content);
    if (reason.empty()) {
      ModuleShelf(path).bound(max_bytes_, name);
      const std::lock_guard lock(mutex_);
      last_ = i;
      problem_.clear();
      return;
    }
    problems += (problems.empty() ? "" : "; ") + path.string() + " cannot be written: " + reason;
  }
  const std::lock_guard lock(mutex_);
  problem_ = std::move(problems);
}

std::filesystem::path ModuleFiles::directory() const {
  const std::lock_guard lock(mutex_);
  return folders_.empty() ? std::filesystem::path() : folders_[last_].path;
}

std::string ModuleFiles::problem() const {
  const std::lock_guard lock(mutex_);
  return problem_;
}

}  // namespace TESSERA_NAMESPACE

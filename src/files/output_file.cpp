// SPDX-License-Identifier: Apache-2.0
#include "files/output_file.hpp"

#include "base/errors.hpp"
#include "base/own_digits.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/core.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <memory>
#include <utility>

namespace tessera::files {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view temporary_prefix = ".tessera-";
constexpr std::string_view temporary_suffix = ".tmp";

std::string temporary_name() {
  return fmt::format("{}{}{}", temporary_prefix, base::new_own_digits(), temporary_suffix);
}

bool is_temporary_name(std::string_view name) {
  if (name.size() < temporary_prefix.size() + temporary_suffix.size()) return false;
  if (!name.starts_with(temporary_prefix) || !name.ends_with(temporary_suffix)) return false;
  name.remove_prefix(temporary_prefix.size());
  name.remove_suffix(temporary_suffix.size());
  return base::are_own_digits(name);
}

/// Removes a folder's regular files of this user if their names match `is_stale`. Keeps a file if a writer
/// holds its lock, or if `may_remove`, called under the lock, returns false.
void remove_abandoned(
    int folder, const std::function<bool(std::string_view)>& is_stale,
    const std::function<bool(std::string_view name, const base::Descriptor& file)>& may_remove) {
  const int listed = ::openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const std::unique_ptr<DIR, int (*)(DIR*)> entries(listed < 0 ? nullptr : ::fdopendir(listed), &::closedir);
  if (!entries) {
    if (listed >= 0) ::close(listed);
    return;
  }
  while (const dirent* entry = ::readdir(entries.get())) {
    if (!is_stale(entry->d_name)) continue;
    // NFS gives an exclusive lock only to a file that is open for writing.
    const base::Descriptor file(
        ::openat(folder, entry->d_name, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
    const auto status = file.status();
    const bool own = status && S_ISREG(status->st_mode) && status->st_uid == ::geteuid();
    if (own && ::flock(file.number(), LOCK_EX | LOCK_NB) == 0 && may_remove(entry->d_name, file))
      ::unlinkat(folder, entry->d_name, 0);
  }
}

enum class Hold { held, lost, unknown };

/// Locks the new temporary file, and returns whether the file still exists: before it was locked, another
/// process may have removed it as abandoned. On a file system without locks no process removes files. For
/// `unknown`, `errno` has the reason.
Hold hold(const base::Descriptor& file) {
  if (::flock(file.number(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) return Hold::lost;
  const auto status = file.status();
  if (!status) return Hold::unknown;
  return status->st_nlink > 0 ? Hold::held : Hold::lost;
}

}  // namespace

OutputFile::OutputFile(std::string path) : path_(std::move(path)) {
  if (path_.empty()) throw base::input_error("the name of an output file is empty: give a name");
  open();
}

OutputFile::OutputFile(const OutputFile& owner, std::string_view suffix)
    : path_(owner.target() + std::string(suffix)), replaced_(owner.replaced_) {
  open();
}

void OutputFile::open() {
  find_target();
  create_temporary();
}

OutputFile::~OutputFile() {
  if (!committed_) ::unlinkat(folder_.number(), temporary_.c_str(), 0);
}

std::string OutputFile::target() const {
  return (fs::path(folder_name_) / name_).string();
}

/// Resolves links, and sets the target's folder and the target's name in that folder.
void OutputFile::find_target() {
  constexpr int max_links = 40;  // Linux's limit
  fs::path target = path_;
  struct stat status {};
  for (int links = 0;; ++links) {
    if (::lstat(target.c_str(), &status) != 0) {
      if (errno != ENOENT) fail("cannot be created");
      break;
    }
    if (!S_ISLNK(status.st_mode)) {
      // Refuse a device: a rename would replace it by a regular file.
      if (S_ISDIR(status.st_mode)) refuse("is a directory");
      if (!S_ISREG(status.st_mode)) refuse("is not a regular file");
      if (!replaced_) replaced_ = Access{static_cast<mode_t>(status.st_mode & 0777), status.st_gid};
      break;
    }
    if (status.st_uid != ::geteuid() && status.st_uid != 0) refuse("is a link of another user");
    if (links == max_links) refuse("is a broken symbolic link");
    std::error_code unreadable;
    const fs::path link = fs::read_symlink(target, unreadable);
    if (unreadable) refuse("is a link that cannot be read");
    target = target.parent_path() / link;
  }
  name_ = target.filename().string();
  folder_name_ = target.has_parent_path() ? target.parent_path().string() : ".";
  folder_ = base::Descriptor(::open(folder_name_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  // O_PATH, because a folder may be writable but not readable.
  if (!folder_.is_open() && errno == EACCES)
    folder_ = base::Descriptor(::open(folder_name_.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!folder_.is_open() || name_.empty()) fail("cannot be created");
}

void OutputFile::create_temporary() {
  remove_abandoned(folder_.number(), is_temporary_name,
                   [](std::string_view, const base::Descriptor&) { return true; });
  constexpr int tries = 100;
  for (int i = 0; i < tries; ++i) {
    temporary_ = temporary_name();
    descriptor_ = base::Descriptor(::openat(folder_.number(), temporary_.c_str(),
                                            O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                                            replaced_ ? 0600 : 0666));
    if (!descriptor_.is_open() && errno == EEXIST) continue;
    if (!descriptor_.is_open()) fail("cannot be created");
    const Hold result = hold(descriptor_);
    if (result == Hold::held) return;
    const int reason = errno;
    descriptor_ = {};
    if (result == Hold::lost) continue;
    ::unlinkat(folder_.number(), temporary_.c_str(), 0);
    errno = reason;
    fail("cannot be created");
  }
  refuse("is in a folder where new files disappear");
}

void OutputFile::fail(const char* what) const {
  throw base::input_error("{}: {}: {}", path_, what, std::strerror(errno));
}

void OutputFile::refuse(const char* why) const {
  throw base::input_error("{}: {}: give the name of a file", path_, why);
}

void OutputFile::write(std::string_view text) {
  if (!descriptor_.write(text)) fail("cannot be written");
}

void OutputFile::write(std::span<const double> values) {
  write({reinterpret_cast<const char*>(values.data()), values.size_bytes()});
}

void OutputFile::write_at(std::int64_t offset, std::string_view bytes) {
  if (!descriptor_.write_at(offset, bytes)) fail("cannot be written");
}

std::string OutputFile::link() const {
  return fmt::format("/proc/self/fd/{}", descriptor_.number());
}

void OutputFile::flush() {
  // Some file systems report a full disk only when a file is flushed.
  if (!descriptor_.flush()) fail("cannot be written");
}

void OutputFile::hand_on_access() const {
  if (!replaced_) return;
  mode_t permissions = replaced_->permissions;
  // If the old group cannot be kept, the new group gets the permissions of "others", not those of the old
  // group.
  if (::fchown(descriptor_.number(), static_cast<uid_t>(-1), replaced_->group) != 0)
    permissions &= ~static_cast<mode_t>(070) | (permissions & 07) << 3;
  if (::fchmod(descriptor_.number(), permissions) != 0) fail("cannot be written");
}

std::string OutputFile::commit() {
  hand_on_access();
  flush();
  if (::renameat(folder_.number(), temporary_.c_str(), folder_.number(), name_.c_str()) != 0)
    fail("cannot be written");
  committed_ = true;
  // The rename survives a power failure once the folder is flushed. A folder opened with O_PATH cannot be
  // flushed (EBADF): flush the whole file system.
  const bool named = folder_.flush() || (errno == EBADF && ::syncfs(descriptor_.number()) == 0);
  if (named) return {};
  return fmt::format(
      "{}: is written, but may not survive a power failure, as its folder cannot be flushed to disk: {}",
      path_, std::strerror(errno));
}

std::vector<std::string> OutputFile::remove_beside(
    const std::function<bool(std::string_view name)>& is_stale,
    const std::function<bool(std::string_view name, const base::Descriptor& file)>& is_own) const {
  std::vector<std::string> others;
  remove_abandoned(folder_.number(), is_stale, [&](std::string_view name, const base::Descriptor& file) {
    if (!in_place()) return false;
    const bool own = is_own(name, file);
    if (!own) others.push_back((fs::path(folder_name_) / name).string());
    return own;
  });
  return others;
}

bool OutputFile::in_place() const {
  const auto mine = descriptor_.status();
  struct stat current {};
  return mine && ::fstatat(folder_.number(), name_.c_str(), &current, AT_SYMLINK_NOFOLLOW) == 0 &&
         mine->st_dev == current.st_dev && mine->st_ino == current.st_ino;
}

}  // namespace tessera::files

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/descriptor.hpp"

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::files {

/// Replaces a file atomically: the new file is written under a temporary name in the same folder; `commit`
/// flushes every byte to disk (fsync) and renames it. Without `commit` the temporary file is removed.
/// Temporary files that killed programs of this user have left in the folder are removed too; check digits in
/// their names identify them (`base/own_digits.hpp`). Throws `tessera::Error(input)` with the path and the
/// system's reason.
///
/// The folder may be writable by others. The temporary file has a random name, is created exclusively and
/// never through a link. A symbolic link that this user or root owns is followed: its target is replaced, and
/// the link stays. Another user's link is refused, because that user could choose the target. The new file
/// inherits the permissions of the old one, and its group if this user is a member.
class OutputFile {
 public:
  /// Creates the temporary file now, so that a path that cannot be written fails before the computation.
  /// Refuses an empty path, a directory and a device too.
  explicit OutputFile(std::string path);
  /// A companion of `owner`: in the same folder, with `suffix` after the name, and with the permissions of
  /// the file that `owner` replaces.
  OutputFile(const OutputFile& owner, std::string_view suffix);
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  void write(std::string_view text);
  void write(std::span<const double> values);  ///< in native byte order
  void write_at(std::int64_t offset, std::string_view bytes);
  /// A path by which a library can open the temporary file during this object's lifetime.
  [[nodiscard]] std::string link() const;
  /// Flushes every byte to disk. For several files that form one result: flush all, then commit all.
  void flush();
  /// Renames the temporary file to the target's name and flushes the folder; the destructor releases the
  /// lock. Returns an empty string, or one line of warning if the file is in place, but its folder could not
  /// be flushed.
  std::string commit();
  /// Removes stale files from the folder: regular files of this user whose names match `is_stale`, if
  /// `is_own` confirms that this program wrote them. Keeps files that a process is still writing, and removes
  /// none if this file has been replaced meanwhile. Returns the paths of files that `is_stale` matches but
  /// `is_own` does not confirm. Call it after `commit`.
  std::vector<std::string> remove_beside(
      const std::function<bool(std::string_view name)>& is_stale,
      const std::function<bool(std::string_view name, const base::Descriptor& file)>& is_own) const;
  [[nodiscard]] const std::string& path() const noexcept { return path_; }
  /// The name of the target (the file to replace) in its folder, with links resolved.
  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  [[nodiscard]] std::string target() const;

 private:
  struct Access {
    mode_t permissions;
    gid_t group;
  };

  void open();
  [[nodiscard]] bool in_place() const;
  void find_target();
  void create_temporary();
  void hand_on_access() const;
  [[noreturn]] void fail(const char* what) const;
  [[noreturn]] void refuse(const char* why) const;

  std::string path_;
  base::Descriptor folder_;
  std::string folder_name_;
  std::string name_;
  std::string temporary_;  ///< name in `folder_`
  bool committed_ = false;
  std::optional<Access> replaced_;
  base::Descriptor descriptor_;
};

}  // namespace tessera::files

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace tessera::fit {

/// A file that appears whole or not at all: it is written beside its place under a temporary name, and
/// takes its place when `commit` has seen every byte reach the disk. Without `commit` the temporary
/// file is removed; those that killed programs of this user have left in the folder are removed too.
/// Throws `tessera::Error(input)` naming the path and the system's reason.
///
/// The folder may be one where others write. The temporary file has a random name, is created exclusively and
/// never through a link. A symbolic link at the path is followed if it is this user's or root's, so that the
/// link stays and what it leads to is replaced; another user's link is refused, since it says whose file that
/// is to be. A file that is replaced hands on its permissions, and its group where this user is in it.
class OutputFile {
 public:
  /// Creates the temporary file, so that a place that cannot be written is found before the work is done: an
  /// empty path, and one of a directory or device, too.
  explicit OutputFile(std::string path);
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  void write(std::string_view text);
  void write(std::span<const double> values);  ///< as they are in memory
  /// Sees every byte reach the disk: what is left to `commit` is a rename. For files that are one result.
  void flush();
  void commit();
  [[nodiscard]] const std::string& path() const noexcept { return path_; }

 private:
  /// Of the file that is replaced.
  struct Access {
    mode_t permissions;
    gid_t group;
  };

  void find_place();
  void create_temporary();
  void hand_on_access() const;
  void write_bytes(const char* bytes, std::size_t count);
  [[noreturn]] void fail(const char* what) const;
  [[noreturn]] void refuse(const char* why) const;

  std::string path_;
  int folder_ = -1;
  std::string name_;       ///< in the folder
  std::string temporary_;  ///< likewise
  std::optional<Access> replaced_;
  int descriptor_ = -1;
};

}  // namespace tessera::fit

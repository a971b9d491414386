// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/descriptor.hpp"

#include <sys/types.h>

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace tessera::files {

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
  /// One beside another, which belongs to it: in its folder, under its name with a suffix, with the access of
  /// what the other replaces.
  OutputFile(const OutputFile& owner, std::string_view suffix);
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  void write(std::string_view text);
  void write(std::span<const double> values);  ///< as they are in memory
  /// Sees every byte reach the disk: what is left to `commit` is a rename. For files that are one result.
  void flush();
  /// Takes its place: file and name are on the disk then. This object holds the file until its own end.
  void commit();
  /// Removes the regular files of this user in the folder whose names `is_stale` takes, as far as no process
  /// holds them as its own to write and this file has kept its place. After `commit`.
  void remove_beside(const std::function<bool(std::string_view name)>& is_stale) const;
  [[nodiscard]] const std::string& path() const noexcept { return path_; }
  /// Where it goes, links followed: the name in the folder.
  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  [[nodiscard]] std::string target() const;

 private:
  /// Of the file that is replaced.
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
  std::string name_;       ///< in the folder
  std::string temporary_;  ///< likewise
  bool committed_ = false;
  std::optional<Access> replaced_;
  base::Descriptor descriptor_;
};

}  // namespace tessera::files

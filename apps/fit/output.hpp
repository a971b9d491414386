// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>

namespace tessera::fit {

/// A file that appears whole or not at all: it is written beside its place under a temporary name, and
/// takes its place when `commit` has seen every byte reach the disk. Without `commit` the temporary
/// file is removed. Throws `tessera::Error(input)` naming the path and the system's reason.
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
  void write_bytes(const char* bytes, std::size_t count);
  [[noreturn]] void fail(const char* what) const;

  std::string path_;
  std::string temporary_;
  int descriptor_ = -1;
};

/// A file that an option of the command line makes.
struct WrittenFile {
  std::string option;
  std::string path;  ///< empty: the option is not given
};

/// Throws `Error(usage)` if a file that is written is one that is `read`, or that another option writes,
/// under whatever name; none of them need exist.
void refuse_to_overwrite(std::initializer_list<WrittenFile> written, std::initializer_list<std::string> read);

/// The whole text of a file. Throws `tessera::Error(input)` naming the path and the system's reason.
[[nodiscard]] std::string read_file(const std::string& path);

}  // namespace tessera::fit

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/descriptor.hpp"

#include <optional>
#include <string>
#include <string_view>

#include "files/output_file.hpp"

namespace tessera::files {

/// True for `-`, and for the names that the system has for standard output.
[[nodiscard]] bool is_standard_output(std::string_view path);

/// Output that is written once, from its beginning to its end: a regular file, which `commit` puts into place
/// as a whole (see OutputFile), or what takes bytes as they come: standard output, a pipe, a terminal,
/// /dev/null. Throws `tessera::Error(input)` with the path and the system's reason, also for a pipe whose
/// reader has gone (`output_is_unread`): the process may be another program's, which gets no SIGPIPE.
class OutputStream {
 public:
  /// Standard output for `is_standard_output`. The opening of a named pipe waits for its reader.
  explicit OutputStream(const std::string& path);

  /// Unchanged: data for another program.
  void write(std::string_view text);
  /// Returns what `OutputFile::commit` returns; an empty string for what takes bytes as they come.
  std::string commit();
  /// As messages name it.
  [[nodiscard]] const std::string& name() const noexcept { return name_; }

 private:
  [[noreturn]] void fail() const;

  std::string name_;
  base::Descriptor descriptor_;     ///< of what takes bytes as they come
  std::optional<OutputFile> file_;  ///< else
};

}  // namespace tessera::files

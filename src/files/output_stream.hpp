// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/descriptor.hpp"

#include <optional>
#include <string>
#include <string_view>

#include "files/output_file.hpp"

namespace tessera::files {

/// True for `-`, and for the system's names of standard output.
[[nodiscard]] bool is_standard_output(std::string_view path);

/// Output that is written sequentially: to a regular file, which `commit` puts in place as a whole (see
/// OutputFile), or at once to standard output, a pipe, a terminal or /dev/null. Throws
/// `tessera::Error(input)` with the path and the system's reason, also for a pipe whose reader has gone
/// (`output_is_unread`); SIGPIPE is suppressed, since it could end another program that uses the library.
class OutputStream {
 public:
  /// Standard output for `is_standard_output`. Opening a named pipe waits for its reader.
  explicit OutputStream(const std::string& path);

  /// Writes the bytes unchanged: data for another program.
  void write(std::string_view text);
  /// Returns the result of `OutputFile::commit`; an empty string for sequential output.
  std::string commit();
  /// The name in messages.
  [[nodiscard]] const std::string& name() const noexcept { return name_; }

 private:
  [[noreturn]] void fail() const;

  std::string name_;
  base::Descriptor descriptor_;     ///< descriptor of a pipe, terminal or other device
  std::optional<OutputFile> file_;  ///< output to a regular file
};

}  // namespace tessera::files

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

/// Sequential output to a regular file, which `commit` replaces atomically (see OutputFile), or directly to
/// standard output, a pipe, a terminal or /dev/null. Throws `tessera::Error(input)` with the path and the
/// system's reason, also for a pipe whose reader has closed it (`output_is_unread`). Suppresses SIGPIPE,
/// which could end a program that uses the library.
class OutputStream {
 public:
  /// Blocks on a named pipe until a reader opens it.
  explicit OutputStream(const std::string& path);

  void write(std::string_view text);
  /// Returns the result of `OutputFile::commit`; an empty string for sequential output.
  std::string commit();
  [[nodiscard]] const std::string& name() const noexcept { return name_; }

 private:
  [[noreturn]] void fail() const;

  std::string name_;
  base::Descriptor descriptor_;     ///< pipe, terminal or other device
  std::optional<OutputFile> file_;  ///< output to a regular file
};

}  // namespace tessera::files

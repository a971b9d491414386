// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/version.hpp>

#include <memory>
#include <string>
#include <string_view>

/// How results become files. None of it is collective: rank 0 calls it, within `together`.
namespace TESSERA_NAMESPACE::gam {

/// Text or bytes that are written once, from their beginning to their end: to a regular file, which `commit`
/// puts into place as a whole, so that an existing one is left unchanged until then; or, as they come, to
/// standard output, a pipe or a device. Without `commit` no file is left. All throw `Error(input)` with the
/// path and the system's reason, also for a pipe whose reader has gone, without SIGPIPE for the process.
class TESSERA_EXPORT Output {
 public:
  /// Standard output for "-" and the names that the system has for it. The opening of a named pipe waits for
  /// its reader.
  explicit Output(const std::string& path);
  ~Output();
  Output(const Output&) = delete;
  Output& operator=(const Output&) = delete;

  /// Unchanged.
  void write(std::string_view bytes);
  /// Returns one line if the file is in place, but may not survive a power failure; else an empty string.
  std::string commit();
  /// As messages name it.
  [[nodiscard]] const std::string& name() const;

 private:
  struct Stream;
  std::unique_ptr<Stream> stream_;
};

/// Throws `Error(input)` unless a regular file can be written at this path, before work whose result is to be
/// there. What is at the path is left as it is.
TESSERA_EXPORT void require_writable(const std::string& path);

}  // namespace TESSERA_NAMESPACE::gam

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/version.hpp>

#include <memory>
#include <string>
#include <string_view>

/// Output of results to files. Not collective: rank 0 calls it, within `together`.
namespace TESSERA_NAMESPACE::gam {

/// Text or bytes written sequentially: to a regular file, which `commit` puts in place as a whole, so that
/// an existing file is unchanged until then; or immediately to standard output, a pipe or a device. Without
/// `commit` no file is left. All members throw `Error(input)` with the path and the system's reason, also
/// for a pipe whose reader has gone, without SIGPIPE for the process.
class TESSERA_EXPORT Output {
 public:
  /// "-" and the system's names for it mean standard output. Opening a named pipe waits for its reader.
  explicit Output(const std::string& path);
  ~Output();
  Output(const Output&) = delete;
  Output& operator=(const Output&) = delete;

  /// Writes the bytes unchanged.
  void write(std::string_view bytes);
  /// Returns one line if the file is in place, but may not survive a power failure; else an empty string.
  std::string commit();
  /// The name in messages.
  [[nodiscard]] const std::string& name() const;

 private:
  struct Stream;
  std::unique_ptr<Stream> stream_;
};

/// Throws `Error(input)` unless a regular file can be written at this path; for use before the work that
/// computes its content. An existing file is unchanged.
TESSERA_EXPORT void require_writable(const std::string& path);

}  // namespace TESSERA_NAMESPACE::gam

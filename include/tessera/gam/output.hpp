// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/version.hpp>

#include <memory>
#include <string>
#include <string_view>

/// Output of results to files. Not collective: rank 0 calls it, within `together`.
namespace TESSERA_NAMESPACE::gam {

/// A sequential writer of text or bytes. A regular file is replaced as a whole by `commit`; without `commit`
/// an existing file stays unchanged, and no new file is left. Standard output, pipes and devices are written
/// immediately. All members throw `Error(input)` with the path and the system's reason. A pipe without a
/// reader is such an error too; the process gets no SIGPIPE.
class TESSERA_EXPORT Output {
 public:
  /// "-" and the system's names of standard output, such as /dev/stdout, mean standard output. Opening a
  /// named pipe waits for a reader.
  explicit Output(const std::string& path);
  ~Output();
  Output(const Output&) = delete;
  Output& operator=(const Output&) = delete;

  /// Writes the bytes unchanged.
  void write(std::string_view bytes);
  /// Puts a regular file into place. Returns an empty string, or one line if the file may not survive a power
  /// failure.
  std::string commit();
  /// The name in messages.
  [[nodiscard]] const std::string& name() const;

 private:
  struct Stream;
  std::unique_ptr<Stream> stream_;
};

/// Throws `Error(input)` unless a regular file can be written at this path. Call it before the computation of
/// the file's content. An existing file is unchanged.
TESSERA_EXPORT void require_writable(const std::string& path);

}  // namespace TESSERA_NAMESPACE::gam

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace tessera::fit {

/// A regular file that is open for reading, and its name for messages. What is no regular file is refused as
/// it is opened, and without waiting: the reader of a pipe that nobody writes to would wait for ever.
class InputFile {
 public:
  /// Throws `Error(input)` if the file cannot be opened, or is no regular file.
  explicit InputFile(std::string path);
  ~InputFile();
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;

  /// Fills `buffer` from byte `offset` on; less than its size only at the end of the file. Throws
  /// `Error(input)`.
  [[nodiscard]] std::size_t read_at(std::int64_t offset, std::span<char> buffer) const;

  [[nodiscard]] const std::string& path() const noexcept { return path_; }
  /// Throws `Error(input)`: the file cannot be read, for `reason`.
  [[noreturn]] void fail(const std::string& reason) const;

 private:
  std::string path_;
  int descriptor_;
};

}  // namespace tessera::fit

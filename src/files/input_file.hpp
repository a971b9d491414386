// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/descriptor.hpp"

#include <sys/stat.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace tessera::files {

/// Identifies an open file and its version: a write changes size or time.
struct FileState {
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  std::int64_t size = 0;
  std::int64_t written_ns = 0;  ///< time of the last write since the Unix epoch

  friend bool operator==(const FileState&, const FileState&) = default;
};

/// Empty if fstat() fails.
[[nodiscard]] std::optional<FileState> state_of(int descriptor);
[[nodiscard]] FileState state_of(const struct stat& status);

/// A regular file that is open for reading, and its name for messages. Opening refuses anything else, and
/// does not block, even on a pipe without a writer.
class InputFile {
 public:
  /// Throws `Error(input)` if the file cannot be opened, or is not a regular file.
  explicit InputFile(std::string path);

  /// Reads into `buffer` from byte `offset`. Returns the number of bytes read, less than the buffer's size
  /// only at the end of the file. Throws `Error(input)`.
  [[nodiscard]] std::size_t read_at(std::int64_t offset, std::span<char> buffer) const;

  /// The whole file; throws like `read_text`.
  [[nodiscard]] std::string text(std::int64_t max_bytes) const;

  /// State and size at the time of the call. Both throw `Error(input)`.
  [[nodiscard]] FileState state() const;
  [[nodiscard]] std::int64_t size() const;
  [[nodiscard]] const std::string& path() const noexcept { return path_; }
  /// Throws `Error(input)`: "PATH: cannot be read: REASON".
  [[noreturn]] void fail(const std::string& reason) const;

 private:
  std::string path_;
  base::Descriptor descriptor_;
};

/// The contents of a file. Throws `Error(input)` if the file cannot be read, is not a regular file, or has
/// more than `max_bytes`.
[[nodiscard]] std::string read_text(const std::string& path, std::int64_t max_bytes);

/// Bytes that this process can still allocate within the tightest of its memory limits; the largest number
/// if no limit is known.
[[nodiscard]] std::int64_t memory_left();

}  // namespace tessera::files

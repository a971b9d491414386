// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>

namespace tessera::files {
class InputFile;
}

namespace tessera::gam {

/// Called again and again while a file is read, after some MiB at most: what it throws ends the reading.
using BetweenReads = std::function<void()>;

/// The bytes of a file in order, read with a bounded buffer: a plain file, or a gzip stream unpacked.
class ByteSource {
 public:
  virtual ~ByteSource() = default;
  /// Fills the buffer from where it stands; less than its size only at the end. Throws `Error(input)`.
  [[nodiscard]] virtual std::size_t read(std::span<char> buffer) = 0;
  /// Goes to an offset of the unpacked bytes. Of a gzip stream everything before it is unpacked, from the
  /// beginning if the offset lies behind: cost O(offset).
  virtual void seek(std::int64_t offset) = 0;
  /// The same bytes for another thread, whose reads count in `bytes_read` of this source and are not
  /// announced by `between`; null where they can be had in their order alone, as those of a gzip stream. The
  /// source must stay.
  [[nodiscard]] virtual std::unique_ptr<ByteSource> for_another_thread() = 0;
  /// Bytes taken from the file so far, packed if it is packed.
  [[nodiscard]] virtual std::int64_t bytes_read() const = 0;
  /// The file that the bytes come from.
  [[nodiscard]] virtual const files::InputFile& file() const = 0;
};

/// Throws `Error(input)` if the file cannot be opened or is no regular file, and `read` if gzip data are
/// damaged or cut short, with the byte of the file: nothing of a file is left out.
[[nodiscard]] std::unique_ptr<ByteSource> open_plain(const std::string& path, BetweenReads between = {});
[[nodiscard]] std::unique_ptr<ByteSource> open_gzip(const std::string& path, BetweenReads between = {});

}  // namespace tessera::gam

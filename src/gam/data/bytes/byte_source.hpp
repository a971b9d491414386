// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/gam/table_options.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace tessera::files {
class InputFile;
}

namespace TESSERA_NAMESPACE::gam {

/// Called repeatedly while a file is read, at least every few MiB; an exception ends the reading.
using BetweenReads = std::function<void()>;

struct OpenOptions {
  BetweenReads between{};
  /// Receives messages for the log, one line per call, on the reading thread.
  std::function<void(std::string_view line)> tell{};
  /// Memory of a node for columns and decompressed text, in bytes for all its ranks; default: all free
  /// memory.
  std::optional<std::int64_t> node_bytes{};
  TableOptions table{};
};

/// Sequential reader of a file, for one thread.
class ByteReader {
 public:
  virtual ~ByteReader() = default;
  /// Fills the buffer from the current position; returns less than the buffer's size only at the end. Throws
  /// `Error(input)`.
  [[nodiscard]] virtual std::size_t read(std::span<char> buffer) = 0;
  /// Seeks to an offset in the decompressed bytes. Cost in a gzip stream: decompresses everything up to the
  /// offset, from the current position or, backwards, from the beginning.
  virtual void seek(std::int64_t offset) = 0;
};

/// The bytes of a file, decompressed if necessary, read sequentially through a bounded buffer.
class ByteSource : public ByteReader {
 public:
  /// A second reader of the same bytes, for another thread. Its reads count in `bytes_read` of this source
  /// and do not call `between`. Null if there is no random access, as in a gzip stream. This source must
  /// outlive the reader.
  [[nodiscard]] virtual std::unique_ptr<ByteReader> for_another_thread() = 0;
  /// Number of (compressed) bytes read from the file so far.
  [[nodiscard]] virtual std::int64_t bytes_read() const = 0;
  [[nodiscard]] virtual const files::InputFile& file() const = 0;
};

/// Throws `Error(input)` if the file cannot be opened or is not a regular file.
[[nodiscard]] std::unique_ptr<ByteSource> open_plain(const std::string& path, BetweenReads between = {});

}  // namespace TESSERA_NAMESPACE::gam

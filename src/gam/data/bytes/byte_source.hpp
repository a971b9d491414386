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

/// Callbacks and limits of the opening and reading of a table.
struct OpenOptions {
  BetweenReads between{};
  /// Receives messages for the log, a line each, on the reading thread.
  std::function<void(std::string_view line)> tell{};
  /// Memory of a node for columns and for the text of a packed table, over all its ranks; default: all free
  /// memory.
  std::optional<std::int64_t> node_bytes{};
  TableOptions table{};  ///< how a text file is divided into fields
};

/// A thread's position in the bytes of a file.
class ByteReader {
 public:
  virtual ~ByteReader() = default;
  /// Fills the buffer from the current position; returns less than its size only at the end. Throws
  /// `Error(input)`.
  [[nodiscard]] virtual std::size_t read(std::span<char> buffer) = 0;
  /// Moves to an offset in the unpacked bytes. A gzip stream is unpacked up to there, from its beginning or
  /// from the current position.
  virtual void seek(std::int64_t offset) = 0;
};

/// The bytes of a file in order, read with a bounded buffer: a plain file, or a packed one unpacked.
class ByteSource : public ByteReader {
 public:
  /// Another thread's position in the same bytes. Its reads count in `bytes_read` of this source, and do not
  /// call `between`. Null if the bytes can only be read in order, as those of a gzip stream. This source must
  /// outlive it.
  [[nodiscard]] virtual std::unique_ptr<ByteReader> for_another_thread() = 0;
  /// Bytes read from the file so far; packed bytes for a packed file.
  [[nodiscard]] virtual std::int64_t bytes_read() const = 0;
  /// The file that the bytes come from.
  [[nodiscard]] virtual const files::InputFile& file() const = 0;
};

/// Throws `Error(input)` if the file cannot be opened or is not a regular file.
[[nodiscard]] std::unique_ptr<ByteSource> open_plain(const std::string& path, BetweenReads between = {});

}  // namespace TESSERA_NAMESPACE::gam

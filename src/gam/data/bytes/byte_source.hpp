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

/// Callbacks and limits for opening and reading a table.
struct OpenOptions {
  BetweenReads between{};
  /// Receives messages for the log, one line per call, on the reading thread.
  std::function<void(std::string_view line)> tell{};
  /// Memory of a node for columns and for unpacked text, in bytes over all its ranks; default: all free
  /// memory.
  std::optional<std::int64_t> node_bytes{};
  TableOptions table{};  ///< how a text file is divided into fields
};

/// Sequential access to the bytes of a file for one thread.
class ByteReader {
 public:
  virtual ~ByteReader() = default;
  /// Fills the buffer from the current position; returns less than the buffer's size only at the end. Throws
  /// `Error(input)`.
  [[nodiscard]] virtual std::size_t read(std::span<char> buffer) = 0;
  /// Moves to an offset in the unpacked bytes. A gzip stream must be unpacked up to the offset, from its
  /// beginning or from the current position.
  virtual void seek(std::int64_t offset) = 0;
};

/// The bytes of a file, unpacked if the file is packed, read in order through a buffer of bounded size.
class ByteSource : public ByteReader {
 public:
  /// A second position in the same bytes, for another thread. Its reads are counted in `bytes_read` of this
  /// source, and do not call `between`. Null if the bytes can only be read in order, like those of a gzip
  /// stream. This source must outlive the result.
  [[nodiscard]] virtual std::unique_ptr<ByteReader> for_another_thread() = 0;
  /// Number of bytes read from the file so far; for a packed file, before unpacking.
  [[nodiscard]] virtual std::int64_t bytes_read() const = 0;
  /// The file with the bytes.
  [[nodiscard]] virtual const files::InputFile& file() const = 0;
};

/// Throws `Error(input)` if the file cannot be opened or is not a regular file.
[[nodiscard]] std::unique_ptr<ByteSource> open_plain(const std::string& path, BetweenReads between = {});

}  // namespace TESSERA_NAMESPACE::gam

// SPDX-License-Identifier: Apache-2.0
#pragma once

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

namespace tessera::gam {

/// Called again and again while a file is read, after some MiB at most: what it throws ends the reading.
using BetweenReads = std::function<void()>;

/// What the reading of a table asks, tells and takes beside the table.
struct OpenOptions {
  BetweenReads between{};
  /// Hears what a person should know while it goes on, a line for the log each, on the thread that reads.
  std::function<void(std::string_view line)> tell{};
  /// What the ranks of a node may take of its memory for columns and, of a packed table, for its text;
  /// nothing: what there is.
  std::optional<std::int64_t> node_bytes{};
};

/// The bytes of a file in order, read with a bounded buffer: a plain file, or a gzip stream unpacked.
class ByteSource {
 public:
  virtual ~ByteSource() = default;
  /// Fills the buffer from where it stands; less than its size only at the end. Throws `Error(input)`.
  [[nodiscard]] virtual std::size_t read(std::span<char> buffer) = 0;
  /// Goes to an offset of the unpacked bytes. Of a gzip file what lies before it is unpacked, from
  /// `begin_of_reading` on or from where the source stands.
  virtual void seek(std::int64_t offset) = 0;
  /// Where reading begins to get at an offset.
  [[nodiscard]] virtual std::int64_t begin_of_reading(std::int64_t offset) const { return offset; }
  /// The same bytes for another thread, whose reads count in `bytes_read` of this source and are not
  /// announced by `between`; null where they can be had in their order alone, as those of a gzip stream that
  /// was not read to its end yet. The source must stay.
  [[nodiscard]] virtual std::unique_ptr<ByteSource> for_another_thread() = 0;
  /// Bytes taken from the file so far, packed if it is packed.
  [[nodiscard]] virtual std::int64_t bytes_read() const = 0;
  /// The file that the bytes come from.
  [[nodiscard]] virtual const files::InputFile& file() const = 0;
};

/// The bytes of a packed file, which can be unpacked from some points on (see gzip_points.hpp).
class PackedSource : public ByteSource {
 public:
  /// How many bytes are unpacked; nothing if only the end of reading tells. Throws `Error(input)`.
  [[nodiscard]] virtual std::optional<std::int64_t> find_size() = 0;
  /// Unpacks all of the file into `room` of so many bytes: how many they are; nothing if they are more.
  /// Throws `Error(input)`, and what `between` throws: then a thread may still write to the room, which it
  /// owns too. What stands behind it is to be found by `seek`.
  [[nodiscard]] virtual std::optional<std::int64_t> unpack_all(const std::shared_ptr<char[]>& room,
                                                               std::size_t room_bytes) = 0;
  /// The points, once they are known, for other ranks that have the same file open.
  [[nodiscard]] virtual std::string points() const = 0;
  virtual void set_points(std::string_view points) = 0;
};

/// Throws `Error(input)` if the file cannot be opened or is no regular file.
[[nodiscard]] std::unique_ptr<ByteSource> open_plain(const std::string& path, BetweenReads between = {});

}  // namespace tessera::gam

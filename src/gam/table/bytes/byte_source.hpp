// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

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
  /// Goes to an offset of the unpacked bytes. Of a gzip stream what lies before it is unpacked, from its
  /// beginning or from where the source stands.
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

/// Where a member of a gzip file begins, or the last one ends.
struct GzipMember {
  std::int64_t packed = 0;    ///< the byte of the file
  std::int64_t unpacked = 0;  ///< the byte that is unpacked first
};

/// The bytes of a packed file.
class PackedSource : public ByteSource {
 public:
  /// Of a file of small members that tell their sizes, as bgzip writes them, where each of them begins and
  /// the last one ends: from there on other threads unpack it. None of any other file. Throws `Error(input)`.
  [[nodiscard]] virtual const std::vector<GzipMember>& find_members() = 0;
  /// What another rank has found, which has the same file open.
  virtual void set_members(std::vector<GzipMember> members) = 0;
  /// Unpacks all of the file into `room` of so many bytes: how many they are; nothing if they are more.
  /// Throws `Error(input)`, and what `between` throws: then a thread may still write to the room, which it
  /// owns too. What stands behind it is to be found by `seek`.
  [[nodiscard]] virtual std::optional<std::int64_t> unpack_all(const std::shared_ptr<char[]>& room,
                                                               std::size_t room_bytes) = 0;
};

/// Throws `Error(input)` if the file cannot be opened or is no regular file.
[[nodiscard]] std::unique_ptr<ByteSource> open_plain(const std::string& path, BetweenReads between = {});

}  // namespace tessera::gam

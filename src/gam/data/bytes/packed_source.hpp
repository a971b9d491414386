// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/data/bytes/byte_source.hpp"
#include "gam/data/bytes/decoder.hpp"
#include "gam/data/bytes/gzip_members.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "files/input_file.hpp"

namespace TESSERA_NAMESPACE::gam {

/// A compression format that this build can decompress.
struct Packing {
  std::string_view name;
  std::string_view mark;  ///< magic bytes at the beginning of a file
  std::unique_ptr<Decoder> (*decoder)();
};
inline constexpr Packing gzip_packing{"gzip", "\x1f\x8b", &make_gzip_decoder};

/// Null: the file does not begin like a compression format of this build.
[[nodiscard]] const Packing* packing_of(const files::InputFile& file);

class PackedStream {
 public:
  /// Starts at this file offset, where a stream or gzip member must begin. Adds the bytes read from the file
  /// to `bytes_read`. All arguments must outlive this object.
  PackedStream(const files::InputFile& file, const Packing& packing, std::atomic<std::int64_t>& bytes_read,
               std::int64_t begin = 0);

  /// Fills the buffer; returns less than its size only at the end. Throws `Error(input)`, with the file
  /// offset, for damaged or truncated data: no data are skipped.
  std::size_t read(std::span<char> buffer);
  void restart();
  /// Number of decompressed bytes so far.
  [[nodiscard]] std::int64_t position() const noexcept { return position_; }
  /// File offset up to which the bytes are decompressed.
  [[nodiscard]] std::int64_t packed_position() const noexcept {
    return packed_end_ - static_cast<std::int64_t>(filled_ - at_);
  }

 private:
  void refill();
  [[noreturn]] void refuse_damage(std::string_view reason) const;

  const files::InputFile& file_;
  const Packing& packing_;
  std::atomic<std::int64_t>& bytes_read_;
  std::unique_ptr<Decoder> decoder_;
  std::vector<char> packed_;
  std::size_t at_ = 0;
  std::size_t filled_ = 0;
  bool at_end_ = false;
  std::int64_t packed_end_;  ///< file offset of the end of `packed_`
  std::int64_t position_ = 0;
};

/// A compressed file. Files of bgzip are decompressed by several threads, other files sequentially. Logs a
/// file whose decompressed size exceeds 256 MiB and 100 times the compressed size, and again at each
/// quadrupling, because the file may be a decompression bomb.
class PackedSource final : public ByteSource {
 public:
  /// Throws `Error(input)` if the file cannot be opened or is not a regular file; `read` throws like
  /// `PackedStream::read`.
  PackedSource(const std::string& path, const Packing& packing, OpenOptions options = {});

  [[nodiscard]] std::size_t read(std::span<char> buffer) override;
  void seek(std::int64_t offset) override;
  [[nodiscard]] std::unique_ptr<ByteReader> for_another_thread() override;
  [[nodiscard]] std::int64_t bytes_read() const override { return bytes_read_; }
  [[nodiscard]] const files::InputFile& file() const override { return file_; }

  /// Upper bound of the decompressed size in bytes.
  [[nodiscard]] std::int64_t most_bytes() const;
  /// Finds the members of a gzip file (`members_of`), which permit `for_another_thread`. Throws
  /// `Error(input)`.
  [[nodiscard]] const std::vector<GzipMember>& find_members();
  /// Sets the members that another rank found in the same file.
  void set_members(std::vector<GzipMember> members) { members_ = std::move(members); }
  /// Decompresses the whole file into `room` of `room_bytes` bytes. Returns the decompressed size; nothing if
  /// `room` is too small. `seek` is required before the next `read`. Throws `Error(input)` and exceptions of
  /// `between`; another thread, which shares ownership of `room`, may then still write to it.
  [[nodiscard]] std::optional<std::int64_t> unpack_all(const std::shared_ptr<char[]>& room,
                                                       std::size_t room_bytes);

 private:
  [[nodiscard]] bool may_have_room(std::size_t room_bytes) const;
  std::optional<std::int64_t> unpack_at_once(const std::shared_ptr<char[]>& room, std::size_t room_bytes);
  std::optional<std::int64_t> unpack_in_order(std::span<char> room);
  void tell_growth(std::int64_t unpacked, std::int64_t packed);

  static constexpr std::int64_t least_to_tell = std::int64_t{256} << 20;
  files::InputFile file_;
  OpenOptions options_;
  bool is_gzip_;
  std::int64_t next_told_ = least_to_tell;
  std::vector<GzipMember> members_;
  std::atomic<std::int64_t> bytes_read_ = 0;
  PackedStream stream_;
};

}  // namespace TESSERA_NAMESPACE::gam

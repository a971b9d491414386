// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/data/bytes/byte_source.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "files/input_file.hpp"

namespace TESSERA_NAMESPACE::gam {

/// Offsets of the start of a gzip member, or of the end of the last member.
struct GzipMember {
  std::int64_t packed = 0;    ///< offset in the file
  std::int64_t unpacked = 0;  ///< offset in the decompressed bytes
};

/// The starts of all members and the end of the last one, if the headers contain sizes, as bgzip writes them;
/// otherwise empty. Cost: reads 26 bytes of each member.
[[nodiscard]] std::vector<GzipMember> members_of(const files::InputFile& file);

/// The decompressed size, modulo 2^32, in the last member's trailer: a lower bound for the whole file. 0 if
/// zero padding follows.
[[nodiscard]] std::size_t size_of_last_member(const files::InputFile& file);

/// Decompresses gzip data in memory, skipping zero padding at the end. Returns the number of bytes; nothing
/// if the data are damaged or `room` is too small.
[[nodiscard]] std::optional<std::size_t> unpack_gzip(std::span<const char> packed, std::span<char> room);

/// Reads a file with declared member sizes, one member at a time, with random access.
class GzipMembers final : public ByteReader {
 public:
  /// `members`: from `members_of`. Adds the bytes read from the file to `bytes_read`. All arguments must
  /// outlive this object.
  GzipMembers(const files::InputFile& file, const std::vector<GzipMember>& members,
              std::atomic<std::int64_t>& bytes_read)
      : file_(file), members_(members), bytes_read_(bytes_read) {}

  std::size_t read(std::span<char> buffer) override;
  void seek(std::int64_t offset) override;

 private:
  void load(std::size_t member);
  [[nodiscard]] bool inflate(std::int64_t begin, std::int64_t end);
  void refuse_damage(std::int64_t begin);

  const files::InputFile& file_;
  const std::vector<GzipMember>& members_;
  std::atomic<std::int64_t>& bytes_read_;
  std::vector<char> packed_;
  std::vector<char> text_;  ///< decompressed text of the current member
  std::size_t at_ = 0;
  std::size_t next_ = 0;
};

}  // namespace TESSERA_NAMESPACE::gam

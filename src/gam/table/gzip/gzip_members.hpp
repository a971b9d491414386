// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/table/bytes/byte_source.hpp"
#include "gam/table/bytes/inflater.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "files/input_file.hpp"

namespace tessera::gam {

/// Where the members of a file begin that tell their sizes, as bgzip writes them; none of another file. Cost:
/// 26 bytes are read of each member.
[[nodiscard]] std::vector<GzipMember> members_of(const files::InputFile& file);

/// What the last member of a file says that it unpacks to, modulo 2^32: the file unpacks to no less. 0 of a
/// file that zeros fill up.
[[nodiscard]] std::size_t size_of_last_member(const files::InputFile& file);

/// What gzip data in memory unpack to, all members of them, and zeros behind the last: how many bytes;
/// nothing if they are damaged or there is no room.
[[nodiscard]] std::optional<std::size_t> unpack_gzip(std::span<const char> packed, std::span<char> room);

/// Unpacks a file of members that tell their sizes, each of them whole.
class GzipMembers {
 public:
  /// `members`, from `members_of`. What is read of the file counts in `bytes_read`. All of it must stay.
  GzipMembers(const files::InputFile& file, const std::vector<GzipMember>& members,
              std::atomic<std::int64_t>& bytes_read)
      : file_(file), members_(members), bytes_read_(bytes_read) {}

  /// Fills the buffer; less than its size only at the end. Throws `Error(input)`.
  std::size_t read(std::span<char> buffer);
  void seek(std::int64_t offset);

 private:
  void load(std::size_t member);
  [[nodiscard]] bool inflate(std::int64_t begin, std::int64_t end);
  void refuse_damage(std::int64_t begin);

  const files::InputFile& file_;
  const std::vector<GzipMember>& members_;
  std::atomic<std::int64_t>& bytes_read_;
  Inflater inflater_;
  std::vector<char> packed_;
  std::vector<char> text_;  ///< of the member at hand
  std::size_t at_ = 0;      ///< in it
  std::size_t next_ = 0;    ///< the member behind it
};

}  // namespace tessera::gam

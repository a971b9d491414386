// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/table/bytes/inflater.hpp"
#include "gam/table/gzip/gzip_points.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "files/input_file.hpp"

namespace tessera::gam {

/// What gzip data in memory unpack to, all members of them, and zeros behind the last: how many bytes;
/// nothing if they are damaged or there is no room.
[[nodiscard]] std::optional<std::size_t> unpack_gzip(std::span<const char> packed, std::span<char> room);

/// Unpacks a file of members that tell their sizes, each of them whole.
class GzipMembers {
 public:
  /// `points` are by members. What is read of the file counts in `bytes_read`. All of it must stay.
  GzipMembers(const files::InputFile& file, const GzipPoints& points, std::atomic<std::int64_t>& bytes_read)
      : file_(file), points_(points), bytes_read_(bytes_read) {}

  /// Fills the buffer; less than its size only at the end. Throws `Error(input)`.
  std::size_t read(std::span<char> buffer);
  void seek(std::int64_t offset);

 private:
  void load(std::size_t member);
  [[nodiscard]] bool inflate(std::int64_t begin, std::int64_t end);
  void refuse_damage(std::int64_t offset);

  const files::InputFile& file_;
  const GzipPoints& points_;
  std::atomic<std::int64_t>& bytes_read_;
  Inflater inflater_;
  std::vector<char> packed_;
  std::vector<char> text_;  ///< of the member at hand
  std::size_t at_ = 0;      ///< in it
  std::size_t next_ = 0;    ///< the member behind it
};

}  // namespace tessera::gam

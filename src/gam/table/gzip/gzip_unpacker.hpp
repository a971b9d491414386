// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zlib.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "files/input_file.hpp"

namespace tessera::gam {

/// The members of a gzip file, one after another (RFC 1952, 2.2), from any of them on.
///
/// Every byte of the file must belong to a member or be a zero behind the last one, with which tapes and
/// block devices fill up. gzip itself ignores whatever does not begin as a member does, and so takes a member
/// whose first bytes are damaged, and all after it, for the end of the file.
class GzipUnpacker {
 public:
  /// From the member on that begins at a byte of the file. What is read of the file counts in `bytes_read`.
  /// All of it must stay.
  GzipUnpacker(const files::InputFile& file, std::atomic<std::int64_t>& bytes_read, std::int64_t begin = 0);
  ~GzipUnpacker() { inflateEnd(&stream_); }
  GzipUnpacker(const GzipUnpacker&) = delete;
  GzipUnpacker& operator=(const GzipUnpacker&) = delete;

  /// Fills the buffer; less than its size only at the end. Throws `Error(input)`.
  std::size_t read(std::span<char> buffer);
  /// Goes back to the first byte of the file.
  void restart();

  [[nodiscard]] std::int64_t position() const noexcept { return position_; }
  /// In the file: of the next byte that zlib is to see.
  [[nodiscard]] std::int64_t packed_position() const noexcept { return packed_end_ - stream_.avail_in; }

 private:
  bool begin_member();
  std::size_t unpack(std::span<char> buffer);
  bool refill();
  [[noreturn]] void damaged(const std::string& reason) const;

  const files::InputFile& file_;
  std::atomic<std::int64_t>& bytes_read_;
  z_stream stream_{};
  std::vector<char> packed_;
  std::int64_t packed_end_ = 0;  ///< of the bytes in `packed_`, in the file
  std::int64_t position_ = 0;    ///< in the unpacked bytes
  bool in_member_ = false;
};

}  // namespace tessera::gam

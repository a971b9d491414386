// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/table/gzip/gzip_points.hpp"

#include <zlib.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "files/input_file.hpp"

namespace tessera::gam {

/// The members of a gzip file, one after another (RFC 1952, 2.2), from any point of it.
///
/// Every byte of the file must belong to a member or be a zero behind the last one, with which tapes and
/// block devices fill up. gzip itself ignores whatever does not begin as a member does, and so takes a member
/// whose first bytes are damaged, and all after it, for the end of the file.
class GzipUnpacker {
 public:
  /// What is read of the file counts in `bytes_read`. All of it must stay.
  GzipUnpacker(const files::InputFile& file, const GzipPoints& points, std::atomic<std::int64_t>& bytes_read);
  ~GzipUnpacker() { inflateEnd(&stream_); }
  GzipUnpacker(const GzipUnpacker&) = delete;
  GzipUnpacker& operator=(const GzipUnpacker&) = delete;

  /// Fills the buffer; less than its size only at the end. `at_block_end` is called wherever unpacking can go
  /// on later; without one nothing stops there. Throws `Error(input)`.
  std::size_t read(std::span<char> buffer, const std::function<void()>& at_block_end = {});
  void seek(std::int64_t offset);

  [[nodiscard]] std::int64_t position() const noexcept { return position_; }
  /// In the file: of the next byte that zlib is to see.
  [[nodiscard]] std::int64_t packed_position() const noexcept { return packed_end_ - stream_.avail_in; }
  /// Where it stands, at the end of a block.
  [[nodiscard]] GzipPoint here();

 private:
  void go_to(const GzipPoint& point);
  bool begin_member();
  void end_member();
  std::size_t unpack(std::span<char> buffer, int flush);
  bool refill();
  [[noreturn]] void damaged(const std::string& reason) const;

  const files::InputFile& file_;
  const GzipPoints& points_;
  std::atomic<std::int64_t>& bytes_read_;
  z_stream stream_{};
  std::vector<char> packed_;
  std::int64_t packed_end_ = 0;  ///< of the bytes in `packed_`, in the file
  std::int64_t position_ = 0;    ///< in the unpacked bytes
  bool in_member_ = false;
  bool data_alone_ = false;  ///< the member at hand was begun in its midst
};

}  // namespace tessera::gam

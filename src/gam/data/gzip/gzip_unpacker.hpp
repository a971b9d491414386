// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/data/bytes/streamed_source.hpp"

#include <zlib.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "files/input_file.hpp"

#include <tessera/version.hpp>

namespace TESSERA_NAMESPACE::gam {

/// The members of a gzip file, one after another (RFC 1952, 2.2), starting at any member.
///
/// Every byte of the file must belong to a member or be zero padding at the end, as written by tapes and
/// block devices. gzip itself ignores anything that does not begin like a member, and so ends without an
/// error at a member whose first bytes are damaged.
class GzipUnpacker final : public Unpacker {
 public:
  /// Starts at the member at this offset of the file. Bytes read are added to `bytes_read`. All arguments
  /// must outlive this object.
  GzipUnpacker(const files::InputFile& file, std::atomic<std::int64_t>& bytes_read, std::int64_t begin = 0);
  ~GzipUnpacker() override { inflateEnd(&stream_); }
  GzipUnpacker(const GzipUnpacker&) = delete;
  GzipUnpacker& operator=(const GzipUnpacker&) = delete;

  std::size_t read(std::span<char> buffer) override;
  void restart() override;
  [[nodiscard]] std::int64_t position() const noexcept override { return position_; }
  /// The offset in the file of the next byte for zlib.
  [[nodiscard]] std::int64_t packed_position() const noexcept override {
    return packed_end_ - stream_.avail_in;
  }

 private:
  bool begin_member();
  std::size_t unpack(std::span<char> buffer);
  bool refill();
  [[noreturn]] void damaged(const std::string& reason) const;

  const files::InputFile& file_;
  std::atomic<std::int64_t>& bytes_read_;
  z_stream stream_{};
  std::vector<char> packed_;
  std::int64_t packed_end_ = 0;  ///< end, in the file, of the bytes in `packed_`
  std::int64_t position_ = 0;    ///< in the unpacked bytes
  bool in_member_ = false;
};

}  // namespace TESSERA_NAMESPACE::gam

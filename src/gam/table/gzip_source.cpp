// SPDX-License-Identifier: Apache-2.0
#include "gam/table/byte_source.hpp"

#include <tessera/error.hpp>

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <limits>
#include <new>
#include <utility>
#include <vector>

#include "files/input_file.hpp"

namespace tessera::gam {
namespace {

constexpr std::size_t packed_buffer_bytes = std::size_t{1} << 18;
constexpr std::size_t passed_buffer_bytes = std::size_t{1} << 20;
/// zlib's window of 32 KiB, and gzip's header and checksum around the data.
constexpr int window_bits = 15 + 16;

/// The members of a gzip file, one after another (RFC 1952, 2.2).
///
/// Every byte of the file must belong to a member or be a zero behind the last one, with which tapes and
/// block devices fill up. gzip itself ignores whatever does not begin as a member does, and so takes a member
/// whose first bytes are damaged, and all after it, for the end of the file.
class GzipSource final : public ByteSource {
 public:
  GzipSource(const std::string& path, BetweenReads between) : file_(path), between_(std::move(between)) {
    if (inflateInit2(&stream_, window_bits) != Z_OK) throw std::bad_alloc();
  }
  ~GzipSource() override { inflateEnd(&stream_); }
  GzipSource(const GzipSource&) = delete;
  GzipSource& operator=(const GzipSource&) = delete;

  std::size_t read(std::span<char> buffer) override {
    if (between_) between_();
    std::size_t got = 0;
    while (got < buffer.size() && (in_member_ || begin_member())) got += unpack(buffer.subspan(got));
    position_ += static_cast<std::int64_t>(got);
    return got;
  }

  void seek(std::int64_t offset) override {
    if (offset < position_) rewind();
    // What is passed over is unpacked all the same.
    std::vector<char> passed(passed_buffer_bytes);
    while (position_ < offset) {
      const auto left = static_cast<std::size_t>(offset - position_);
      if (read(std::span(passed).first(std::min(passed.size(), left))) == 0) return;
    }
  }
  [[nodiscard]] std::unique_ptr<ByteSource> for_another_thread() override { return nullptr; }
  [[nodiscard]] std::int64_t bytes_read() const override { return bytes_read_; }
  [[nodiscard]] const files::InputFile& file() const override { return file_; }

 private:
  /// Goes to the first byte of the next member; false if there is none.
  bool begin_member() {
    std::int64_t zeros = 0;
    while (stream_.avail_in > 0 || refill()) {
      if (*stream_.next_in != 0 || packed_position() == 0) {
        if (zeros > 0) damaged(fmt::format("data behind {} zero bytes", zeros));
        inflateReset(&stream_);
        in_member_ = true;
        return true;
      }
      ++stream_.next_in;
      --stream_.avail_in;
      ++zeros;
    }
    return false;
  }

  /// Unpacks of the member at hand what there is room for, or some of it. zlib may hold output, or a fault,
  /// when it has taken the last byte of the file.
  std::size_t unpack(std::span<char> buffer) {
    const auto room =
        static_cast<uInt>(std::min<std::size_t>(buffer.size(), std::numeric_limits<uInt>::max()));
    stream_.next_out = reinterpret_cast<Bytef*>(buffer.data());
    stream_.avail_out = room;
    const int status = inflate(&stream_, Z_NO_FLUSH);
    if (status == Z_MEM_ERROR) throw std::bad_alloc();
    if (status == Z_STREAM_END)
      in_member_ = false;
    else if (status != Z_OK && status != Z_BUF_ERROR)
      damaged(stream_.msg != nullptr ? stream_.msg : "not as gzip writes it");
    const std::size_t unpacked = room - stream_.avail_out;
    if (unpacked == 0 && in_member_ && stream_.avail_in == 0 && !refill())
      damaged("the file ends within compressed data");
    return unpacked;
  }

  bool refill() {
    const std::size_t got = file_.read_at(packed_end_, packed_);
    packed_end_ += static_cast<std::int64_t>(got);
    bytes_read_ += static_cast<std::int64_t>(got);
    stream_.next_in = reinterpret_cast<Bytef*>(packed_.data());
    stream_.avail_in = static_cast<uInt>(got);
    return got > 0;
  }
  void rewind() {
    packed_end_ = 0;
    position_ = 0;
    stream_.avail_in = 0;
    in_member_ = false;
  }
  /// Of the next byte that zlib is to see.
  [[nodiscard]] std::int64_t packed_position() const { return packed_end_ - stream_.avail_in; }

  [[noreturn]] void damaged(const std::string& reason) const {
    file_.fail(fmt::format("damaged gzip data at byte {} ({})", packed_position(), reason));
  }

  files::InputFile file_;
  BetweenReads between_;
  z_stream stream_{};
  std::vector<char> packed_ = std::vector<char>(packed_buffer_bytes);
  std::int64_t packed_end_ = 0;  ///< of the bytes in `packed_`, in the file
  std::int64_t position_ = 0;    ///< in the unpacked bytes
  std::int64_t bytes_read_ = 0;
  bool in_member_ = false;
};

}  // namespace

std::unique_ptr<ByteSource> open_gzip(const std::string& path, BetweenReads between) {
  return std::make_unique<GzipSource>(path, std::move(between));
}

}  // namespace tessera::gam

// SPDX-License-Identifier: Apache-2.0
#include "gam/table/gzip/gzip_unpacker.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <new>
#include <utility>

namespace tessera::gam {
namespace {

constexpr std::size_t packed_buffer_bytes = std::size_t{1} << 18;
constexpr std::size_t passed_buffer_bytes = std::size_t{1} << 18;
constexpr std::size_t max_window_bytes = std::size_t{1} << 15;
/// Of a member with gzip's header and checksum around the data, and of the data alone.
constexpr int member_window = 15 + 16;
constexpr int data_window = -15;
constexpr std::int64_t trailer_bytes = 8;

}  // namespace

GzipUnpacker::GzipUnpacker(const files::InputFile& file, const GzipPoints& points,
                           std::atomic<std::int64_t>& bytes_read)
    : file_(file), points_(points), bytes_read_(bytes_read), packed_(packed_buffer_bytes) {
  if (inflateInit2(&stream_, member_window) != Z_OK) throw std::bad_alloc();
}

std::size_t GzipUnpacker::read(std::span<char> buffer, const std::function<void()>& at_block_end) {
  std::size_t got = 0;
  while (got < buffer.size() && (in_member_ || begin_member())) {
    got += unpack(buffer.subspan(got), at_block_end ? Z_BLOCK : Z_NO_FLUSH);
    // zlib: at the end of a block that is not the last.
    if (at_block_end && in_member_ && (stream_.data_type & 0xC0) == 0x80) at_block_end();
  }
  return got;
}

void GzipUnpacker::seek(std::int64_t offset) {
  const std::size_t point = points_.before(offset);
  if (offset < position_ || points_.all[point].unpacked > position_) go_to(points_.all[point]);
  // What is passed over is unpacked all the same.
  std::vector<char> passed(std::min(passed_buffer_bytes, static_cast<std::size_t>(offset - position_)));
  while (position_ < offset) {
    const auto left = static_cast<std::size_t>(offset - position_);
    if (read(std::span(passed).first(std::min(passed.size(), left))) == 0) return;
  }
}

GzipPoint GzipUnpacker::here() {
  GzipPoint point{.packed = packed_position(),
                  .unpacked = position_,
                  .bits = stream_.data_type & 7,
                  .in_member = true,
                  .window = std::string(max_window_bytes, '\0')};
  uInt size = 0;
  inflateGetDictionary(&stream_, reinterpret_cast<Bytef*>(point.window.data()), &size);
  point.window.resize(size);
  return point;
}

void GzipUnpacker::go_to(const GzipPoint& point) {
  packed_end_ = point.packed;
  position_ = point.unpacked;
  stream_.avail_in = 0;
  in_member_ = point.in_member;
  data_alone_ = point.in_member;
  if (!in_member_) return;
  inflateReset2(&stream_, data_window);
  if (point.bits > 0) {
    std::array<char, 1> byte{};
    if (file_.read_at(point.packed - 1, byte) == 0) damaged("the file ends within compressed data");
    inflatePrime(&stream_, point.bits, static_cast<unsigned char>(byte[0]) >> (8 - point.bits));
  }
  inflateSetDictionary(&stream_, reinterpret_cast<const Bytef*>(point.window.data()),
                       static_cast<uInt>(point.window.size()));
}

// Goes to the first byte of the next member; false if there is none.
bool GzipUnpacker::begin_member() {
  std::int64_t zeros = 0;
  while (stream_.avail_in > 0 || refill()) {
    if (*stream_.next_in != 0 || packed_position() == 0) {
      if (zeros > 0) damaged(fmt::format("data behind {} zero bytes", zeros));
      inflateReset2(&stream_, member_window);
      in_member_ = true;
      return true;
    }
    ++stream_.next_in;
    --stream_.avail_in;
    ++zeros;
  }
  return false;
}

void GzipUnpacker::end_member() {
  in_member_ = false;
  // What began in its midst was checked when the whole file was unpacked.
  for (std::int64_t left = std::exchange(data_alone_, false) ? trailer_bytes : 0; left > 0;) {
    if (stream_.avail_in == 0 && !refill()) damaged("the file ends within compressed data");
    const auto taken = static_cast<uInt>(std::min<std::int64_t>(left, stream_.avail_in));
    stream_.next_in += taken;
    stream_.avail_in -= taken;
    left -= taken;
  }
  if (points_.by_members && !points_.has_member(packed_position()))
    damaged("a block does not end where it says");
}

// Unpacks of the member at hand what there is room for, or some of it. zlib may hold output, or a fault,
// when it has taken the last byte of the file.
std::size_t GzipUnpacker::unpack(std::span<char> buffer, int flush) {
  const auto room = static_cast<uInt>(std::min<std::size_t>(buffer.size(), std::numeric_limits<uInt>::max()));
  stream_.next_out = reinterpret_cast<Bytef*>(buffer.data());
  stream_.avail_out = room;
  const uInt packed = stream_.avail_in;
  const int status = inflate(&stream_, flush);
  const std::size_t unpacked = room - stream_.avail_out;
  position_ += static_cast<std::int64_t>(unpacked);
  if (status == Z_MEM_ERROR) throw std::bad_alloc();
  if (status == Z_STREAM_END)
    end_member();
  else if (status != Z_OK && status != Z_BUF_ERROR)
    damaged(stream_.msg != nullptr ? stream_.msg : "not as gzip writes it");
  else if (unpacked == 0 && packed == 0 && !refill())
    damaged("the file ends within compressed data");
  return unpacked;
}

bool GzipUnpacker::refill() {
  const std::size_t got = file_.read_at(packed_end_, packed_);
  packed_end_ += static_cast<std::int64_t>(got);
  bytes_read_ += static_cast<std::int64_t>(got);
  stream_.next_in = reinterpret_cast<Bytef*>(packed_.data());
  stream_.avail_in = static_cast<uInt>(got);
  return got > 0;
}

void GzipUnpacker::damaged(const std::string& reason) const {
  file_.fail(fmt::format("damaged gzip data at byte {} ({})", packed_position(), reason));
}

}  // namespace tessera::gam

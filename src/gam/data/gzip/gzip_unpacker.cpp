// SPDX-License-Identifier: Apache-2.0
#include "gam/data/gzip/gzip_unpacker.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <new>

namespace TESSERA_NAMESPACE::gam {
namespace {

constexpr std::size_t packed_buffer_bytes = std::size_t{1} << 18;
constexpr int member_window = 15 + 16;  ///< zlib's window bits for gzip framing

}  // namespace

GzipUnpacker::GzipUnpacker(const files::InputFile& file, std::atomic<std::int64_t>& bytes_read,
                           std::int64_t begin)
    : file_(file), bytes_read_(bytes_read), packed_(packed_buffer_bytes), packed_end_(begin) {
  if (inflateInit2(&stream_, member_window) != Z_OK) throw std::bad_alloc();
}

std::size_t GzipUnpacker::read(std::span<char> buffer) {
  std::size_t got = 0;
  while (got < buffer.size() && (in_member_ || begin_member())) got += unpack(buffer.subspan(got));
  return got;
}

void GzipUnpacker::restart() {
  packed_end_ = 0;
  position_ = 0;
  stream_.avail_in = 0;
  in_member_ = false;
}

// Moves to the first byte of the next member; false if there is none.
bool GzipUnpacker::begin_member() {
  std::int64_t zeros = 0;
  while (stream_.avail_in > 0 || refill()) {
    if (*stream_.next_in != 0 || packed_position() == 0) {
      if (zeros > 0) damaged(fmt::format("there are data behind {} zero bytes", zeros));
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

// Unpacks bytes of the current member, as many as fit or fewer. zlib may still hold output, or an error, when
// it has read the last byte of the file.
std::size_t GzipUnpacker::unpack(std::span<char> buffer) {
  const auto room = static_cast<uInt>(std::min<std::size_t>(buffer.size(), std::numeric_limits<uInt>::max()));
  stream_.next_out = reinterpret_cast<Bytef*>(buffer.data());
  stream_.avail_out = room;
  const uInt packed = stream_.avail_in;
  const int status = inflate(&stream_, Z_NO_FLUSH);
  const std::size_t unpacked = room - stream_.avail_out;
  position_ += static_cast<std::int64_t>(unpacked);
  if (status == Z_MEM_ERROR) throw std::bad_alloc();
  if (status == Z_STREAM_END)
    in_member_ = false;
  else if (status != Z_OK && status != Z_BUF_ERROR)
    damaged(stream_.msg != nullptr ? stream_.msg : "it is not as gzip writes it");
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
  file_.fail(fmt::format("it has damaged gzip data at byte {} ({})", packed_position(), reason));
}

}  // namespace TESSERA_NAMESPACE::gam

// SPDX-License-Identifier: Apache-2.0
// Implements inflater.hpp by zlib, for a build without libdeflate.
#include "gam/data/bytes/inflater.hpp"

#include <zlib.h>

#include <algorithm>
#include <limits>
#include <new>

namespace TESSERA_NAMESPACE::gam {
namespace {

constexpr int zlib_window = 15;
constexpr int gzip_window = zlib_window + 16;

struct InflateStream {
  InflateStream() {
    if (inflateInit2(&stream, gzip_window) != Z_OK) throw std::bad_alloc();
  }
  ~InflateStream() { inflateEnd(&stream); }
  z_stream stream{};
};

// Calls zlib in steps, because zlib counts bytes in 32 bits. zlib rejects null buffers even if they are
// empty.
std::optional<InflatedAmounts> inflate_by_zlib(int window, std::span<const char> packed,
                                               std::span<char> room) {
  const auto part_of = [](std::size_t left) {
    return static_cast<uInt>(std::min<std::size_t>(left, std::numeric_limits<uInt>::max()));
  };
  thread_local InflateStream own;
  z_stream& stream = own.stream;
  inflateReset2(&stream, window);
  stream.avail_in = stream.avail_out = 0;
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(packed.data()));
  Bytef nowhere = 0;
  stream.next_out = room.empty() ? &nowhere : reinterpret_cast<Bytef*>(room.data());
  std::size_t packed_left = packed.size();
  std::size_t room_left = room.size();
  for (int status = Z_OK; status != Z_STREAM_END;) {
    const uInt in = stream.avail_in = part_of(packed_left);
    const uInt out = stream.avail_out = part_of(room_left);
    status = inflate(&stream, Z_NO_FLUSH);
    packed_left -= in - stream.avail_in;
    room_left -= out - stream.avail_out;
    if (status == Z_MEM_ERROR) throw std::bad_alloc();
    if (status != Z_OK && status != Z_STREAM_END) return std::nullopt;
  }
  return InflatedAmounts{packed.size() - packed_left, room.size() - room_left};
}

}  // namespace

std::optional<InflatedAmounts> inflate_gzip_member(std::span<const char> packed, std::span<char> room) {
  return inflate_by_zlib(gzip_window, packed, room);
}

std::optional<std::size_t> inflate_zlib(std::span<const char> packed, std::span<char> room) {
  const auto amounts = inflate_by_zlib(zlib_window, packed, room);
  return amounts ? std::optional(amounts->unpacked) : std::nullopt;
}

}  // namespace TESSERA_NAMESPACE::gam

// SPDX-License-Identifier: Apache-2.0
#include "gam/data/bytes/decoder.hpp"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <limits>
#include <new>
#include <string>

namespace TESSERA_NAMESPACE::gam {
namespace {

constexpr int member_window = 15 + 16;  ///< zlib's window bits for gzip framing

uInt size_for_zlib(std::size_t bytes) {
  return static_cast<uInt>(std::min<std::size_t>(bytes, std::numeric_limits<uInt>::max()));
}

class GzipDecoder final : public Decoder {
 public:
  GzipDecoder() {
    if (inflateInit2(&stream_, member_window) != Z_OK) throw std::bad_alloc();
  }
  ~GzipDecoder() override { inflateEnd(&stream_); }
  GzipDecoder(const GzipDecoder&) = delete;
  GzipDecoder& operator=(const GzipDecoder&) = delete;

  Step unpack(std::span<const char> packed, std::span<char> room, bool /*last*/) override {
    if (!in_member_ && !is_first_) {
      const auto next = std::ranges::find_if(packed, [](char byte) { return byte != 0; });
      const auto zeros = static_cast<std::size_t>(next - packed.begin());
      zeros_ += zeros;
      if (zeros > 0) return {.packed = zeros, .complete = true};
    }
    if (!in_member_) {
      if (packed.empty()) return {.complete = true};
      if (zeros_ > 0) {
        fault_ = fmt::format("further data follow {} zero bytes", zeros_);
        return {.fault = fault_};
      }
      inflateReset2(&stream_, member_window);
      is_first_ = false;
    }
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(packed.data()));
    stream_.avail_in = size_for_zlib(packed.size());
    stream_.next_out = reinterpret_cast<Bytef*>(room.data());
    stream_.avail_out = size_for_zlib(room.size());
    const uInt all_in = stream_.avail_in;
    const uInt all_out = stream_.avail_out;
    const int status = inflate(&stream_, Z_NO_FLUSH);
    if (status == Z_MEM_ERROR) throw std::bad_alloc();
    in_member_ = status != Z_STREAM_END;
    return {.packed = all_in - stream_.avail_in,
            .unpacked = all_out - stream_.avail_out,
            .complete = !in_member_,
            .fault = status == Z_OK || status == Z_STREAM_END || status == Z_BUF_ERROR ? ""
                     : stream_.msg != nullptr                                          ? stream_.msg
                                              : "it is not in the format of gzip"};
  }
  void restart() override {
    in_member_ = false;
    is_first_ = true;
    zeros_ = 0;
  }

 private:
  z_stream stream_{};
  bool in_member_ = false;
  bool is_first_ = true;  ///< no member has begun: zeros are not yet padding
  std::size_t zeros_ = 0;
  std::string fault_;
};

}  // namespace

std::unique_ptr<Decoder> make_gzip_decoder() {
  return std::make_unique<GzipDecoder>();
}

}  // namespace TESSERA_NAMESPACE::gam

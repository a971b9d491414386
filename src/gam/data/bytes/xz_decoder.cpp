// SPDX-License-Identifier: Apache-2.0
#include "gam/data/bytes/decoder.hpp"

#include <lzma.h>

#include <cstdint>
#include <new>

namespace TESSERA_NAMESPACE::gam {
namespace {

/// Limit of the memory that a file may request: xz -9 needs 65 MiB.
constexpr std::uint64_t most_memory = std::uint64_t{1} << 30;

class XzDecoder final : public Decoder {
 public:
  XzDecoder() { begin(); }
  ~XzDecoder() override { lzma_end(&stream_); }
  XzDecoder(const XzDecoder&) = delete;
  XzDecoder& operator=(const XzDecoder&) = delete;

  Step unpack(std::span<const char> packed, std::span<char> room, bool last) override {
    if (complete_) return {.complete = true};
    stream_.next_in = reinterpret_cast<const std::uint8_t*>(packed.data());
    stream_.avail_in = packed.size();
    stream_.next_out = reinterpret_cast<std::uint8_t*>(room.data());
    stream_.avail_out = room.size();
    const lzma_ret status = lzma_code(&stream_, last ? LZMA_FINISH : LZMA_RUN);
    if (status == LZMA_MEM_ERROR) throw std::bad_alloc();
    complete_ = status == LZMA_STREAM_END;
    return {.packed = packed.size() - stream_.avail_in,
            .unpacked = room.size() - stream_.avail_out,
            .complete = complete_,
            .fault = fault_of(status)};
  }
  void restart() override { begin(); }

 private:
  void begin() {
    complete_ = false;
    if (lzma_stream_decoder(&stream_, most_memory, LZMA_CONCATENATED) != LZMA_OK) throw std::bad_alloc();
  }

  static std::string_view fault_of(lzma_ret status) {
    switch (status) {
      case LZMA_OK:
      case LZMA_STREAM_END:
      case LZMA_BUF_ERROR: return {};
      case LZMA_MEMLIMIT_ERROR: return "it needs more than 1 GiB of memory";
      case LZMA_FORMAT_ERROR: return "it is not in the format of xz";
      case LZMA_OPTIONS_ERROR: return "it uses options that liblzma does not support";
      default: return "its checksum or content is wrong";
    }
  }

  lzma_stream stream_ = LZMA_STREAM_INIT;
  bool complete_ = false;
};

}  // namespace

std::unique_ptr<Decoder> make_xz_decoder() {
  return std::make_unique<XzDecoder>();
}

}  // namespace TESSERA_NAMESPACE::gam

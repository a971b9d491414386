// SPDX-License-Identifier: Apache-2.0
#include "gam/data/bytes/decoder.hpp"

#include <zstd.h>

#include <new>

namespace TESSERA_NAMESPACE::gam {
namespace {

class ZstdDecoder final : public Decoder {
 public:
  ZstdDecoder() : stream_(ZSTD_createDStream(), &ZSTD_freeDStream) {
    if (stream_ == nullptr) throw std::bad_alloc();
  }

  Step unpack(std::span<const char> packed, std::span<char> room, bool /*last*/) override {
    ZSTD_inBuffer in{packed.data(), packed.size(), 0};
    ZSTD_outBuffer out{room.data(), room.size(), 0};
    // Without input at the end of a frame, a call would begin the next frame.
    if (!packed.empty() || !complete_) {
      const std::size_t wanted = ZSTD_decompressStream(stream_.get(), &out, &in);
      if (ZSTD_isError(wanted) != 0) return {.fault = ZSTD_getErrorName(wanted)};
      complete_ = wanted == 0;
    }
    return {.packed = in.pos, .unpacked = out.pos, .complete = complete_};
  }
  void restart() override {
    ZSTD_DCtx_reset(stream_.get(), ZSTD_reset_session_only);
    complete_ = false;
  }

 private:
  std::unique_ptr<ZSTD_DStream, std::size_t (*)(ZSTD_DStream*)> stream_;
  bool complete_ = false;
};

}  // namespace

std::unique_ptr<Decoder> make_zstd_decoder() {
  return std::make_unique<ZstdDecoder>();
}

}  // namespace TESSERA_NAMESPACE::gam

// SPDX-License-Identifier: Apache-2.0
#include "gam/data/bytes/decoder.hpp"

#include <bzlib.h>

#include <algorithm>
#include <limits>
#include <new>

namespace TESSERA_NAMESPACE::gam {
namespace {

unsigned size_for_bzlib(std::size_t bytes) {
  return static_cast<unsigned>(std::min<std::size_t>(bytes, std::numeric_limits<unsigned>::max()));
}

class Bzip2Decoder final : public Decoder {
 public:
  Bzip2Decoder() { begin(); }
  ~Bzip2Decoder() override { BZ2_bzDecompressEnd(&stream_); }
  Bzip2Decoder(const Bzip2Decoder&) = delete;
  Bzip2Decoder& operator=(const Bzip2Decoder&) = delete;

  Step unpack(std::span<const char> packed, std::span<char> room, bool /*last*/) override {
    if (complete_) {
      if (packed.empty()) return {.complete = true};
      restart();
    }
    stream_.next_in = const_cast<char*>(packed.data());
    stream_.avail_in = size_for_bzlib(packed.size());
    stream_.next_out = room.data();
    stream_.avail_out = size_for_bzlib(room.size());
    const unsigned all_in = stream_.avail_in;
    const unsigned all_out = stream_.avail_out;
    const int status = BZ2_bzDecompress(&stream_);
    if (status == BZ_MEM_ERROR) throw std::bad_alloc();
    complete_ = status == BZ_STREAM_END;
    return {.packed = all_in - stream_.avail_in,
            .unpacked = all_out - stream_.avail_out,
            .complete = complete_,
            .fault = status == BZ_OK || complete_    ? ""
                     : status == BZ_DATA_ERROR_MAGIC ? "it is not in the format of bzip2"
                                                     : "its checksum or content is wrong"};
  }
  void restart() override {
    BZ2_bzDecompressEnd(&stream_);
    begin();
  }

 private:
  void begin() {
    complete_ = false;
    stream_ = {};
    if (BZ2_bzDecompressInit(&stream_, 0, 0) != BZ_OK) throw std::bad_alloc();
  }

  bz_stream stream_{};
  bool complete_ = false;
};

}  // namespace

std::unique_ptr<Decoder> make_bzip2_decoder() {
  return std::make_unique<Bzip2Decoder>();
}

}  // namespace TESSERA_NAMESPACE::gam

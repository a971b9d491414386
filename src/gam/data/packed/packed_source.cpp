// SPDX-License-Identifier: Apache-2.0
#include "gam/data/packed/packed_source.hpp"

#include "gam/data/bytes/streamed_source.hpp"
#include "gam/data/packed/decoder.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <string_view>
#include <utility>
#include <vector>

namespace TESSERA_NAMESPACE::gam {
namespace {

struct Packing {
  std::string_view name;
  std::string_view mark;  ///< the first bytes of a file
  std::unique_ptr<Decoder> (*decoder)();
};

/// Those that this build can unpack, and an end.
constexpr Packing packings[] = {
#if TESSERA_HAVE_ZSTD
    {"zstd", "\x28\xB5\x2F\xFD", &make_zstd_decoder},
#endif
#if TESSERA_HAVE_XZ
    {"xz", {"\xFD\x37zXZ\0", 6}, &make_xz_decoder},
#endif
#if TESSERA_HAVE_BZIP2
    {"bzip2", "BZh", &make_bzip2_decoder},
#endif
    {}};
constexpr std::size_t most_mark_bytes = 10;

/// The packing of a file with these first bytes; null: none.
const Packing* packing_of(std::string_view first) {
  for (const Packing& packing : packings) {
    if (packing.mark.empty() || !first.starts_with(packing.mark)) continue;
    // Text may begin with BZh: a block of bzip2, or its end, follows the digit of the block size.
    if (packing.name != "bzip2") return &packing;
    const std::string_view behind = first.substr(std::min<std::size_t>(4, first.size()));
    if (behind.starts_with("1AY&SY") || behind.starts_with("\x17\x72\x45\x38\x50\x90")) return &packing;
  }
  return nullptr;
}

class PackedUnpacker final : public Unpacker {
 public:
  PackedUnpacker(const files::InputFile& file, std::atomic<std::int64_t>& bytes_read)
      : file_(file), bytes_read_(bytes_read), packed_(packed_buffer_bytes) {
    refill();
    packing_ = packing_of({packed_.data(), filled_});
    if (packing_ == nullptr) file_.fail("it is not packed any more");
    decoder_ = packing_->decoder();
  }

  std::size_t read(std::span<char> buffer) override {
    std::size_t got = 0;
    while (got < buffer.size()) {
      if (at_ == filled_ && !at_end_) refill();
      const Decoder::Step step =
          decoder_->unpack({packed_.data() + at_, filled_ - at_}, buffer.subspan(got), at_end_);
      at_ += step.packed;
      got += step.unpacked;
      position_ += static_cast<std::int64_t>(step.unpacked);
      if (!step.fault.empty()) damaged(step.fault);
      if (step.packed > 0 || step.unpacked > 0 || !at_end_) continue;
      if (!step.complete) damaged("the file ends within compressed data");
      break;
    }
    return got;
  }
  void restart() override {
    decoder_->restart();
    at_ = filled_ = 0;
    packed_end_ = position_ = 0;
    at_end_ = false;
  }
  [[nodiscard]] std::int64_t position() const noexcept override { return position_; }
  [[nodiscard]] std::int64_t packed_position() const noexcept override {
    return packed_end_ - static_cast<std::int64_t>(filled_ - at_);
  }

 private:
  static constexpr std::size_t packed_buffer_bytes = std::size_t{1} << 18;

  void refill() {
    filled_ = file_.read_at(packed_end_, packed_);
    at_ = 0;
    packed_end_ += static_cast<std::int64_t>(filled_);
    bytes_read_ += static_cast<std::int64_t>(filled_);
    at_end_ = filled_ == 0;
  }

  [[noreturn]] void damaged(std::string_view reason) const {
    file_.fail(
        fmt::format("it has damaged {} data at byte {} ({})", packing_->name, packed_position(), reason));
  }

  const files::InputFile& file_;
  std::atomic<std::int64_t>& bytes_read_;
  const Packing* packing_ = nullptr;
  std::unique_ptr<Decoder> decoder_;
  std::vector<char> packed_;
  std::size_t at_ = 0;
  std::size_t filled_ = 0;
  bool at_end_ = false;
  std::int64_t packed_end_ = 0;  ///< end, in the file, of the bytes in `packed_`
  std::int64_t position_ = 0;    ///< in the unpacked bytes
};

}  // namespace

bool is_packed(ByteSource& bytes) {
  std::array<char, most_mark_bytes> first{};
  bytes.seek(0);
  const std::size_t got = bytes.read(first);
  return packing_of({first.data(), got}) != nullptr;
}

std::unique_ptr<PackedSource> open_packed(const std::string& path, OpenOptions options) {
  return std::make_unique<StreamedSource>(
      path, std::move(options), [](const files::InputFile& file, std::atomic<std::int64_t>& bytes_read) {
        return std::make_unique<PackedUnpacker>(file, bytes_read);
      });
}

}  // namespace TESSERA_NAMESPACE::gam

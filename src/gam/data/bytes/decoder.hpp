// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/version.hpp>

#include <cstddef>
#include <memory>
#include <span>
#include <string_view>

namespace TESSERA_NAMESPACE::gam {

/// Streaming decompressor of one or several concatenated streams.
class Decoder {
 public:
  Decoder() = default;
  virtual ~Decoder() = default;
  Decoder(const Decoder&) = delete;
  Decoder& operator=(const Decoder&) = delete;

  struct Step {
    std::size_t packed = 0;    ///< compressed bytes consumed
    std::size_t unpacked = 0;  ///< decompressed bytes produced
    bool complete = false;     ///< whether a stream ends here
    std::string_view fault{};  ///< how the data are damaged; empty: no damage
  };
  /// Decompresses some of `packed` into `room`, which is not empty. `last`: no more bytes follow. Throws
  /// std::bad_alloc.
  [[nodiscard]] virtual Step unpack(std::span<const char> packed, std::span<char> room, bool last) = 0;
  virtual void restart() = 0;
};

[[nodiscard]] std::unique_ptr<Decoder> make_bzip2_decoder();
/// Decompresses the members of a gzip file (RFC 1952, 2.2), and skips zero padding after them, which tapes
/// and block devices write. Other bytes after a member are an error: the program gzip ignores them, and so
/// misses a member with a damaged header.
[[nodiscard]] std::unique_ptr<Decoder> make_gzip_decoder();
[[nodiscard]] std::unique_ptr<Decoder> make_xz_decoder();
[[nodiscard]] std::unique_ptr<Decoder> make_zstd_decoder();

}  // namespace TESSERA_NAMESPACE::gam

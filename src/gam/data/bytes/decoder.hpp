// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/version.hpp>

#include <cstddef>
#include <memory>
#include <span>
#include <string_view>

namespace TESSERA_NAMESPACE::gam {

/// Unpacks one or several consecutive streams, whose bytes come in pieces.
class Decoder {
 public:
  Decoder() = default;
  virtual ~Decoder() = default;
  Decoder(const Decoder&) = delete;
  Decoder& operator=(const Decoder&) = delete;

  struct Step {
    std::size_t packed = 0;    ///< packed bytes consumed
    std::size_t unpacked = 0;  ///< unpacked bytes produced
    bool complete = false;     ///< whether a stream ends here
    std::string_view fault{};  ///< how the data are damaged; empty: no damage
  };
  /// Unpacks some of the packed bytes into `room`, which is not empty. `last`: no more packed bytes follow.
  /// Throws std::bad_alloc.
  [[nodiscard]] virtual Step unpack(std::span<const char> packed, std::span<char> room, bool last) = 0;
  /// Resets: the next byte is the first of a stream.
  virtual void restart() = 0;
};

[[nodiscard]] std::unique_ptr<Decoder> make_bzip2_decoder();
/// Unpacks consecutive members of a gzip file (RFC 1952, 2.2), and skips zeros after them, which tapes and
/// block devices write. gzip itself ignores all data that do not begin like a member, and thus ends without
/// an error at a member with damaged first bytes.
[[nodiscard]] std::unique_ptr<Decoder> make_gzip_decoder();
[[nodiscard]] std::unique_ptr<Decoder> make_xz_decoder();
[[nodiscard]] std::unique_ptr<Decoder> make_zstd_decoder();

}  // namespace TESSERA_NAMESPACE::gam

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/version.hpp>

#include <cstddef>
#include <memory>
#include <span>
#include <string_view>

namespace TESSERA_NAMESPACE::gam {

/// Unpacks a stream, or several ones after another, that come in pieces.
class Decoder {
 public:
  Decoder() = default;
  virtual ~Decoder() = default;
  Decoder(const Decoder&) = delete;
  Decoder& operator=(const Decoder&) = delete;

  struct Step {
    std::size_t packed = 0;    ///< bytes taken
    std::size_t unpacked = 0;  ///< bytes given
    bool complete = false;     ///< a stream ends here
    std::string_view fault{};  ///< why the data are damaged; empty: they are not
  };
  /// Unpacks some of the packed bytes into the room, which is not empty. `last`: they are the last ones.
  /// Throws std::bad_alloc.
  [[nodiscard]] virtual Step unpack(std::span<const char> packed, std::span<char> room, bool last) = 0;
  /// Makes the next byte the first one of a stream.
  virtual void restart() = 0;
};

[[nodiscard]] std::unique_ptr<Decoder> make_bzip2_decoder();
/// The members of a gzip file, one after another (RFC 1952, 2.2), and zeros behind them, as written by tapes
/// and block devices. gzip itself ignores anything that does not begin like a member, and so ends without an
/// error at a member whose first bytes are damaged.
[[nodiscard]] std::unique_ptr<Decoder> make_gzip_decoder();
[[nodiscard]] std::unique_ptr<Decoder> make_xz_decoder();
[[nodiscard]] std::unique_ptr<Decoder> make_zstd_decoder();

}  // namespace TESSERA_NAMESPACE::gam

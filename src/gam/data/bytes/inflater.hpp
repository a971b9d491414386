// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/version.hpp>

#include <cstddef>
#include <optional>
#include <span>

/// Decompresses deflate data in memory, by libdeflate (half the time of zlib, but no streaming) or, in a
/// build without it, by zlib. Each thread has its own decompressor, made at its first call.
///
/// The functions return nothing if the data are damaged or truncated, or do not fit into `room`. They throw
/// std::bad_alloc.
namespace TESSERA_NAMESPACE::gam {

struct InflatedAmounts {
  std::size_t packed = 0;
  std::size_t unpacked = 0;
};
/// Decompresses the gzip member (RFC 1952) at the beginning of `packed`; returns both sizes.
[[nodiscard]] std::optional<InflatedAmounts> inflate_gzip_member(std::span<const char> packed,
                                                                 std::span<char> room);
/// Decompresses zlib data (RFC 1950); returns the decompressed size.
[[nodiscard]] std::optional<std::size_t> inflate_zlib(std::span<const char> packed, std::span<char> room);

}  // namespace TESSERA_NAMESPACE::gam

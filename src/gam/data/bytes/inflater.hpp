// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/version.hpp>

#include <cstddef>
#include <optional>
#include <span>

/// Unpacks deflate data that are in memory as a whole, by libdeflate (half the time of zlib, but no
/// streaming) or, in a build without it, by zlib. Each thread has a decompressor, made at its first call.
///
/// The functions return nothing if the data are damaged or truncated or do not fit into `room`, without
/// telling which. They throw std::bad_alloc.
namespace TESSERA_NAMESPACE::gam {

struct InflatedAmounts {
  std::size_t packed = 0;
  std::size_t unpacked = 0;
};
/// Unpacks the gzip member (RFC 1952) at the beginning of `packed`; returns the packed and unpacked sizes.
[[nodiscard]] std::optional<InflatedAmounts> inflate_gzip_member(std::span<const char> packed,
                                                                 std::span<char> room);
/// Unpacks zlib data (RFC 1950); returns the number of unpacked bytes.
[[nodiscard]] std::optional<std::size_t> inflate_zlib(std::span<const char> packed, std::span<char> room);

}  // namespace TESSERA_NAMESPACE::gam

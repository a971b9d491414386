// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/version.hpp>

#include <cstddef>
#include <optional>
#include <span>

/// Unpacks deflate data held in memory as a whole: by libdeflate, which takes half the time of zlib but has
/// no streaming, or by zlib in a build without it. Each thread has a decompressor, made at its first call.
///
/// Both return nothing, without a reason, for damaged or truncated data, and for data that do not fit. They
/// throw std::bad_alloc.
namespace TESSERA_NAMESPACE::gam {

struct InflatedAmounts {
  std::size_t packed = 0;
  std::size_t unpacked = 0;
};
/// Unpacks the gzip member (RFC 1952) at the beginning of `packed`; returns its sizes.
[[nodiscard]] std::optional<InflatedAmounts> inflate_gzip_member(std::span<const char> packed,
                                                                 std::span<char> room);
/// Unpacks zlib data (RFC 1950); returns the number of unpacked bytes.
[[nodiscard]] std::optional<std::size_t> inflate_zlib(std::span<const char> packed, std::span<char> room);

}  // namespace TESSERA_NAMESPACE::gam

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/version.hpp>

#include <cstddef>
#include <optional>
#include <span>

namespace TESSERA_NAMESPACE::gam {

/// Decompresses LZF data (h5py's `compression="lzf"`); returns the number of bytes, or nothing if the data
/// are damaged or do not fit into `room`.
[[nodiscard]] std::optional<std::size_t> inflate_lzf(std::span<const char> packed, std::span<char> room);

}  // namespace TESSERA_NAMESPACE::gam

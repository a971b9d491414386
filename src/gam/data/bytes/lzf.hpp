// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/version.hpp>

#include <cstddef>
#include <optional>
#include <span>

namespace TESSERA_NAMESPACE::gam {

/// Unpacks LZF, the packing of h5py's `compression="lzf"`; returns the number of unpacked bytes. Nothing for
/// damaged data, and for data that do not fit.
[[nodiscard]] std::optional<std::size_t> inflate_lzf(std::span<const char> packed, std::span<char> room);

}  // namespace TESSERA_NAMESPACE::gam

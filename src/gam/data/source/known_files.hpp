// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/version.hpp>

#include <cstddef>
#include <string>
#include <string_view>

namespace TESSERA_NAMESPACE::gam {

/// Number of bytes at the beginning of a file from which its format is recognised.
inline constexpr std::size_t first_bytes = 512;

/// Throws `Error(input)` for a file that begins like another known format or like text in UTF-16. The message
/// names the format and advises how to convert the file. `first`: `first_bytes` bytes, or the whole file.
void refuse_other_files(std::string_view first, const std::string& path);

}  // namespace TESSERA_NAMESPACE::gam

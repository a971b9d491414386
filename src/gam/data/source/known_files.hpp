// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/version.hpp>

#include <cstddef>
#include <string>
#include <string_view>

namespace TESSERA_NAMESPACE::gam {

/// First bytes by which all files of the table are told apart.
inline constexpr std::size_t first_bytes = 512;

/// Throws `Error(input)` for a file that is not text: with the name of its format, and the command that makes
/// a table of it, if its first bytes are of a known one. `first` has `first_bytes` bytes, or the whole file.
void refuse_other_files(std::string_view first, const std::string& path);

}  // namespace TESSERA_NAMESPACE::gam

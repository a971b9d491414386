// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/version.hpp>

#include <filesystem>
#include <string>

namespace tessera::inline TESSERA_ABI::detail {

/// What is wrong with a folder below one where everybody may write; empty if it is no link, and this user's
/// alone.
[[nodiscard]] std::string problem_of_private_folder(const std::filesystem::path& folder);

}  // namespace tessera::inline TESSERA_ABI::detail

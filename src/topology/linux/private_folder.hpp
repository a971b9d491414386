// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/version.hpp>

#include <filesystem>
#include <string>

namespace TESSERA_NAMESPACE::detail {

/// Why a folder below a world-writable one cannot be trusted. Empty if `folder` is a directory, not a link,
/// is owned by this user, and has no permissions for others.
[[nodiscard]] std::string problem_of_private_folder(const std::filesystem::path& folder);

}  // namespace TESSERA_NAMESPACE::detail

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/device/kernel_compiler.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace tessera::inline TESSERA_ABI {

/// One text of several, so that no two lists of texts look the same.
[[nodiscard]] std::string joined(const std::vector<std::string_view>& texts);

/// All of a source that its code depends on.
[[nodiscard]] std::string key_of(const ModuleSource& source);

}  // namespace tessera::inline TESSERA_ABI

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/device/kernel_compiler.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace TESSERA_NAMESPACE {

/// Joins texts, injectively.
[[nodiscard]] std::string joined(const std::vector<std::string_view>& texts);

/// Everything of a source that its code depends on.
[[nodiscard]] std::string key_of(const ModuleSource& source);

}  // namespace TESSERA_NAMESPACE

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/device/kernel_compiler.hpp>

#include <vector>

namespace TESSERA_NAMESPACE::gam {

/// The modules that are compiled with the library: those of every kernel that does not depend on the user's
/// own formulas.
[[nodiscard]] std::vector<ModuleSource> built_in_modules();

}  // namespace TESSERA_NAMESPACE::gam

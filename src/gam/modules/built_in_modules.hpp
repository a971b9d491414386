// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/device/kernel_compiler.hpp>

#include <vector>

namespace TESSERA_NAMESPACE::gam {

/// Modules compiled when the library is built: all kernels that do not depend on a user's formulas.
[[nodiscard]] std::vector<ModuleSource> built_in_modules();

}  // namespace TESSERA_NAMESPACE::gam

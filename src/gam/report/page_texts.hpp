// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/device/kernel_compiler.hpp>

#include <vector>

namespace TESSERA_NAMESPACE::gam {

/// The files from which a page is made, such as "page.css".
[[nodiscard]] std::vector<tessera::NamedHeader> page_texts();

}  // namespace TESSERA_NAMESPACE::gam

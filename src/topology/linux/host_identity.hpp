// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/version.hpp>

#include <string>

namespace TESSERA_NAMESPACE::detail {

[[nodiscard]] std::string this_hostname();

/// The kernel's random identifier of this boot; empty if it cannot be read.
[[nodiscard]] std::string this_boot_id();

}  // namespace TESSERA_NAMESPACE::detail

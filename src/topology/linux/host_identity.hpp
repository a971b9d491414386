// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/version.hpp>

#include <string>

namespace tessera::inline TESSERA_ABI::detail {

[[nodiscard]] std::string this_hostname();

/// A random number that the kernel drew when this machine started; empty where it does not tell.
[[nodiscard]] std::string this_boot_id();

}  // namespace tessera::inline TESSERA_ABI::detail

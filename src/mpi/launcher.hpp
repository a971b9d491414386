// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/version.hpp>

#include <string>

namespace TESSERA_NAMESPACE::mpi::detail {

/// "?" on failure.
[[nodiscard]] std::string host_name();

}  // namespace TESSERA_NAMESPACE::mpi::detail

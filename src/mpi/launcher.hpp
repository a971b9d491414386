// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/version.hpp>

#include <string>

namespace TESSERA_NAMESPACE::mpi::detail {

/// The name of this host; "?" if it has none.
[[nodiscard]] std::string host_name();

}  // namespace TESSERA_NAMESPACE::mpi::detail

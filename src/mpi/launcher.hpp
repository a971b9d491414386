// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/version.hpp>

#include <string>

namespace TESSERA_NAMESPACE::mpi::detail {

/// This process's rank according to its launcher's environment; -1 if that does not tell.
[[nodiscard]] int launched_rank();

/// The name of this host; "?" if it has none.
[[nodiscard]] std::string host_name();

}  // namespace TESSERA_NAMESPACE::mpi::detail

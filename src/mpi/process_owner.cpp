// SPDX-License-Identifier: Apache-2.0
#include "mpi/process_owner.hpp"

#include <tessera/mpi/exit_guard.hpp>

namespace TESSERA_NAMESPACE::mpi {

void watch_exits(bool watched) noexcept {
  detail::exits_watched = watched;
}

}  // namespace TESSERA_NAMESPACE::mpi

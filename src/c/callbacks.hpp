// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "c/handles.hpp"
#include "job/job_access.hpp"

#include <tessera/error.hpp>

#include <string>

namespace tessera::c {

using Access = tessera::detail::JobAccess;

/// Calls a callback of the program. A nonzero status fails a device's tile, and throws `Error(job_fault)` on
/// hosts.
template <class Function, class... Arguments>
void call_on(Tile& tile, Function* function, Arguments... arguments) {
  const int returned = function(handle_of(tile), arguments...);
  if (returned != 0) tile.fail("the device function returned " + std::to_string(returned));
}

template <class Function, class... Arguments>
void call_on(const HostTile& tile, Function* function, Arguments... arguments) {
  const tessera_host_tile given = handle_of(tile);
  const int returned = function(&given, arguments...);
  if (returned != 0)
    throw Error(ErrorCode::job_fault, "the host function returned " + std::to_string(returned) +
                                          " for the units beginning at " + std::to_string(tile.range.begin));
}

/// Runs `check`, which throws if this rank's arguments are invalid. Before rethrowing, this rank joins the
/// vote of the pass with the reason, because other ranks may be waiting there.
void check_arguments(Job& job, FunctionRef<void()> check);

}  // namespace tessera::c

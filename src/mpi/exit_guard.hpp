// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/version.hpp>

namespace TESSERA_NAMESPACE::mpi::detail {

/// Who calls MPI_Finalize.
enum class MpiOwner {
  session,  ///< a `Session`, which initialised MPI
  program   ///< the program, possibly in the destructor of a static object
};

/// From here on this rank passes the exit barriers where it leaves the program without MPI_Finalize: by a
/// return from `main`, `exit` or `quick_exit`, after which MPI is finalised in its place. `exit` on another
/// thread or inside a collective, and std::terminate, end the job with a line that names the rank. Until MPI
/// is finalised. Main thread only. Cost: 20 us for the first call, none for others.
void arm_exit_guard(MpiOwner owner);

/// For MPI_Finalize: nothing is left to watch. Restores the terminate handler.
void disarm_exit_guard() noexcept;

/// Whether `watch_exits` has left it on.
[[nodiscard]] bool exits_are_watched() noexcept;

}  // namespace TESSERA_NAMESPACE::mpi::detail

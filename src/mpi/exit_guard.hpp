// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/version.hpp>

namespace TESSERA_NAMESPACE::mpi::detail {

/// Who calls MPI_Finalize.
enum class MpiOwner {
  session,  ///< a `Session`, which initialised MPI
  program   ///< the program, possibly in a static object's destructor
};

/// Installs exit handlers, in effect until MPI_Finalize. If a rank leaves `main`, or calls `exit` or
/// `quick_exit`, the handlers pass the exit barriers and then finalise MPI. `exit` on another thread or
/// inside a collective, and std::terminate, end the job with a line that names the rank. Main thread only.
void arm_exit_guard(MpiOwner owner);

/// RAII scope of each call of an application's function. An `exit` in the function then reaches the guard
/// before any exit handler runs. Otherwise a second thread that calls `exit` may find no handlers left, and
/// end the process with status 0.
class ExitInFunction {
 public:
  ExitInFunction() noexcept;
  ~ExitInFunction();
  ExitInFunction(const ExitInFunction&) = delete;
  ExitInFunction& operator=(const ExitInFunction&) = delete;

 private:
  bool is_watched_;
};

/// Called at MPI_Finalize. Restores the terminate handler.
void disarm_exit_guard() noexcept;

}  // namespace TESSERA_NAMESPACE::mpi::detail

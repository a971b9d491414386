// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/version.hpp>

namespace TESSERA_NAMESPACE::mpi::detail {

/// Who calls MPI_Finalize.
enum class MpiOwner {
  session,  ///< a `Session`, which initialised MPI
  program   ///< the program, possibly in the destructor of a static object
};

/// From now on, a rank that leaves the program without MPI_Finalize, by a return from `main`, `exit` or
/// `quick_exit`, passes the exit barriers, and MPI is then finalised. `exit` on another thread or inside a
/// collective, and std::terminate, end the job with a line that names the rank. In effect until MPI is
/// finalised. Main thread only. Cost: 20 us for the first call only.
void arm_exit_guard(MpiOwner owner);

/// Construct one around each call of a function of the application. An `exit` in the function then reaches
/// the guard before any exit handler runs. Without it, a second thread that calls `exit` may find no handlers
/// left, and end the process with status 0.
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

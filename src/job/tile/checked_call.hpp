// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "mpi/check.hpp"
#include "mpi/exit_guard.hpp"

#include <tessera/mpi/abi.h>

#include <exception>
#include <utility>

namespace TESSERA_NAMESPACE {

/// RAII: marks the calling thread as inside a function of the application.
class ApplicationScope {
 public:
  ApplicationScope() noexcept { ++entered(); }
  ~ApplicationScope() { --entered(); }
  ApplicationScope(const ApplicationScope&) = delete;
  ApplicationScope& operator=(const ApplicationScope&) = delete;

  [[nodiscard]] static bool is_entered() noexcept { return entered() > 0; }

 private:
  [[nodiscard]] static int& entered() noexcept {
    thread_local int count = 0;
    return count;
  }

#if TESSERA_HAVE_MPI
  mpi::detail::ExitInFunction exit_;
#endif
};

/// Calls a function of the application, in which collective calls are errors. Throws such an error again if
/// the function has ignored it, as C programs may ignore a status.
template <class Function>
void checked_call(Function&& function) {
  const int before = mpi::detail::wrong_calls();
  const auto throw_if_wrong = [&] {
    if (mpi::detail::wrong_calls() != before) throw mpi::detail::WrongThread();
  };
  const ApplicationScope scope;
  try {
    std::forward<Function>(function)();
  } catch (...) {
    if (std::current_exception()) throw_if_wrong();  // no exception: thread cancellation
    throw;
  }
  throw_if_wrong();
}

}  // namespace TESSERA_NAMESPACE

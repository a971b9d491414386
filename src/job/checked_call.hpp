// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "mpi/check.hpp"

#include <exception>
#include <utility>

namespace TESSERA_NAMESPACE {

/// Calls a function of the application. If it made a collective call, which is refused there, the call ends
/// with that error even if the function ignored it, as C programs may ignore a status.
template <class Function>
void checked_call(Function&& function) {
  const int before = mpi::detail::wrong_calls();
  const auto throw_if_wrong = [&] {
    if (mpi::detail::wrong_calls() != before) throw mpi::detail::WrongThread();
  };
  try {
    std::forward<Function>(function)();
  } catch (...) {
    if (std::current_exception()) throw_if_wrong();  // no exception: the thread is being cancelled
    throw;
  }
  throw_if_wrong();
}

}  // namespace TESSERA_NAMESPACE

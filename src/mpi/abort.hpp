// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/version.hpp>

#include <chrono>
#include <string>
#include <string_view>

namespace TESSERA_NAMESPACE::mpi::detail {

/// A time for messages: "1800 s", or "300 ms".
[[nodiscard]] std::string seconds(std::chrono::milliseconds time);

/// Prints a line on standard error, prefixed by "tessera: ". Escapes terminal control characters. All output
/// of the library uses this function.
void say(std::string_view line, std::string_view rest = {}) noexcept;

/// Calls MPI_Abort if MPI is running; otherwise returns.
void abort_mpi(int status) noexcept;

/// Ends the whole job; in a forked child of a rank, only the child.
[[noreturn]] void abort_ranks(int status) noexcept;

}  // namespace TESSERA_NAMESPACE::mpi::detail

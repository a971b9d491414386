// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/version.hpp>

#include <chrono>
#include <string>
#include <string_view>

namespace TESSERA_NAMESPACE::mpi::detail {

/// "1800 s", or "300 ms"
[[nodiscard]] std::string seconds(std::chrono::milliseconds time);

/// A line on standard error, with "tessera: " before it: the one way there from the library. What a terminal
/// would take for a command is escaped.
void say(std::string_view line, std::string_view rest = {}) noexcept;

/// Ends the whole job at once, or in a child that a rank has forked the child alone.
[[noreturn]] void abort_ranks(int status) noexcept;

}  // namespace TESSERA_NAMESPACE::mpi::detail

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace tessera::mpi::detail {

/// A line on standard error.
void say(std::string_view line) noexcept;

/// Ends the whole job at once, or in a child that a rank has forked the child alone.
[[noreturn]] void abort_ranks(int status) noexcept;

}  // namespace tessera::mpi::detail

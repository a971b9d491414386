// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace tessera::testing {

/// If n > 0, this thread's n-th next allocation throws `std::bad_alloc`. Works in programs that link
/// failing_allocations.cpp.
extern constinit thread_local int allocations_left;

}  // namespace tessera::testing

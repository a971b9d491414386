// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace tessera::testing {

/// Number of this thread's allocations until one fails, in a program with failing_allocations.cpp; 0: none
/// fails.
extern constinit thread_local int allocations_left;

}  // namespace tessera::testing

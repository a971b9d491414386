// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace tessera::testing {

/// Allocations of this thread until one fails, in a program that failing_allocations.cpp is a part of; 0:
/// none does.
extern constinit thread_local int allocations_left;

}  // namespace tessera::testing

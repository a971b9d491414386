// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "c/callbacks.hpp"

#include <span>

namespace tessera::c {

/// The reducer with its operation as a function, even if the operation is the library's. Throws
/// `Error(usage)`, naming `function`, for an invalid reducer.
[[nodiscard]] tessera_reducer resolved(const tessera_reducer* given, const char* function);

/// Runs the pass of a reduction with the program's `functions`. Writes `result` if it succeeds.
void reduce_by(Job& job, const Plan& plan, const tessera_reducer& reducer,
               tessera::detail::BlockReduction functions,
               std::span<const tessera::detail::ArrayAccess> arrays, void* result);

}  // namespace tessera::c

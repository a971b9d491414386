// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "c/callbacks.hpp"

#include <span>

namespace tessera::c {

/// Validates a reducer, and sets the identity and combine function of a built-in operation. Throws
/// `Error(usage)`, naming `function`, for an invalid reducer.
[[nodiscard]] tessera_reducer resolved(const tessera_reducer* given, const char* function);

/// Runs a reduction with the program's `functions`. Writes `result` only on success.
void reduce_by(Job& job, const Plan& plan, const tessera_reducer& reducer,
               tessera::detail::BlockReduction functions,
               std::span<const tessera::detail::ArrayAccess> arrays, void* result);

}  // namespace tessera::c

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "c/callbacks.hpp"

#include <span>

namespace tessera::c {

/// A reducer of C whose operation is a function, also if it is one that the library has. Throws
/// `Error(usage)`, in the name of `function`, for what is no reducer.
[[nodiscard]] tessera_reducer resolved(const tessera_reducer* given, const char* function);

/// The pass of a reduction, of which `functions` has those of the program. Writes `result` if it succeeds.
void reduce_by(Job& job, const Plan& plan, const tessera_reducer& reducer,
               tessera::detail::BlockReduction functions,
               std::span<const tessera::detail::ArrayAccess> arrays, void* result);

}  // namespace tessera::c

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/design/design.hpp"
#include "gam/table/frame/workers.hpp"

#include <cstdint>

namespace TESSERA_NAMESPACE::gam {

/// Gives the design's isotropic columns a `FarField` each where so many rows of the job make up for the time
/// that it takes. *Collective*, with the same design on every rank. Throws the same `Error(input)` on every
/// rank if a rank lacks the memory for them with `beside_bytes` more.
void add_far_fields(const Workers& workers, Design& design, std::int64_t rows, std::int64_t beside_bytes = 0);

}  // namespace TESSERA_NAMESPACE::gam

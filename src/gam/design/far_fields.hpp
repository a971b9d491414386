// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/data/frame/workers.hpp"
#include "gam/design/design.hpp"

#include <cstdint>

namespace TESSERA_NAMESPACE::gam {

/// Adds a `FarField` to those isotropic columns for which its construction pays with this many rows of the
/// job. *Collective*, with the same design on every rank. Throws the same `Error(input)` on every rank if a
/// rank lacks the memory, with `beside_bytes` already planned for other uses.
void add_far_fields(const Workers& workers, Design& design, std::int64_t rows, std::int64_t beside_bytes = 0);

}  // namespace TESSERA_NAMESPACE::gam

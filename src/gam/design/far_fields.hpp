// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/data/frame/workers.hpp"
#include "gam/design/design.hpp"

#include <cstdint>

namespace TESSERA_NAMESPACE::gam {

/// *Collective*, with the same design on every rank. Adds a `FarField` to isotropic columns if the job has
/// enough rows to repay the construction of the `FarField`. Throws the same `Error(input)` on every rank if a
/// rank lacks the memory; `beside_bytes`: memory already planned for other uses.
void add_far_fields(const Workers& workers, Design& design, std::int64_t rows, std::int64_t beside_bytes = 0);

}  // namespace TESSERA_NAMESPACE::gam

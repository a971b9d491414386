// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/basis/options.hpp"
#include "gam/formula/syntax.hpp"

namespace TESSERA_NAMESPACE::gam {

/// Reads xt= of bs="mrf": a file name, list(nb=…) with neighbours as names or indices, or
/// list(penalty=list(a=list(a=1, b=-1), …)). Throws `Error(usage)` with the position of the faulty element.
void set_districts(BasisOptions& options, const Syntax& xt);

}  // namespace TESSERA_NAMESPACE::gam

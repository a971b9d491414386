// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/basis/options.hpp"
#include "gam/formula/syntax.hpp"

namespace TESSERA_NAMESPACE::gam {

/// Reads xt= of a basis of districts: the name of a file, or a list as in mgcv, of neighbours (nb), which are
/// names or indices, or of the elements of a penalty, list(penalty=list(a=list(a=1, b=-1), …)). Throws
/// `Error(usage)` with the position of what is wrong.
void set_districts(BasisOptions& options, const Syntax& xt);

}  // namespace TESSERA_NAMESPACE::gam

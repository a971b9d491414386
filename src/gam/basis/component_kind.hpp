// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/version.hpp>

namespace TESSERA_NAMESPACE::gam {

/// Kind of a component of a raw term; shared with kernels.
enum class ComponentKind {
  numeric,  ///< one raw column: the variable's value
  factor,   ///< one raw column for each level: 1 at the row's level
  spline,   ///< raw columns of a margin, four of them nonzero
  dense,    ///< combinations of the columns of a margin, or of radial functions, all nonzero
};

}  // namespace TESSERA_NAMESPACE::gam

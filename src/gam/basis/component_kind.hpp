// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace tessera::gam {

/// What a component of a raw term is of its variable; kernels know it, too.
enum class ComponentKind {
  numeric,  ///< one raw place: the variable's value
  factor,   ///< one raw place for each level: 1 at the row's level
  spline,   ///< raw places of a margin, four of them not zero
};

}  // namespace tessera::gam

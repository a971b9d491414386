// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/many/row_kernels.hpp"
#include "gam/many/shared_design.hpp"

#include <tessera/device/kernel_compiler.hpp>

#include <vector>

namespace TESSERA_NAMESPACE::gam {

/// The kernels of likelihood_kernels.cuh for a family and for the sizes of a design. Values of the data are
/// arguments, so that tables of equal sizes have equal sources. The module's name identifies the source.
[[nodiscard]] ModuleSource likelihood_kernel_source(const SharedDesign& design, ManyFamily family);

/// The files included by the kernels; embedded at build time.
[[nodiscard]] std::vector<NamedHeader> likelihood_kernel_files();

}  // namespace TESSERA_NAMESPACE::gam

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/many/row_kernels.hpp"
#include "gam/many/shared_design.hpp"

#include <tessera/device/kernel_compiler.hpp>

#include <vector>

namespace TESSERA_NAMESPACE::gam {

/// The kernels of likelihood_kernels.cuh for a family and the sizes of a design. Values of the data are
/// arguments, so that another table of the same sizes has the same source. The name identifies the source.
[[nodiscard]] ModuleSource likelihood_kernel_source(const SharedDesign& design, ManyFamily family);

/// The files that the kernels include. Embedded at build time.
[[nodiscard]] std::vector<NamedHeader> likelihood_kernel_files();

}  // namespace TESSERA_NAMESPACE::gam

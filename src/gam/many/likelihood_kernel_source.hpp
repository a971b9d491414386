// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/many/likelihood_layout.hpp"
#include "gam/many/row_kernels.hpp"

#include <tessera/device/kernel_compiler.hpp>

#include <vector>

namespace TESSERA_NAMESPACE::gam {

/// Source of likelihood_kernels.cuh for a family and the sizes of a design. Data values are kernel arguments:
/// designs of equal sizes share a module. The module's name identifies the source.
[[nodiscard]] ModuleSource likelihood_kernel_source(const LikelihoodLayout& layout, ManyFamily family);

/// Files included by the kernels, embedded at build time.
[[nodiscard]] std::vector<NamedHeader> likelihood_kernel_files();

}  // namespace TESSERA_NAMESPACE::gam

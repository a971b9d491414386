// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/rows/layout.hpp"
#include "gam/rows/row_pass.hpp"

#include <tessera/device/kernel_compiler.hpp>

#include <vector>

namespace tessera::gam {

/// The kernels of the device pass (kernels.cuh) for one model: its family, the kinds, sizes and places
/// of its terms and the variables they read are constants in them. What depends on the data alone, knots
/// and coefficients, is not, so that a model of another table has the same source. The same on every rank.
/// The name tells one such source from another.
[[nodiscard]] ModuleSource kernel_source(const Rows& rows, const RowLayout& layout);

/// The files that the kernels are made of, by the names they are included by; the kernels themselves come
/// first. Written into the program when it is built.
[[nodiscard]] std::vector<NamedHeader> rows_kernel_files();

}  // namespace tessera::gam

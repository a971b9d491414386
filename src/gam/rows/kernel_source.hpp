// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/rows/crossproduct_plan.hpp"
#include "gam/rows/layout.hpp"
#include "gam/rows/row_pass.hpp"

#include <tessera/device/kernel_compiler.hpp>

#include <vector>

namespace tessera::gam {

/// The kernels of the device pass (sum_kernels.cuh) for one model: its family, the kinds, sizes and places
/// of its terms and the variables they read are constants in them. What depends on the data alone, knots,
/// coefficients and the family's parameters, is not, so that a model of another table has the same source.
/// The same on every rank. The name tells one such source from another. `cross` is the layout's.
[[nodiscard]] ModuleSource kernel_source(const Rows& rows, const RowLayout& layout, const CrossPlan& cross);

/// As `kernel_source`, the kernel that predicts rows (prediction_kernels.cuh): with standard errors or
/// without, of the response's mean or of the linear predictor.
[[nodiscard]] ModuleSource prediction_source(const Rows& rows, const RowLayout& layout, bool standard_errors,
                                             bool response);

/// The files that the kernels are made of, by the names they are included by. Written into the program when
/// it is built.
[[nodiscard]] std::vector<NamedHeader> rows_kernel_files();

}  // namespace tessera::gam

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/rows/crossproduct_plan.hpp"
#include "gam/rows/layout.hpp"
#include "gam/rows/row_pass.hpp"

#include <tessera/device/kernel_compiler.hpp>

#include <vector>

namespace TESSERA_NAMESPACE::gam {

/// The kernels of the device pass (sum_kernels.cuh) for one model, with its family, the kinds, sizes and
/// positions of its terms and the variables they read as constants. Values that depend on the data, such as
/// knots, coefficients and the family's parameters, are arguments, so that a model of another table has the
/// same source. The same on every rank. The name identifies the source. `cross` is the layout's.
[[nodiscard]] ModuleSource kernel_source(const Rows& rows, const RowLayout& layout, const CrossPlan& cross);

/// The kernel that predicts rows (prediction_kernels.cuh) for one model, as `kernel_source` has those of a
/// pass: with or without standard errors, of the response's mean or of the linear predictor.
[[nodiscard]] ModuleSource prediction_source(const Rows& rows, const RowLayout& layout, bool standard_errors,
                                             bool response);

/// The files that kernels include, with the names by which they are included. Embedded at build time.
[[nodiscard]] std::vector<NamedHeader> rows_kernel_files();

}  // namespace TESSERA_NAMESPACE::gam

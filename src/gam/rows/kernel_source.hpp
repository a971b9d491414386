// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/rows/crossproduct_plan.hpp"
#include "gam/rows/layout.hpp"
#include "gam/rows/row_pass.hpp"

#include <tessera/device/kernel_compiler.hpp>

#include <string_view>
#include <vector>

namespace TESSERA_NAMESPACE::gam {

/// The kernels of the device pass (sum_kernels.cuh) for one model. Its family, the kinds, sizes and positions
/// of its terms, and the variables that they read are constants. Values that depend on the data, such as
/// knots, coefficients and the family's parameters, are arguments, so that a model of another table has the
/// same source. The same on every rank. The name identifies the source. `cross`: the layout's plan.
[[nodiscard]] ModuleSource kernel_source(const Rows& rows, const RowLayout& layout, const CrossPlan& cross);

/// The kernel that predicts rows (prediction_kernels.cuh) for one model, with constants as in
/// `kernel_source`: with or without standard errors, for the response's mean or the linear predictor.
[[nodiscard]] ModuleSource prediction_source(const Rows& rows, const RowLayout& layout, bool standard_errors,
                                             bool response);

/// The module that compiles the file `kernels` of `files`; its headers are the other files, `constants` and
/// the standard headers. The module's name, `what` and a hash of the constants, identifies it.
[[nodiscard]] ModuleSource module_of(std::vector<NamedHeader> files, std::string_view kernels,
                                     NamedHeader constants, std::string_view what);

/// The files that kernels include, by the names used in #include. Embedded at build time.
[[nodiscard]] std::vector<NamedHeader> rows_kernel_files();

}  // namespace TESSERA_NAMESPACE::gam

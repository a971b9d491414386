// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/design/design.hpp"
#include "gam/linalg/parted_matrix.hpp"
#include "gam/rows/layout.hpp"

#include <vector>

namespace TESSERA_NAMESPACE::gam {

/// The variance of a row's predictor, whose root is its standard error, is r' C r, where r has its raw
/// columns and C = M V M' is the covariance of the raw coefficients. Returns C in the order of
/// `RowLayout::packed`. A row needs only the products of its nonzeros, 4 J (4 J + 1) / 2 for J splines, where
/// a factor of V would take p^2. Cost: O(raw^2 k) for blocks of k coefficients.
[[nodiscard]] std::vector<double> variance_form(const Design& design, const RowLayout& layout,
                                                const PartedMatrix& covariance);

}  // namespace TESSERA_NAMESPACE::gam
